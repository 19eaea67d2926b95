// What: plain weights of a unit on their way into scratch memory, in the transformed domain: some input channels (a
//   part) at a time, and of these a few vectors at a time.
// Cost: a vector of nine taps becomes 16 or 36, more than L1 holds: to store a line to L2 takes longer than to compute
//   it. Staged in small portions between the passes of products of the part before, the stores leave the core while
//   the products run.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv_wino/pack.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// How far ahead weights are fetched, in vectors of nine taps.
constexpr int64_t kStagedAhead = 8;

// Odd in units of channel blocks: the points of one tile then lie in different sets of the caches.
TERROIR_INLINE int64_t point_stride(int64_t channel_blocks) { return (channel_blocks | 1) * kBlock; }

// Input blocks [first, first + blocks) of kernel slice d; the last block has `last` channels.
struct StagePart {
  int64_t d, first, blocks, last;
};

TERROIR_INLINE int64_t parts_of_slice(const WinoPlan& plan) {
  return (plan.ic_blocks + plan.stage_blocks - 1) / plan.stage_blocks;
}

TERROIR_INLINE int64_t stage_parts(const WinoPlan& plan) { return plan.problem.d.kernel * parts_of_slice(plan); }

TERROIR_INLINE StagePart stage_part(const WinoPlan& plan, int64_t part) {
  const int64_t parts = parts_of_slice(plan), ic = plan.problem.ic / plan.problem.groups;
  StagePart p{part / parts, part % parts * plan.stage_blocks, plan.stage_blocks, kBlock};
  if (p.first + p.blocks < plan.ic_blocks) return p;
  p.blocks = plan.ic_blocks - p.first;
  p.last = ic - (plan.ic_blocks - 1) * kBlock;
  return p;
}

// The products of the part in at[0] run while the next one is staged in at[1].
struct StageBuffers {
  float* at[2];
  int64_t first;      // which of the two at[0] is
  bool full = false;  // at[0] holds a part

  StageBuffers(float* scratch, int64_t floats, int64_t which)
      : at{scratch + which * floats, scratch + (1 - which) * floats}, first(which) {}

  void swap() {
    float* const now = at[0];
    at[0] = at[1];
    at[1] = now;
    first = 1 - first;
  }
};

// What is left of a part: of weights [channel][tap][lanes], to [ic block][point][channel][lanes].
struct Staging {
  const float* taps;
  float* to;
  int64_t lanes, point, block;  // output channels; floats between points, and from the end of a block to the next
  int64_t lane, channel;        // where `taps` and `to` are, channel of a block
  int64_t vectors;              // left
};

template <typename W>
TERROIR_INLINE Staging begin_staging(const WinoPlan& plan, const float* packed, int64_t group, const WinoUnit& unit,
                                     const StagePart& part, float* to) {
  const int64_t ic = plan.problem.ic / plan.problem.groups, lanes = unit.blocks * kBlock;
  Staging s{};
  s.taps = packed + (group * plan.oc_blocks + unit.first) * kBlock * block_weights(plan) +
           (part.d * ic + part.first * kBlock) * kTaps * lanes;
  s.to = to;
  s.lanes = lanes;
  s.point = point_stride(lanes);
  s.block = W::kWeights * W::kWeights * s.point - kBlock * lanes;
  s.vectors = ((part.blocks - 1) * kBlock + part.last) * (lanes / kLanes);
  return s;
}

template <typename W>
void stage(Staging& s, int64_t vectors) {
  s.vectors -= vectors;
  for (; vectors > 0; --vectors) {
    transform_taps<W>(s.taps + s.lane, s.lanes, s.to + s.lane, s.point);
    s.lane += kLanes;
    if (s.lane < s.lanes) continue;
    s.lane = 0;
    s.taps += kTaps * s.lanes;
    s.to += s.lanes;
    if (++s.channel < kBlock) continue;
    s.channel = 0;
    s.to += s.block;
  }
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
