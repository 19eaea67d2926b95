// What: plain weights of a unit on their way into scratch memory, in the transformed domain: of some input channels (a
//   part), the rows that one group of sums wants. The products of the group follow, then the next group's rows take the
//   place of these.
// Cost: a vector of nine taps becomes 16 or 36, and to store a line to L2 takes longer than to compute it. A group's
//   rows are half of that or a third, so that they, the inputs and the products stay in L2 where all of them would not;
//   the taps are read again for each group.
// Include one bucket header first.
#pragma once

#include <utility>

#include "plugins/cpu/kernels/conv_wino/pack.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Odd in units of channel blocks: the points of one tile then lie in different sets of the caches.
TERROIR_INLINE int64_t point_stride(int64_t channel_blocks) { return (channel_blocks | 1) * kBlock; }

// Input blocks [first, first + blocks) of kernel slice d; the last block has `last` channels.
struct StagePart {
  int64_t d, first, blocks, last;
};

TERROIR_INLINE int64_t parts_of_slice(const WinoPlan& plan) {
  return (plan.ic_blocks + plan.stage_blocks - 1) / plan.stage_blocks;
}

TERROIR_INLINE int64_t stage_parts(const WinoPlan& plan) { return plan.exec.d.kernel * parts_of_slice(plan); }

TERROIR_INLINE StagePart stage_part(const WinoPlan& plan, int64_t part) {
  const int64_t parts = parts_of_slice(plan), ic = plan.exec.ic / plan.exec.groups;
  StagePart p{part / parts, part % parts * plan.stage_blocks, plan.stage_blocks, kBlock};
  if (p.first + p.blocks < plan.ic_blocks) return p;
  p.blocks = plan.ic_blocks - p.first;
  p.last = ic - (plan.ic_blocks - 1) * kBlock;
  return p;
}

// The taps of a part's segments in a unit's phase, to [channel][tap][lanes]; `weights`: of all channels. Returns where
// the next part's lie.
TERROIR_NOINLINE const float* cut_part(const WinoPlan& plan, const float* weights, const StagePart& part,
                                       const WinoUnit& unit, float* to) {
  const int64_t own = plan.problem.ic / plan.problem.groups, lanes = unit.blocks * kBlock;
  const int64_t channel = kernel_taps(plan) * lanes;
  const float* taps = weights;
  for (int64_t a = part.first; a < part.first + part.blocks; ++a) {
    const WinoTaps2d some = taps_of(plan.problem, a / plan.source_blocks, unit.phase);
    const int64_t block = a % plan.source_blocks, left = own - block * kBlock;
    const int64_t channels = left < kBlock ? left : kBlock;
    taps = weights + (part.d * own + block * kBlock) * channel;
    cut_taps(some, taps, channels, lanes, to);
    for (int64_t l = channels * kTaps * lanes; l < kBlock * kTaps * lanes; l += kLanes) storeu(to + l, zero());
    taps += channels * channel;
    to += kBlock * kTaps * lanes;
  }
  return taps;
}

// Of one input block: weights [channel][tap][lanes], to [point of the group][channel][lanes].
struct Staging {
  const float* taps;
  int64_t channels, lanes;
  float* to;
  int64_t point;  // floats between points
};

template <typename W, int Group>
void stage_group(const Staging& s) noexcept {
  constexpr int A = W::kWeights;
  constexpr SumGroup kGroup = W::group(Group);
  const float* taps = s.taps;
  float* to = s.to;
  for (int64_t i = s.channels; i > 0; --i, taps += kTaps * s.lanes, to += s.lanes) {
    for (int64_t l = 0; l < s.lanes; l += kLanes) {
      // Of the transform down the columns what the group does not want is never computed.
      V half[3][A];
#pragma GCC unroll 8
      for (int j = 0; j < 3; ++j) {
        const float* const tap = taps + j * s.lanes + l;
        const V column[3] = {loadu(tap), loadu(tap + 3 * s.lanes), loadu(tap + 6 * s.lanes)};
        W::weights(column, half[j]);
      }
#pragma GCC unroll 8
      for (int r = 0; r < kGroup.weight_rows; ++r) {
        const int i_of = kGroup.weights[r];
        const V row[3] = {half[0][i_of], half[1][i_of], half[2][i_of]};
        V u[A];
        W::weights(row, u);
#pragma GCC unroll 8
        for (int j = 0; j < A; ++j) storeu(to + (r * A + j) * s.point + l, u[j]);
      }
    }
  }
}

using StageFn = void (*)(const Staging&) noexcept;

template <typename W>
struct StageGroups {
  StageFn fn[W::kGroups];
};

template <typename W, int... Group>
constexpr StageGroups<W> stage_groups(std::integer_sequence<int, Group...>) {
  return {{&stage_group<W, Group>...}};
}

template <typename W>
constexpr StageGroups<W> kStage = stage_groups<W>(std::make_integer_sequence<int, W::kGroups>{});

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
