// What: rejection, planning and packing of the kernels whose lanes are output positions: groups of channels that are
// not whole blocks, and few channels at all; see plan_planes.cpp.
#pragma once

#include "plugins/cpu/kernels/conv/plan.hpp"

namespace terroir::cpu::conv {

const char* reject_planes(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
void plan_planes(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept;
int64_t pack_planes_pieces(const ConvPlan& plan) noexcept;
void pack_planes(const ConvPlan& plan, const ConvKernel& kernel, const ConvConstants& constants, float* packed,
                 int64_t begin, int64_t end) noexcept;
// Time relative to a kernel that fills its lanes; rough.
double planes_slowdown(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
// Likewise of the dense kernels for groups that are not whole blocks, on buckets with kernels of this kind.
double dense_groups_slowdown(const ConvProblem& problem, int64_t block) noexcept;

}  // namespace terroir::cpu::conv
