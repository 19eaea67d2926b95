#pragma once
// What: convolution as nested loops: every output element sums over the channels of its group and the kernel elements
// that lie inside the input.
// Shapes: see ops/shape/conv_geometry.hpp. Edge cases: without input channels the output is zero; integer sums wrap.
// Source: operation pages Convolution-1, GroupConvolution-1.
#include "ir/base/tensor_view.hpp"
#include "ops/shape/conv_geometry.hpp"

namespace terroir::ops::reference {

void convolution(const ConvGeometry& geometry, const ir::TensorView& src, const ir::TensorView& wei,
                 const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
