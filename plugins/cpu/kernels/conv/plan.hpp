// What: planning and packing shared by the families of convolution kernels. Baseline code.
#pragma once

#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu::conv {

// Whether so many weights are not in L2 when their layer runs: other layers leave only few there.
inline bool beyond_l2(int64_t floats) { return floats * 4 > cache_sizes().l2 / 32; }

// Of each output, and one that is inside.
inline bool has_one_tap(const ConvAxis& a) { return a.kernel == 1 && a.pad == 0 && (a.out - 1) * a.stride < a.in; }

// Lanes of a vector, vector registers, and whether multiply-add is one instruction.
struct Machine {
  int lanes, registers;
  bool fused;
};
Machine machine(Isa isa) noexcept;

// Strides of a dense tensor of `channels` channels; `output` chooses the axes' out extents.
ConvStrides dense_strides(const ConvProblem& problem, ConvFormat format, int64_t block, bool output) noexcept;

// The reason why no kernel can run this problem, or null: extents, strides and dilations positive, groups dividing.
const char* reject_malformed(const ConvProblem& problem) noexcept;

// Formats, strides and exec = problem.
void plan_common(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept;

// Whose weights are packed: `exec` may have more channels in the place of taps.
inline const ConvProblem& weights_of(const ConvPlan& plan) { return plan.copies_windows ? plan.problem : plan.exec; }

// A pointwise convolution over a dense tensor does not see its axes: one long row has fewer and fuller tiles.
void merge_axes(ConvProblem& problem, ConvStrides& src, ConvStrides& dst) noexcept;

// Units of rows such that `row_bytes` each fill at most half of L2; at least 1.
int64_t rows_in_cache(int64_t row_bytes) noexcept;

// What the larger part of two threads takes, beside that of an even split: at least 1. Of a plan with its grid.
double imbalance_of_two_threads(const ConvPlan& plan) noexcept;

// What a register tile of AVX-512 that takes so many cycles takes beyond that, per source index, on average over cores
// of one's own and those that another hardware thread uses too, as on most rented machines: there only so many
// instructions begin per cycle, and tiles that need fewer are up to a fifth faster; likewise only so many loads: of
// layers with few channels, tiles with one load for two products take 0.83 to 0.97 of the time of those with four for
// five. Alone all are nearly equal.
double shared_cycles(double instructions, double loads, double cycles) noexcept;

// The head of a packing: for each of `groups` its `own` values of bias (null: zeros), zeros up to `padded`; then zeros
// up to `total` floats.
void pack_bias(const float* bias, int64_t groups, int64_t own, int64_t padded, int64_t total, float* packed) noexcept;

// Number of sp units a plan should offer at least, so that the work can be sliced.
inline constexpr int64_t kWantedUnits = 64;

}  // namespace terroir::cpu::conv
