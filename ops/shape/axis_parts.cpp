#include "ops/shape/axis_parts.hpp"

#include <limits>
#include <utility>

#include "ir/base/error.hpp"

namespace terroir::ops {

AxisParts axis_parts(int64_t start, int64_t end, int64_t stride, int64_t extent) {
  if (stride == 0 || stride == std::numeric_limits<int64_t>::min())
    throw_error(ErrorCode::invalid_argument, "bad stride ", stride);
  const auto from_front = [extent](int64_t position) { return position < 0 ? position + extent + 1 : position; };
  AxisParts parts;
  parts.backwards = stride < 0;
  parts.step = parts.backwards ? -stride : stride;
  parts.first = from_front(start);
  parts.last = from_front(end);
  if (parts.backwards) std::swap(parts.first, parts.last);
  if (extent == 0 && parts.first == 0 && parts.last == 0) return parts;
  if (parts.first < 0 || parts.first >= parts.last || parts.last > extent || parts.last - parts.first < parts.step)
    throw_error(ErrorCode::invalid_argument, "start=", start, " end=", end, " stride=", stride,
                " does not cut an axis of ", extent, " into parts");
  parts.count = (parts.last - parts.first) / parts.step;
  return parts;
}

}  // namespace terroir::ops
