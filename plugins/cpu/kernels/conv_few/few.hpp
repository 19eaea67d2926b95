// What: rejection, planning and packing of the kernels for a few output channels (a mask, an image, some classes) that
// are wanted plain, from blocked sources; see plan.cpp. Their lanes are input channels.
#pragma once

#include "plugins/cpu/kernels/conv/plan.hpp"

namespace terroir::cpu::conv {

const char* reject_few(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
const char* reject_transposed_few(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
void plan_few(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept;
int64_t pack_few_pieces(const ConvPlan& plan) noexcept;
void pack_few(const ConvPlan& plan, const ConvKernel& kernel, const ConvConstants& constants, float* packed,
              int64_t begin, int64_t end) noexcept;
// Time relative to a kernel that fills its lanes with output channels; rough.
double few_slowdown(const ConvProblem& problem, const ConvKernel& kernel) noexcept;

}  // namespace terroir::cpu::conv
