// What: weights in the order in which a run reads them: in the transformed domain, or as they are where runs transform
// them; and that transform.
// Segments: their channels come one after another.
// Layouts: [bias of all groups' blocks, to a multiple of 16][group][oc unit], and of a unit
//   [point][kd][ic block][ic][oc in unit] in the transformed domain, else [kd][ic][tap][oc in unit] without channels
//   beyond the last, segments uncut, once for all phases. Padding is zero. A unit is plan.unit_blocks blocks of one
//   phase, the last one of a group the blocks that are left.
// Threads: units may be packed at once; unit 0 writes what is between bias and weights.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv_wino/transforms.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_spans.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Output blocks [first, first + blocks) of the group, in one phase: a unit.
struct WinoUnit {
  int64_t first, blocks, phase;
};

TERROIR_INLINE WinoUnit wino_unit(const WinoPlan& plan, int64_t unit) {
  const int64_t phases = phases_of(plan), first = unit / phases * plan.unit_blocks;
  return {first, plan.oc_blocks - first < plan.unit_blocks ? plan.oc_blocks - first : plan.unit_blocks, unit % phases};
}

TERROIR_INLINE int64_t kernel_taps(const WinoPlan& plan) { return plan.problem.h.kernel * plan.problem.w.kernel; }

// Packed weights of one block of output channels, in one phase where they are transformed.
TERROIR_INLINE int64_t block_weights(const WinoPlan& plan) {
  const ConvProblem& p = plan.exec;
  if (plan.weights == WinoWeights::packed)
    return p.d.kernel * plan.ic_blocks * kBlock * plan.weights_side * plan.weights_side;
  return p.d.kernel * (plan.problem.ic / p.groups) * kernel_taps(plan);
}

// Where those of a unit of a group begin.
TERROIR_INLINE int64_t weights_of_unit(const WinoPlan& plan, int64_t group, const WinoUnit& unit) {
  const int64_t first = group * plan.oc_blocks + unit.first;
  const int64_t blocks =
      plan.weights == WinoWeights::packed ? first * phases_of(plan) + unit.phase * unit.blocks : first;
  return blocks * kBlock * block_weights(plan);
}

// kLanes rows of `floats` floats, `stride` apart, into floats vectors of one float of each row; `rows` of them exist.
void transpose_rows(const float* from, int64_t stride, int64_t rows, int64_t floats, float* to) {
  for (int64_t first = 0; first < floats; first += kLanes) {
    const Tail t = tail(floats - first < kLanes ? floats - first : kLanes);
    V r[kLanes];
#pragma GCC unroll 16
    for (int64_t l = 0; l < kLanes; ++l) r[l] = l < rows ? load_tail(from + l * stride + first, t) : zero();
    transpose(r);
#pragma GCC unroll 16
    for (int64_t l = 0; l < kLanes; ++l) storeu(to + (first + l) * kLanes, r[l]);
  }
}

// Taps that are transposed at once, to whole vectors: of all lanes' kernels, or of one of the largest.
constexpr int64_t kLargestKernel = kMostSegments * kSegment * kMostSegments * kSegment;
constexpr int64_t kTransposedRows = kTaps * kLanes > kLargestKernel ? kTaps* kLanes
                                                                    : (kLargestKernel + kLanes - 1) / kLanes* kLanes;

// The taps of a segment or phase, `lanes` output channels each, from those of the whole kernel, of so many input
// channels.
TERROIR_NOINLINE void cut_taps(const WinoTaps2d& some, const float* taps, int64_t channels, int64_t lanes, float* to) {
  const int64_t channel = some.rows.kernel * some.columns.kernel * lanes;
  for (int64_t t = 0; t < kTaps; ++t, to += lanes) {
    const int64_t y = t / kSegment, x = t % kSegment;
    const bool there = some.rows.has(y) && some.columns.has(x);
    const float* const from = taps + (there ? some.rows.at(y) * some.columns.kernel + some.columns.at(x) : 0) * lanes;
    for (int64_t i = 0; i < channels; ++i)
      for (int64_t l = 0; l < lanes; l += kLanes)
        storeu(to + i * kTaps * lanes + l, there ? loadu(from + i * channel + l) : zero());
  }
}

template <typename W>
TERROIR_NOINLINE void transform_taps(const float* taps, int64_t tap_stride, float* to, int64_t point_stride) {
  constexpr int A = W::kWeights;
  V half[3][A];
#pragma GCC unroll 8
  for (int j = 0; j < 3; ++j) {
    const V column[3] = {loadu(taps + j * tap_stride), loadu(taps + (3 + j) * tap_stride),
                         loadu(taps + (6 + j) * tap_stride)};
    W::weights(column, half[j]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < A; ++i) {
    const V row[3] = {half[0][i], half[1][i], half[2][i]};
    V u[A];
    W::weights(row, u);
#pragma GCC unroll 8
    for (int j = 0; j < A; ++j) storeu(to + (i * A + j) * point_stride, u[j]);
  }
}

// transform_taps() of an algorithm.
using TransformTaps = void (*)(const float* taps, int64_t tap_stride, float* to, int64_t point_stride);

void pack_unit(const WinoPlan& plan, TransformTaps transform, const ConvConstants& constants, float* packed,
               int64_t unit) {
  const int64_t points = plan.weights_side * plan.weights_side;
  const ConvProblem& p = plan.exec;
  const int64_t oc = p.oc / p.groups, depth = p.d.kernel;
  const int64_t group = unit / plan.units;
  const WinoUnit own_unit = wino_unit(plan, unit % plan.units);
  const auto [first, blocks, phase] = own_unit;
  const int64_t lanes = blocks * kBlock, channels = plan.ic_blocks * kBlock, reduction = depth * channels;
  const int64_t block_in_all = group * plan.oc_blocks + first;

  const int64_t all_lanes = p.groups * plan.oc_blocks * kBlock, bias_floats = (all_lanes + 15) / 16 * 16;
  for (int64_t l = all_lanes; unit == 0 && l < bias_floats; ++l) packed[l] = 0.0f;
  for (int64_t l = 0; phase == 0 && l < lanes; ++l) {
    const int64_t o = first * kBlock + l;
    packed[block_in_all * kBlock + l] = constants.bias && o < oc ? constants.bias[group * oc + o] : 0.0f;
  }

  float* const to = packed + bias_floats + weights_of_unit(plan, group, own_unit);
  const bool transforms = plan.weights == WinoWeights::packed;
  if (!transforms && phase > 0) return;
  // Behind the channels of each segment.
  const int64_t own = plan.problem.ic / p.groups, kernel = kernel_taps(plan);
  const int64_t of_segment = plan.source_blocks * kBlock;
  for (int64_t end = of_segment; transforms && end <= points * reduction; end += of_segment)
    for (int64_t l = (end - (of_segment - own)) * lanes; l < end * lanes; ++l) to[l] = 0.0f;
  // Transposed: the taps of one input channel after the other, those of its output channels side by side.
  const bool transposed = plan.problem.transposed;
  const int64_t at_once = transposed ? 1 : kernel > kTaps ? kTransposedRows / kernel : kLanes;
  const int64_t stride = transposed ? kernel : own * depth * kernel, step = transposed ? oc * kernel : kernel;
  alignas(64) float taps[kTransposedRows * kLanes], cut[kTaps * kLanes];
  for (int64_t pair = 0; pair < own * depth; pair += at_once) {
    const int64_t pairs = own * depth - pair < at_once ? own * depth - pair : at_once;
    for (int64_t l = 0; l < lanes; l += kLanes) {
      const int64_t o = first * kBlock + l;
      const float* const rows = constants.weights + (group * oc + o - constants.first_output) * stride;
      transpose_rows(rows + pair * step, stride, oc - o, pairs * kernel, taps);
      for (int64_t q = 0; q < pairs; ++q) {
        const int64_t d = (pair + q) % depth;
        int64_t i = (pair + q) / depth;
        const float* const whole = taps + q * kernel * kLanes;
        for (int64_t t = 0; !transforms && t < kernel; ++t)
          storeu(to + ((d * own + i) * kernel + t) * lanes + l, loadu(whole + t * kLanes));
        for (int64_t segment = 0; transforms && segment < plan.row_segments * plan.col_segments;
             ++segment, i += of_segment) {
          const float* from = whole;
          if (cuts_taps(plan)) {
            cut_taps(taps_of(plan.problem, segment, phase), whole, 1, kLanes, cut);
            from = cut;
          }
          transform(from, kLanes, to + (d * channels + i) * lanes + l, reduction * lanes);
        }
      }
    }
  }
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
