#pragma once
// What: how TensorIterator and Loop cut an axis into the parts that their iterations see: parts begin `stride` apart
// between `start` and `end`; a negative stride walks from the end.
// Edge cases: negative positions count from behind, -1 being the end of the axis. An axis without elements has no parts.
//             Exception (invalid_argument) for another empty or impossible range.
#include <cstdint>

namespace terroir::ops {

struct AxisParts {
  int64_t first = 0, last = 0;  // the range that is cut
  int64_t step = 1;             // positive
  int64_t count = 0;
  bool backwards = false;

  /// Where part `i` of `size` elements begins.
  int64_t begin(int64_t i, int64_t size) const { return backwards ? last - i * step - size : first + i * step; }
};

/// `Slice`: a port of BodyPortMap. `extent`: of the axis.
AxisParts axis_parts(int64_t start, int64_t end, int64_t stride, int64_t extent);

template <class Slice>
AxisParts axis_parts(const Slice& slice, int64_t extent) {
  return axis_parts(slice.start, slice.end, slice.stride, extent);
}

}  // namespace terroir::ops
