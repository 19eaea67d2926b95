#pragma once
// What: the arithmetic of one sliced axis, shared by StridedSlice, Slice and SliceScatter.
// Formula: negative begin and end count from the end; then both are clamped to the axis (for a negative step begin to
// [0, extent-1] and end to [-1, extent-1]); elements are begin, begin + step ... before end.
#include <terroir/dimension.hpp>
#include <vector>

#include "ir/base/tensor_view.hpp"

namespace terroir::ops {

/// As the model gives it. Use kFront and kBack for "from the very first" and "to the very last" element.
struct SliceRange {
  int64_t begin = 0;
  int64_t end = INT64_MAX;
  int64_t step = 1;  // never 0
};
inline constexpr int64_t kFront = INT64_MIN;
inline constexpr int64_t kBack = INT64_MAX;

/// What it means for a known extent: all of first + i * step, i < count, are inside the axis.
struct ResolvedSlice {
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
};

ResolvedSlice resolve(const SliceRange& range, int64_t extent);
/// The number of elements for an extent of which only bounds are known.
Dimension sliced(const SliceRange& range, const Dimension& extent);

/// start, stop, step and axes of Slice-8 and SliceScatter-15 as one range per axis of the data. `axes` null: the first
/// ones. Exception for lists of unequal length, a step of 0, an axis out of range or given twice.
std::vector<SliceRange> slice_ranges(const std::vector<int64_t>& start, const std::vector<int64_t>& stop,
                                     const std::vector<int64_t>& step, const std::vector<int64_t>* axes, int64_t rank);

}  // namespace terroir::ops
