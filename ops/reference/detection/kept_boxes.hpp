#pragma once
// What: the boxes that a suppression has kept so far, and whether one of them covers the next candidate.
// How: coordinates lie side by side and are compared in whole blocks without a branch, so that compilers use vectors.
//   An overlap formula is thus written without early returns: (candidate, kept) -> intersection over union.
// Cost: one formula per kept box, in blocks.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {

/// A box with its area, which every op defines in its own way.
template <class F>
struct SizedBox {
  F x0 = 0, y0 = 0, x1 = 0, y1 = 0, area = 0;
};

template <class F>
class KeptBoxes {
 public:
  void add(const SizedBox<F>& box) {
    if (count_ % kBlock == 0) blocks_.emplace_back();
    Block& block = blocks_.back();
    const size_t i = count_++ % kBlock;
    block.x0[i] = box.x0;
    block.y0[i] = box.y0;
    block.x1[i] = box.x1;
    block.y1[i] = box.y1;
    block.area[i] = box.area;
  }
  int64_t size() const { return static_cast<int64_t>(count_); }

  /// Whether overlap(candidate, b) > threshold for any kept box b from number `first` on.
  template <class Overlap>
  bool any_above(const SizedBox<F>& candidate, F threshold, const Overlap& overlap, int64_t first = 0) const {
    for (size_t begin = static_cast<size_t>(first) / kBlock * kBlock; begin < count_; begin += kBlock) {
      const Block& b = blocks_[begin / kBlock];
      const auto used = static_cast<int32_t>(std::min(count_ - begin, kBlock));
      const auto skipped = static_cast<int32_t>(std::max<int64_t>(first - static_cast<int64_t>(begin), 0));
      int32_t above = 0;
      for (int32_t i = 0; i < static_cast<int32_t>(kBlock); ++i) {
        const F value = overlap(candidate, SizedBox<F>{b.x0[i], b.y0[i], b.x1[i], b.y1[i], b.area[i]});
        above |= static_cast<int32_t>(value > threshold) & static_cast<int32_t>(i < used) &
                 static_cast<int32_t>(i >= skipped);
      }
      if (above != 0) return true;
    }
    return false;
  }

  struct Met {
    bool above;  // then the rest may be missing
    F squares;
  };
  /// The same, and the sum of the squares of these overlaps.
  template <class Overlap>
  Met met(const SizedBox<F>& candidate, F threshold, const Overlap& overlap, int64_t first) const {
    F sums[kBlock] = {};
    for (size_t begin = static_cast<size_t>(first) / kBlock * kBlock; begin < count_; begin += kBlock) {
      const Block& b = blocks_[begin / kBlock];
      const auto used = static_cast<int32_t>(std::min(count_ - begin, kBlock));
      const auto skipped = static_cast<int32_t>(std::max<int64_t>(first - static_cast<int64_t>(begin), 0));
      int32_t above = 0;
      for (int32_t i = 0; i < static_cast<int32_t>(kBlock); ++i) {
        const F value = overlap(candidate, SizedBox<F>{b.x0[i], b.y0[i], b.x1[i], b.y1[i], b.area[i]});
        const int32_t counts = static_cast<int32_t>(i < used) & static_cast<int32_t>(i >= skipped);
        above |= static_cast<int32_t>(value > threshold) & counts;
        sums[i] += counts != 0 ? value * value : 0;
      }
      if (above != 0) return {true, 0};
    }
    F sum = 0;
    for (const F part : sums) sum += part;
    return {false, sum};
  }

 private:
  static constexpr size_t kBlock = 16;
  struct Block {
    F x0[kBlock] = {}, y0[kBlock] = {}, x1[kBlock] = {}, y1[kBlock] = {}, area[kBlock] = {};
  };
  std::vector<Block> blocks_;
  size_t count_ = 0;
};

/// How the threshold of a suppression sinks: times `eta` after each kept box, as long as it is above one half.
struct Threshold {
  float value = 0;
  float eta = 1;
};

/// Goes through `candidates`, best first, and keeps those that overlap none of the kept ones by more than the
/// threshold, until there are `most`. Returns their positions in `candidates`.
template <class Overlap>
std::vector<int64_t> suppressed(const std::vector<SizedBox<float>>& candidates, int64_t most, Threshold threshold,
                                const Overlap& overlap) {
  // A sinking threshold makes each step depend on the one before. Else some candidates at a time are compared with all
  // boxes kept before them, which needs no order, and then among each other.
  const int64_t together = threshold.eta < 1 ? 1 : 128;
  const auto count = static_cast<int64_t>(candidates.size());
  constexpr int64_t kPerTask = 16;
  KeptBoxes<float> kept;
  std::vector<int64_t> positions;
  std::vector<uint8_t> dropped(static_cast<size_t>(together));
  for (int64_t begin = 0; begin < count && kept.size() < most; begin += together) {
    const int64_t end = std::min(count, begin + together), before = kept.size();
    parallel_ranges(end - begin, kPerTask, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i)
        dropped[static_cast<size_t>(i)] =
            kept.any_above(candidates[static_cast<size_t>(begin + i)], threshold.value, overlap);
    });
    for (int64_t i = begin; i < end && kept.size() < most; ++i) {
      const SizedBox<float>& box = candidates[static_cast<size_t>(i)];
      if (dropped[static_cast<size_t>(i - begin)] || kept.any_above(box, threshold.value, overlap, before)) continue;
      if (threshold.eta < 1 && threshold.value > 0.5f) threshold.value *= threshold.eta;
      kept.add(box);
      positions.push_back(i);
    }
  }
  return positions;
}

}  // namespace terroir::ops::reference
