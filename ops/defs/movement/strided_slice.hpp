#pragma once
// What: StridedSlice: a slice of data with begin, end and stride per axis, as NumPy's indexing writes it. Inputs: data,
// begin, end, stride (optional: 1), 1-D of one length. Mask bits, by position in begin: begin and end: that bound is
// ignored and the slice goes to the very end; new_axis: an axis of extent 1 is inserted; shrink_axis: the single
// position `begin` is taken and the axis dropped; ellipsis: as many whole axes as are not otherwise used.
// Shapes: axes after the last position stay whole. Precedence: ellipsis, new_axis, shrink_axis.
// Edge cases: bounds are clamped (see ops/shape/slice.hpp); a shrunk position out of range is an error.
// Source: operation page StridedSlice-1. Where its text and its examples differ (end_mask with a negative stride, equal
// begin and end), the examples and NumPy win: the first element is included, and the slice is empty.
#include "ir/schema/attributes.hpp"
#include "ops/shape/slice.hpp"

namespace terroir::ops {

struct StridedSliceAttrs {
  std::vector<int64_t> begin_mask;
  std::vector<int64_t> end_mask;
  std::vector<int64_t> new_axis_mask;
  std::vector<int64_t> shrink_axis_mask;
  std::vector<int64_t> ellipsis_mask;

  template <class V>
  void visit(V& v) {
    v("begin_mask", begin_mask, ir::Presence::required);
    v("end_mask", end_mask, ir::Presence::required);
    v("new_axis_mask", new_axis_mask);
    v("shrink_axis_mask", shrink_axis_mask);
    v("ellipsis_mask", ellipsis_mask);
  }
};

/// What is taken of each axis of data; new axes of the output do not show. Null `stride`: all 1. Exception for lists
/// that do not fit each other or data.
std::vector<SliceRange> strided_slice_ranges(const StridedSliceAttrs& attrs, const std::vector<int64_t>& begin,
                                             const std::vector<int64_t>& end, const std::vector<int64_t>* stride,
                                             const ir::Dims& data);

}  // namespace terroir::ops
