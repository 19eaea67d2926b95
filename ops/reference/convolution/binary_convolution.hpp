#pragma once
// What: convolution of zeros and ones that stand for -1 and 1: twice the number of agreeing bits less their number.
// Shapes: src [N, I, Y, X], wei u1 [O, I, KY, KX] -> dst [N, O, Y', X']. Edge cases: outside the input `pad_value` is
// compared; a value that is neither 0 nor 1 agrees with no bit. Source: operation page BinaryConvolution-1.
#include "ir/base/tensor_view.hpp"
#include "ops/shape/conv_geometry.hpp"

namespace terroir::ops::reference {

void binary_convolution(const ConvGeometry& geometry, double pad_value, const ir::TensorView& src,
                        const ir::TensorView& wei, const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
