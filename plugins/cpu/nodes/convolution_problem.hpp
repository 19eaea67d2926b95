#pragma once
// What: a convolution node as its kernels describe it.
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::cpu {

/// Extents, strides and pads in effect of Convolution, GroupConvolution and their BackpropData forms, fused or not.
ConvProblem conv_problem(const NodeContext& context);

}  // namespace terroir::cpu
