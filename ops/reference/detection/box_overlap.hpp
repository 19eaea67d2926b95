#pragma once
// What: how much two boxes overlap, and which of some overlap none of many by more than a threshold.
// How: blocks are compared without a branch, so that compilers use vectors; who runs a reference may lend kernels of an
//   instruction set for it. Cost: one formula per box, in blocks.
// Edge cases: NaN is above no threshold.
#include <algorithm>

#include "ops/reference/detection/box_blocks.hpp"
#include "ops/reference/lent.hpp"

namespace terroir::ops::reference {

/// Intersection over union; both terms are written without early returns, see above.
template <OverlapRule kRule, class F>
inline F overlap(const SizedBox<F>& a, const SizedBox<F>& b, F extra) {
  const F width = std::max(std::min(a.x1, b.x1) - std::max(a.x0, b.x0) + extra, F{0});
  const F height = std::max(std::min(a.y1, b.y1) - std::max(a.y0, b.y0) + extra, F{0});
  const F common = width * height, both = a.area + b.area;
  const F value = common / (both - common);
  if constexpr (kRule == OverlapRule::with_areas) return (a.area <= 0) | (b.area <= 0) ? F{0} : value;
  if constexpr (kRule == OverlapRule::with_common) return common > 0 ? value : F{0};
  const bool touch = (a.x0 <= b.x1) & (a.y0 <= b.y1) & (b.x0 <= a.x1) & (b.y0 <= a.y1);
  if constexpr (kRule == OverlapRule::touching) return touch ? value : F{0};
  return touch & (both > common) ? value : F{0};
}

/// Writes the positions of the candidates that overlap none of the boxes by more than the threshold, ascending, to
/// `left`, which has room for n; returns how many.
int64_t uncovered(const BoxQuery<float>& query, const SizedBox<float>* candidates, int64_t n, int32_t* left);
/// Of f64 only where what is common has an area: by the rule of the one op that computes in f64.
int64_t uncovered(const BoxQuery<double>& query, const SizedBox<double>* candidates, int64_t n, int32_t* left);

/// Whether one of the boxes overlaps the candidate by more than the threshold, and the sum of the squares of these
/// overlaps: those of boxes 16 * i + k in order, for each k, then these sixteen sums. By the rule `with_areas`, that of
/// the one op whose scores sink.
BoxesMet<float> met(const BoxQuery<float>& query, const SizedBox<float>& candidate);

/// What exactly the numbers from the threshold on are above, where overlaps that equal it count.
float just_below(float threshold);

using LentBoxKernels = Lent<BoxKernels>;

/// How the boxes of one op overlap, and what was lent to compare them with.
struct BoxOverlap {
  OverlapRule rule;
  float extra = 0;
  const BoxKernels* kernels = LentBoxKernels::current();  // of the thread that makes this: before work is shared out
};

}  // namespace terroir::ops::reference
