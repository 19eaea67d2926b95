#pragma once
// What: transposed convolution, gathered: every output element sums over the input elements and kernel elements that
// reach it.
// Formula: dst[o] = sum of src[i] * wei[k] over i * stride - pad_begin + k * dilation == o, per spatial axis.
// Shapes: see ops/shape/conv_geometry.hpp. Edge cases: an element nothing reaches is zero; integer sums wrap.
// Source: operation pages ConvolutionBackpropData-1, GroupConvolutionBackpropData-1.
#include "ir/base/tensor_view.hpp"
#include "ops/shape/conv_geometry.hpp"

namespace terroir::ops::reference {

void convolution_backprop_data(const ConvGeometry& geometry, const ir::TensorView& src, const ir::TensorView& wei,
                               const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
