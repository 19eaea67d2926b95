// What: how the kernels of one_axis.hpp cut an axis into tiles, as planning and every bucket see it. Functions with
// internal linkage only.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::cpu::one_axis {

// Inputs of a tile, and products; the points are those of F(4,3) in wino_types.hpp.
constexpr int64_t kPoints = 6;
constexpr int64_t kLeastTaps = 2, kMostTaps = 32, kMostSegmentTaps = 4;

// Taps are cut into segments of 2, 3 or 4, the last one with zeros, whichever takes the fewest products per output. The
// sums of all segments' products are transformed back together.
static constexpr int64_t segments_of(int64_t taps, int64_t segment) { return (taps + segment - 1) / segment; }
static constexpr int64_t segment_taps(int64_t taps) {
  if (taps == 2) return 2;
  return segments_of(taps, 3) * (kPoints + 1 - 4) <= segments_of(taps, 4) * (kPoints + 1 - 3) ? 3 : 4;
}
static constexpr int64_t segments(int64_t taps) { return segments_of(taps, segment_taps(taps)); }

static constexpr int64_t tile_outputs(int64_t taps) { return kPoints + 1 - segment_taps(taps); }
constexpr int64_t kMostOutputs = tile_outputs(2);
// Inputs that a tile's segments read.
static constexpr int64_t tile_reach(int64_t taps) { return kPoints + (segments(taps) - 1) * segment_taps(taps); }

// Outputs a dilation apart read the same inputs: a phase. All phases have as many tiles; the last ones of the shorter
// phases may be without outputs.
static constexpr int64_t phases(const ConvAxis& a) { return a.dilation < a.out ? a.dilation : a.out; }
static constexpr int64_t phase_tiles(const ConvAxis& a) {
  const int64_t longest = (a.out - 1) / a.dilation + 1, outputs = tile_outputs(a.kernel);
  return (longest + outputs - 1) / outputs;
}

// Tiles of an image: those across the axis lie side by side.
static constexpr int64_t image_tiles(const ConvProblem& exec) {
  return exec.d.out * phases(exec.h) * phase_tiles(exec.h) * exec.w.out;
}

// Packed floats of an output channel.
static constexpr int64_t weights_per_output(const ConvPlan& plan) {
  const int64_t taps = plan.exec.h.kernel, blocks = (plan.exec.ic + plan.block - 1) / plan.block;
  return plan.ic_chunk > 0 ? plan.exec.ic * taps : kPoints * segments(taps) * blocks * plan.block;
}

}  // namespace terroir::cpu::one_axis
