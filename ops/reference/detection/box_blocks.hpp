#pragma once
// What: boxes laid out to be compared with one other, sixteen at a time, and the signature of such a comparison. Plain
//   data, which kernels of any instruction set read: see box_overlap.hpp.
// Formula: common / (area of a + area of b - common), common the product of width and height, each the lesser end minus
//   the greater beginning, plus `extra`, at least 0; where the rule lets boxes not overlap: 0.
#include <cstdint>

namespace terroir::ops::reference {

/// A box with its area, which every op defines in its own way.
template <class F>
struct SizedBox {
  F x0 = 0, y0 = 0, x1 = 0, y1 = 0, area = 0;
};

inline constexpr int64_t kBoxesInBlock = 16;

/// Coordinates side by side.
template <class F>
struct BoxBlock {
  F x0[kBoxesInBlock] = {}, y0[kBoxesInBlock] = {}, x1[kBoxesInBlock] = {}, y1[kBoxesInBlock] = {};
  F area[kBoxesInBlock] = {};
};

/// Which boxes overlap at all. Edges that lie on each other touch.
enum class OverlapRule : int32_t {
  with_areas,           // neither area is 0 or less
  with_common,          // what is common has an area
  touching,             // neither lies beside the other
  touching_with_union,  // and the areas are more than what is common
};

/// Boxes first ... count - 1 of blocks that hold number 16 * i in block i, to be compared with candidates.
template <class F>
struct BoxQuery {
  const BoxBlock<F>* blocks;
  int64_t first, count;
  OverlapRule rule;
  F extra;  // 1 where boxes include their last row and column
  F threshold;
};

template <class F>
struct BoxesMet {
  bool above;  // then the squares are 0
  F squares;
};

/// Comparisons of one instruction set; the results are those of box_overlap.hpp, bit by bit.
struct BoxKernels {
  int64_t (*uncovered)(const BoxQuery<float>& query, const SizedBox<float>* candidates, int64_t n, int32_t* left);
  BoxesMet<float> (*met)(const BoxQuery<float>& query, const SizedBox<float>& candidate);
};

}  // namespace terroir::ops::reference
