#pragma once
// What: the boxes that a suppression has kept so far, and whether one of them covers the next candidate.
// Cost: one formula per kept box, in blocks: see box_overlap.hpp.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ops/reference/detection/box_overlap.hpp"
#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {

template <class F>
class KeptBoxes {
 public:
  explicit KeptBoxes(const BoxOverlap& overlap) : overlap_(overlap) {}

  void add(const SizedBox<F>& box) {
    const auto i = static_cast<size_t>(count_++ % kBoxesInBlock);
    if (i == 0) blocks_.emplace_back();
    BoxBlock<F>& block = blocks_.back();
    block.x0[i] = box.x0;
    block.y0[i] = box.y0;
    block.x1[i] = box.x1;
    block.y1[i] = box.y1;
    block.area[i] = box.area;
  }
  int64_t size() const { return count_; }

  /// Writes the positions of the candidates that overlap no kept box from number `first` on by more than the threshold
  /// to `left`, which has room for n; returns how many.
  int64_t uncovered(const SizedBox<F>* candidates, int64_t n, F threshold, int32_t* left, int64_t first = 0) const {
    const BoxQuery<F> query = query_of(threshold, first);
    if constexpr (std::is_same_v<F, float>)
      if (overlap_.kernels) return overlap_.kernels->uncovered(query, candidates, n, left);
    return reference::uncovered(query, candidates, n, left);
  }

  /// Whether the candidate overlaps any of them so.
  bool any_above(const SizedBox<F>& candidate, F threshold, int64_t first = 0) const {
    int32_t left;
    return uncovered(&candidate, 1, threshold, &left, first) == 0;
  }

  /// The same, and the sum of the squares of these overlaps.
  BoxesMet<F> met(const SizedBox<F>& candidate, F threshold, int64_t first) const {
    const BoxQuery<F> query = query_of(threshold, first);
    return overlap_.kernels ? overlap_.kernels->met(query, candidate) : reference::met(query, candidate);
  }

 private:
  BoxQuery<F> query_of(F threshold, int64_t first) const {
    return {blocks_.data(), first, count_, overlap_.rule, F{overlap_.extra}, threshold};
  }

  BoxOverlap overlap_;
  std::vector<BoxBlock<F>> blocks_;
  int64_t count_ = 0;
};

/// How the threshold of a suppression sinks: times `eta` after each kept box, as long as it is above one half.
template <class F>
struct Threshold {
  F value = 0;
  F eta = 1;
  F (*limit)(F) = nullptr;  // what overlaps must be above to cover, for each value; null: the value
};

/// Goes through `candidates`, best first, and keeps those that overlap none of the kept ones by more than the threshold
/// (or its limit), until there are `most`. Returns their positions in `candidates`.
template <class F>
std::vector<int64_t> suppressed(const std::vector<SizedBox<F>>& candidates, int64_t most, Threshold<F> threshold,
                                const BoxOverlap& overlap) {
  // Some candidates at a time, few at first, are compared with all boxes kept before them, which needs no order, and
  // then among each other. A sinking threshold makes each step depend on the one before.
  constexpr int64_t kPerTask = 16, kMostTogether = 128;
  const auto count = static_cast<int64_t>(candidates.size());
  KeptBoxes<F> kept(overlap);
  std::vector<int64_t> positions;
  F limit = threshold.limit ? threshold.limit(threshold.value) : threshold.value;
  int32_t left[kMostTogether];
  int64_t left_of[kMostTogether / kPerTask];
  for (int64_t begin = 0, together; begin < count && kept.size() < most; begin += together) {
    const int64_t before = kept.size();
    together = threshold.eta < 1 ? 1 : std::clamp(before / kPerTask, int64_t{1}, kMostTogether / kPerTask) * kPerTask;
    const int64_t n = std::min(count - begin, together);
    parallel_ranges(n, kPerTask, [&](int64_t from, int64_t to) {
      left_of[from / kPerTask] = kept.uncovered(candidates.data() + begin + from, to - from, limit, left + from);
    });
    for (int64_t from = 0; from < n; from += kPerTask)
      for (int64_t i = 0; i < left_of[from / kPerTask] && kept.size() < most; ++i) {
        const int64_t position = begin + from + left[from + i];
        const SizedBox<F>& box = candidates[static_cast<size_t>(position)];
        if (kept.any_above(box, limit, before)) continue;
        if (threshold.eta < 1 && threshold.value > F{0.5f}) {
          threshold.value *= threshold.eta;
          limit = threshold.limit ? threshold.limit(threshold.value) : threshold.value;
        }
        kept.add(box);
        positions.push_back(position);
      }
  }
  return positions;
}

}  // namespace terroir::ops::reference
