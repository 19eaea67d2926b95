// What: how the kernels of one_axis.hpp cut an axis into tiles, as planning and every bucket see it. Functions with
// internal linkage only.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::cpu::one_axis {

// Inputs of a tile, and products; the points are those of F(4,3) in wino_types.hpp.
constexpr int64_t kPoints = 6;
constexpr int64_t kLeastTaps = 2, kMostTaps = 32, kMostSegmentTaps = 4;

// Taps a stride apart read inputs a stride apart: a strand. Each is cut into segments of 2, 3 or 4 taps, the last ones
// with zeros, whichever takes the fewest products per output. The sums of all segments' products are transformed back
// together.
static constexpr int64_t strands(const ConvAxis& a) { return a.stride < a.kernel ? a.stride : a.kernel; }
static constexpr int64_t segments_of(const ConvAxis& a, int64_t taps) {
  return strands(a) * (((a.kernel + a.stride - 1) / a.stride + taps - 1) / taps);
}
static constexpr int64_t segment_taps(const ConvAxis& a) {
  int64_t best = 3;
  for (int64_t taps = 4; taps >= 2; taps -= 2)
    if (segments_of(a, taps) * (kPoints + 1 - best) < segments_of(a, best) * (kPoints + 1 - taps)) best = taps;
  return best;
}
static constexpr int64_t segments(const ConvAxis& a) { return segments_of(a, segment_taps(a)); }
static constexpr int64_t first_tap(const ConvAxis& a, int64_t segment) {
  const int64_t per_strand = segments(a) / strands(a);
  return segment / per_strand + segment % per_strand * segment_taps(a) * a.stride;
}
static constexpr int64_t taps_in(const ConvAxis& a, int64_t segment) {
  const int64_t left = (a.kernel - first_tap(a, segment) + a.stride - 1) / a.stride, most = segment_taps(a);
  return left < 0 ? 0 : left < most ? left : most;
}

// Along the axis, from input to input of a segment, and from the first one of a tile to its last.
static constexpr int64_t input_step(const ConvAxis& a) { return a.stride * a.dilation; }
static constexpr int64_t tile_reach(const ConvAxis& a) {
  const int64_t per_strand = segments(a) / strands(a);
  return (strands(a) - 1) * a.dilation + ((per_strand - 1) * segment_taps(a) + kPoints - 1) * input_step(a);
}

static constexpr int64_t tile_outputs(const ConvAxis& a) { return kPoints + 1 - segment_taps(a); }
constexpr int64_t kMostOutputs = kPoints + 1 - 2;

// Outputs a dilation apart read the same inputs: a phase (with a stride there is no dilation). All phases have as many
// tiles; the last ones of the shorter phases may be without outputs.
static constexpr int64_t phases(const ConvAxis& a) { return a.dilation < a.out ? a.dilation : a.out; }
static constexpr int64_t phase_tiles(const ConvAxis& a) {
  const int64_t longest = (a.out - 1) / a.dilation + 1, outputs = tile_outputs(a);
  return (longest + outputs - 1) / outputs;
}

// Tiles of an image: those across the axis lie side by side.
static constexpr int64_t image_tiles(const ConvProblem& exec) {
  return exec.d.out * phases(exec.h) * phase_tiles(exec.h) * exec.w.out;
}

// Packed floats of an output channel.
static constexpr int64_t weights_per_output(const ConvPlan& plan) {
  const int64_t blocks = (plan.exec.ic + plan.block - 1) / plan.block;
  return plan.ic_chunk > 0 ? plan.exec.ic * plan.exec.h.kernel : kPoints * segments(plan.exec.h) * blocks * plan.block;
}

}  // namespace terroir::cpu::one_axis
