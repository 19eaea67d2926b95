// What: how the kernels of one_axis.hpp cut an axis into tiles, as planning and every bucket see it. Functions with
// internal linkage only.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels/conv/conv_types.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_spans.hpp"

namespace terroir::cpu::one_axis {

// Inputs of a tile, and products; the points are those of F(4,3) in wino_types.hpp.
constexpr int64_t kPoints = 6;
constexpr int64_t kLeastTaps = 2, kMostTaps = 32, kMostSegmentTaps = 4;

// The axis as tiles see it: of a transposed convolution, the window and the outputs of one of its phases, all of which
// have as many outputs (wino_spans.hpp); each phase is an axis of stride 1 with some of the taps of that window.
static constexpr ConvAxis axis_of(const ConvProblem& exec) {
  const ConvAxis& a = exec.h;
  if (!exec.transposed) return a;
  return {a.in, a.out / a.stride, inputs_of_window(a), 1, 1, before_window(a)};
}
static constexpr int64_t phases_of_outputs(const ConvProblem& exec) { return exec.transposed ? exec.h.stride : 1; }

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
// The taps of a segment that there are: [begin, end) of it, `first + i * step` of the kernel.
struct SegmentTaps {
  int64_t first, step, begin, end;
};
static constexpr int64_t taps_in(const ConvAxis& a, int64_t segment) {
  const int64_t left = (a.kernel - first_tap(a, segment) + a.stride - 1) / a.stride, most = segment_taps(a);
  return left < 0 ? 0 : left < most ? left : most;
}

static constexpr SegmentTaps taps_of_segment(const ConvProblem& exec, int64_t segment, int64_t phase) {
  const ConvAxis a = axis_of(exec);
  const int64_t first = first_tap(a, segment), count = taps_in(a, segment);
  if (!exec.transposed) return {first, a.stride, 0, count};
  const WinoTaps all = taps_of_phase(exec.h, phase);
  SegmentTaps some{all.at(first), all.step, 0, count};
  while (some.begin < count && !all.has(first + some.begin)) ++some.begin;
  while (some.end > some.begin && !all.has(first + some.end - 1)) --some.end;
  return some;
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
  const ConvAxis a = axis_of(exec);
  return exec.d.out * phases(a) * phase_tiles(a) * exec.w.out;
}

// Packed floats of an output channel, in the transformed domain of all phases.
static constexpr int64_t weights_per_output(const ConvPlan& plan) {
  const ConvProblem& e = plan.exec;
  const int64_t blocks = (e.ic + plan.block - 1) / plan.block;
  return plan.ic_chunk > 0 ? e.ic * e.h.kernel
                           : kPoints * segments(axis_of(e)) * blocks * plan.block * phases_of_outputs(e);
}

}  // namespace terroir::cpu::one_axis
