// What: the Winograd kernels of first layers of stride 2 and at most four input channels: 5 to 7 taps a side, see
// polyphase.hpp, and 3x3, see polyphase_2x2.hpp. They are run as those of conv.hpp are, but taken only where the
// weights allow it.
//   if (const ConvKernel* k = polyphase_kernel(isa); k && !(why = k->reject(problem, *k)) && polyphase_speedup(...) ...
// Layouts: src plain, dst blocked. Weights as conv.hpp.
// Edge cases: as conv_wino.hpp.
#pragma once

#include "plugins/cpu/kernels/conv/conv.hpp"

namespace terroir::cpu {

// Null for a bucket that has none.
const ConvKernel* polyphase_kernel(Isa isa) noexcept;
const ConvKernel* polyphase_2x2_kernel(Isa isa) noexcept;

// As wino_error_bound() and wino_speedup().
double polyphase_error_bound(const ConvProblem& problem, const float* weights) noexcept;
double polyphase_speedup(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
double polyphase_2x2_error_bound(const ConvProblem& problem, const float* weights) noexcept;
double polyphase_2x2_speedup(const ConvProblem& problem, const ConvKernel& kernel) noexcept;

// Multiplications, each with an addition, in the transformed domain.
double polyphase_products(const ConvPlan& plan) noexcept;
double polyphase_2x2_products(const ConvPlan& plan) noexcept;

}  // namespace terroir::cpu
