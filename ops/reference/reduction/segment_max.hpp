#pragma once
// What: the maximum of each run of rows that have the same segment number. Threads: segments and columns.
// Edge cases: NaN wins; segments without rows are filled.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ir/base/error.hpp"
#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

/// Exception unless the ids ascend within 0..segments-1 (any upper end when negative). Returns last id + 1.
template <class Index>
int64_t check_segment_ids(std::span<const Index> ids, int64_t segments) {
  int64_t before = 0;
  for (const Index given : ids) {
    const auto id = static_cast<int64_t>(given);
    if (id < before)
      throw_error(ErrorCode::invalid_argument, "segment_ids must ascend from 0 on, got ", id, " after ", before);
    if (segments >= 0 && id >= segments)
      throw_error(ErrorCode::invalid_argument, "segment_ids must be below num_segments ", segments, ", got ", id);
    before = id;
  }
  if (before == std::numeric_limits<int64_t>::max())
    throw_error(ErrorCode::out_of_memory, "the number of segments does not fit 64 bits");
  return ids.empty() ? 0 : before + 1;
}

/// Calls rows_of(segment, first row, number of rows) for the segments [first, last), those without rows included.
template <class Index, class Fn>
void for_each_segment(std::span<const Index> ids, int64_t first, int64_t last, const Fn& rows_of) {
  auto at = std::lower_bound(ids.begin(), ids.end(), first,
                             [](Index id, int64_t segment) { return static_cast<int64_t>(id) < segment; });
  for (int64_t segment = first; segment < last; ++segment) {
    const auto end = std::find_if(at, ids.end(), [=](Index id) { return static_cast<int64_t>(id) != segment; });
    rows_of(segment, at - ids.begin(), end - at);
    at = end;
  }
}

/// `ids`: the segment of each row of `data`, ascending, each below the extent of `result`'s first axis.
/// `lowest`: what fills segments without rows is the lowest finite value of the type; else 0.
void segment_max(const ir::TensorView& data, const std::vector<int64_t>& ids, bool lowest,
                 const ir::MutableTensorView& result);

}  // namespace terroir::ops::reference
