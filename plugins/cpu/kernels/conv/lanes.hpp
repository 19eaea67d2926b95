// What: rejection, planning and packing of the kernels whose lanes do not mix; see plan_lanes.cpp.
#pragma once

#include "plugins/cpu/kernels/conv/plan.hpp"

namespace terroir::cpu::conv {

const char* reject_depthwise(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
const char* reject_transposed_depthwise(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
const char* reject_transposed_any_groups(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
const char* reject_small_groups(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
const char* reject_any_groups(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
void plan_lanes(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept;
int64_t pack_lanes_pieces(const ConvPlan& plan) noexcept;
void pack_lanes(const ConvPlan& plan, const ConvKernel& kernel, const ConvConstants& constants, float* packed,
                int64_t begin, int64_t end) noexcept;

}  // namespace terroir::cpu::conv
