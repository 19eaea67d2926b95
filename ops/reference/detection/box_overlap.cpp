#include "ops/reference/detection/box_overlap.hpp"

#include <cmath>
#include <limits>

#include "ir/base/error.hpp"

namespace terroir::ops::reference {
namespace {

/// Whether an overlap with one of the boxes of a block is above the threshold. sums[k] += the squares, where there are
/// sums.
template <OverlapRule kRule, bool kSquares, class F>
bool any_above(const BoxQuery<F>& query, int64_t begin, const SizedBox<F>& candidate, F* sums) {
  const BoxBlock<F>& b = query.blocks[begin / kBoxesInBlock];
  const auto used = static_cast<int32_t>(std::min(query.count - begin, kBoxesInBlock));
  const auto skipped = static_cast<int32_t>(std::max<int64_t>(query.first - begin, 0));
  int32_t above = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(kBoxesInBlock); ++i) {
    const F value = overlap<kRule>(candidate, SizedBox<F>{b.x0[i], b.y0[i], b.x1[i], b.y1[i], b.area[i]}, query.extra);
    const int32_t counts = static_cast<int32_t>(i < used) & static_cast<int32_t>(i >= skipped);
    above |= static_cast<int32_t>(value > query.threshold) & counts;
    if constexpr (kSquares) sums[i] += counts != 0 ? value * value : 0;
  }
  return above != 0;
}

/// Block by block: which candidate a block covers no branch foresees.
template <OverlapRule kRule, class F>
int64_t uncovered_by_rule(const BoxQuery<F>& query, const SizedBox<F>* candidates, int64_t n, int32_t* left) {
  for (int64_t i = 0; i < n; ++i) left[i] = static_cast<int32_t>(i);
  for (int64_t begin = query.first / kBoxesInBlock * kBoxesInBlock; begin < query.count && n > 0;
       begin += kBoxesInBlock) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int32_t candidate = left[i];
      left[kept] = candidate;
      kept += !any_above<kRule, false, F>(query, begin, candidates[candidate], nullptr);
    }
    n = kept;
  }
  return n;
}

}  // namespace

int64_t uncovered(const BoxQuery<float>& query, const SizedBox<float>* candidates, int64_t n, int32_t* left) {
  switch (query.rule) {
    case OverlapRule::with_areas:
      return uncovered_by_rule<OverlapRule::with_areas>(query, candidates, n, left);
    case OverlapRule::with_common:
      return uncovered_by_rule<OverlapRule::with_common>(query, candidates, n, left);
    case OverlapRule::touching:
      return uncovered_by_rule<OverlapRule::touching>(query, candidates, n, left);
    default:
      return uncovered_by_rule<OverlapRule::touching_with_union>(query, candidates, n, left);
  }
}

int64_t uncovered(const BoxQuery<double>& query, const SizedBox<double>* candidates, int64_t n, int32_t* left) {
  TERROIR_ASSERT(query.rule == OverlapRule::with_common, static_cast<int32_t>(query.rule));
  return uncovered_by_rule<OverlapRule::with_common>(query, candidates, n, left);
}

float just_below(float threshold) {
  // Next to 0 not a number without all digits, which processors may take for 0.
  return threshold == 0 ? -std::numeric_limits<float>::min()
                        : std::nextafter(threshold, -std::numeric_limits<float>::infinity());
}

BoxesMet<float> met(const BoxQuery<float>& query, const SizedBox<float>& candidate) {
  TERROIR_ASSERT(query.rule == OverlapRule::with_areas, static_cast<int32_t>(query.rule));
  float sums[kBoxesInBlock] = {};
  for (int64_t begin = query.first / kBoxesInBlock * kBoxesInBlock; begin < query.count; begin += kBoxesInBlock)
    if (any_above<OverlapRule::with_areas, true>(query, begin, candidate, sums)) return {true, 0};
  float sum = 0;
  for (const float part : sums) sum += part;
  return {false, sum};
}

}  // namespace terroir::ops::reference
