// What: the Winograd kernels of layers whose taps, 2 to 32 of them, lie along one axis: 1-D layers, factorised ones of
//   1x3 and 3x1, and those along time, 3x1x1. See one_axis.hpp. They are run as those of conv.hpp are, but taken only
//   where the weights allow it.
//     if (const ConvKernel* k = one_axis_kernel(isa); k && !k->reject(problem, *k) && one_axis_speedup(...) > ...) ...
// Formula: as conv.hpp, for any dilation or stride along the axis, not both, and one group; transposed, for any stride
//   that divides the outputs.
// Layouts: src and dst blocked. Weights as conv.hpp.
// Edge cases: as conv_wino.hpp.
#pragma once

#include "plugins/cpu/kernels/conv/conv.hpp"

namespace terroir::cpu {

// Null for a bucket that has none.
const ConvKernel* one_axis_kernel(Isa isa) noexcept;

// As wino_error_bound() and wino_speedup().
double one_axis_error_bound(const ConvProblem& problem, const float* weights) noexcept;
double one_axis_speedup(const ConvProblem& problem, const ConvKernel& kernel) noexcept;

// Multiplications, each with an addition, in the transformed domain.
double one_axis_products(const ConvPlan& plan) noexcept;

}  // namespace terroir::cpu
