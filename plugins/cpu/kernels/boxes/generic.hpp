// What: comparisons of boxes of one bucket. Contract: boxes.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/boxes/boxes.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

using ops::reference::BoxBlock;
using ops::reference::BoxesMet;
using ops::reference::BoxQuery;
using ops::reference::kBoxesInBlock;
using ops::reference::OverlapRule;
using ops::reference::SizedBox;

constexpr int64_t kParts = kBoxesInBlock / kLanes;
alignas(64) constexpr float kPlaces[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// Quotients are compared without dividing where they are clearly below or above the threshold: a product with one that
// is smaller or greater by more than all roundings decides. Thresholds too small for that leave all in doubt.
struct Query {
  V extra, threshold, below, above;
};

TERROIR_INLINE Query spread(const BoxQuery<float>& q) {
  constexpr float kLeast = 1e-30f, kMargin = 1e-6f;
  const float factor = q.threshold >= kLeast ? q.threshold : __builtin_nanf("");
  return {V(q.extra), V(q.threshold), V(factor * (1 - kMargin)), V(factor * (1 + kMargin))};
}

struct Candidate {
  V x0, y0, x1, y1, area;
};

TERROIR_INLINE Candidate spread(const SizedBox<float>& box) {
  return {V(box.x0), V(box.y0), V(box.x1), V(box.y1), V(box.area)};
}

struct Overlaps {
  V common, all;
  M counted;
};

// The order of operands of min and max is that of the standard library's, for NaN.
template <OverlapRule kRule>
TERROIR_INLINE Overlaps overlaps(const Query& q, const Candidate& a, const BoxBlock<float>& block, int64_t lane) {
  const V x0 = loadu(block.x0 + lane), y0 = loadu(block.y0 + lane), x1 = loadu(block.x1 + lane),
          y1 = loadu(block.y1 + lane), area = loadu(block.area + lane);
  const V width = max(zero(), min(x1, a.x1) - max(x0, a.x0) + q.extra);
  const V height = max(zero(), min(y1, a.y1) - max(y0, a.y0) + q.extra);
  const V common = width * height, both = a.area + area, all = both - common;
  if constexpr (kRule == OverlapRule::with_areas)
    return {common, all, !((a.area <= zero()) | (area <= zero()))};
  else if constexpr (kRule == OverlapRule::with_common)
    return {common, all, common > zero()};
  const M touch = (a.x0 <= x1) & (a.y0 <= y1) & (x0 <= a.x1) & (y0 <= a.y1);
  return {common, all, kRule == OverlapRule::touching ? touch : touch & (both > common)};
}

// The boxes of the block from `begin` on that are of the query.
TERROIR_INLINE M of_query(const BoxQuery<float>& query, int64_t begin, int64_t lane) {
  const V used(static_cast<float>(query.count - begin)), skipped(static_cast<float>(query.first - begin));
  const V place = load(kPlaces + lane);
  return (place < used) & (skipped <= place);
}

TERROIR_INLINE V quotients(const Overlaps& o) { return select(o.counted, o.common / o.all, zero()); }

template <OverlapRule kRule>
TERROIR_INLINE bool covered(const BoxQuery<float>& query, const Query& q, int64_t begin, const SizedBox<float>& box) {
  const Candidate candidate = spread(box);
  const BoxBlock<float>& block = query.blocks[begin / kBoxesInBlock];
  M surely = zero() < zero(), perhaps = surely;
  Overlaps of[kParts];
  unroll<static_cast<int>(kParts)>([&](auto part) TERROIR_INLINE_LAMBDA {
    const Overlaps o = overlaps<kRule>(q, candidate, block, part * kLanes);
    const M mine = of_query(query, begin, part * kLanes);
    surely = surely | ((o.common > q.above * o.all) & (o.all > zero()) & o.counted & mine);
    perhaps = perhaps | (!(o.common < q.below * o.all) & mine);
    of[part] = o;
  });
  const bool sure = any(surely);
  if (__builtin_expect(!sure & any(perhaps), 0)) {
    M above = surely;
    unroll<static_cast<int>(kParts)>([&](auto part) TERROIR_INLINE_LAMBDA {
      above = above | ((quotients(of[part]) > q.threshold) & of_query(query, begin, part * kLanes));
    });
    return any(above);
  }
  return sure;
}

// Block by block: which candidate a block covers no branch foresees.
template <OverlapRule kRule>
TERROIR_NOINLINE int64_t uncovered_by_rule(const BoxQuery<float>& query, const SizedBox<float>* candidates, int64_t n,
                                           int32_t* left) {
  const Query q = spread(query);
  for (int64_t i = 0; i < n; ++i) left[i] = static_cast<int32_t>(i);
  for (int64_t begin = query.first / kBoxesInBlock * kBoxesInBlock; begin < query.count && n > 0;
       begin += kBoxesInBlock) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int32_t candidate = left[i];
      left[kept] = candidate;
      kept += !covered<kRule>(query, q, begin, candidates[candidate]);
    }
    n = kept;
  }
  return n;
}

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

BoxesMet<float> met(const BoxQuery<float>& query, const SizedBox<float>& box) {
  const Query q = spread(query);
  const Candidate candidate = spread(box);
  V sums[kParts];
  for (V& sum : sums) sum = zero();
  for (int64_t begin = query.first / kBoxesInBlock * kBoxesInBlock; begin < query.count; begin += kBoxesInBlock) {
    M above = zero() < zero();
    unroll<static_cast<int>(kParts)>([&](auto part) TERROIR_INLINE_LAMBDA {
      const V value = quotients(
          overlaps<OverlapRule::with_areas>(q, candidate, query.blocks[begin / kBoxesInBlock], part * kLanes));
      const M mine = of_query(query, begin, part * kLanes);
      above = above | ((value > q.threshold) & mine);
      sums[part] = sums[part] + select(mine, value * value, zero());
    });
    if (any(above)) return {true, 0};
  }
  float parts[kBoxesInBlock];
  for (int64_t i = 0; i < kParts; ++i) storeu(parts + i * kLanes, sums[i]);
  float sum = 0;
  for (const float part : parts) sum += part;
  return {false, sum};
}

}  // namespace

const ops::reference::BoxKernels& box_table() {
  static constexpr ops::reference::BoxKernels kTable = {&uncovered, &met};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
