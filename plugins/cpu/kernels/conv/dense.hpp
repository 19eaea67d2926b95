// What: rejection, planning and packing of the dense kernels; see plan_dense.cpp.
#pragma once

#include "plugins/cpu/kernels/conv/plan.hpp"

namespace terroir::cpu::conv {

const char* reject_blocks(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
const char* reject_direct(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
const char* reject_pointwise(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
const char* reject_first(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
const char* reject_transposed(const ConvProblem& problem, const ConvKernel& kernel) noexcept;
void plan_dense(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept;
int64_t pack_dense_pieces(const ConvPlan& plan) noexcept;
// The first output channel of a piece, or behind the last piece, the number of channels.
int64_t dense_first_output(const ConvPlan& plan, int64_t piece) noexcept;
void pack_dense(const ConvPlan& plan, const ConvKernel& kernel, const ConvConstants& constants, float* packed,
                int64_t begin, int64_t end) noexcept;

}  // namespace terroir::cpu::conv
