// What: the plain data that paired kernels of every bucket share with those who plan them. Plain functions with
// internal linkage: seen by every bucket.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels/conv/conv_types.hpp"
#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu {

// What a thread has prepared of the sources: positions [begin, end) of image n. On a cache line of its own.
struct alignas(64) PairedKept {
  int64_t n = -1, begin = 0, end = 0;
};

namespace paired {

// Channel blocks of an oc unit, and positions of the largest register tile.
static constexpr int64_t kUnitBlocks = 2, kMaxPositions = 10;
// Of every three channels two are a pair: what is left of a block of 16 is multiplied as it is.
static constexpr int64_t kTriples = 5;

// Of the packed weights: behind the bias, for each unit the starts of its sums, the scales of its results, the weights.
TERROIR_INLINE int64_t unit_outputs(const ConvPlan& plan) { return kUnitBlocks * plan.block; }
TERROIR_INLINE int64_t padded_inputs(const ConvPlan& plan) {
  return (plan.exec.ic + plan.block - 1) / plan.block * plan.block;
}
TERROIR_INLINE int64_t unit_floats(const ConvPlan& plan) { return unit_outputs(plan) * (2 + padded_inputs(plan)); }
TERROIR_INLINE int64_t unit_begin(const ConvPlan& plan, int64_t unit) {
  return plan.grid.oc * unit_outputs(plan) + unit * unit_floats(plan);
}

// Sources of a position whose largest magnitude lies between these are left as they are: near enough to the weights.
static constexpr float kLeastSource = 0.25f, kMostSource = 16;

// Scratch memory, for plan.cached_rows positions: copies of sources that do not lie or are not scaled as they should,
// [tile][block][position][channel]; a unit's sums between rounds, [tile][position][output]; of each position the sum of
// the products of its pairs, and what its results are to be multiplied by; of each tile where its sources are, in so
// many floats. Two more, as that is aligned like a pointer.
static constexpr int64_t kTileFloats = 8;
TERROIR_INLINE int64_t copies_floats(const ConvPlan& plan) { return plan.cached_rows * padded_inputs(plan); }
TERROIR_INLINE int64_t sums_floats(const ConvPlan& plan) { return plan.cached_rows * unit_outputs(plan); }
TERROIR_INLINE int64_t scratch_floats(const ConvPlan& plan) {
  return copies_floats(plan) + sums_floats(plan) + 2 * plan.cached_rows + 2 +
         kTileFloats * (plan.cached_rows / kMaxPositions + 1);
}

}  // namespace paired
}  // namespace terroir::cpu
