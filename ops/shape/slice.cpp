#include "ops/shape/slice.hpp"

#include <algorithm>

#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

uint64_t magnitude(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

int64_t divide_up(int64_t length, uint64_t step) {
  return length <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(length) - 1) / step + 1);
}

}  // namespace

ResolvedSlice resolve(const SliceRange& range, int64_t extent) {
  if (extent == 0) return {};
  // Adding an extent to a negative number cannot overflow.
  const int64_t begin = range.begin < 0 ? range.begin + extent : range.begin;
  const int64_t end = range.end < 0 ? range.end + extent : range.end;
  ResolvedSlice result;
  if (range.step > 0) {
    result.first = std::clamp<int64_t>(begin, 0, extent);
    result.count = divide_up(std::clamp<int64_t>(end, 0, extent) - result.first, magnitude(range.step));
  } else {
    result.first = std::clamp<int64_t>(begin, 0, extent - 1);
    result.count = divide_up(result.first - std::clamp<int64_t>(end, -1, extent - 1), magnitude(range.step));
  }
  // A step that is never taken may be too large for index arithmetic.
  result.step = result.count > 1 ? range.step : 1;
  return result;
}

Dimension sliced(const SliceRange& range, const Dimension& extent) {
  if (extent.is_static()) return resolve(range, extent.get_length()).count;
  constexpr int64_t kHuge = int64_t{1} << 62;
  // A bound so far in front of the axis is the front for every extent: it counts as one from the front.
  const bool begin_from_end = range.begin < 0 && range.begin > -kHuge;
  const bool end_from_end = range.end < 0 && range.end > -kHuge;
  const uint64_t step = magnitude(range.step);
  const int64_t low = extent.get_min_length();
  const bool bounded = extent.has_upper_bound();
  const int64_t high = bounded ? extent.get_max_length() : kHuge;
  const bool to_back = range.end >= high;  // which is the last element for every extent
  const bool grows = range.step > 0 ? !begin_from_end || end_from_end || to_back : !end_from_end;
  if (grows) {
    const int64_t most = resolve(range, high).count;
    // Unbounded unless the range stops growing.
    if (!bounded && resolve(range, kHuge / 2).count != most) return {resolve(range, low).count, -1};
    return {resolve(range, low).count, most};
  }
  // The length rises and falls with the extent: only an upper bound is given.
  int64_t most = high;
  if (range.step > 0) {
    most = std::min({high, std::max<int64_t>(range.end, 0), -range.begin});
  } else if (!begin_from_end) {
    most = std::min(high, std::min(std::max<int64_t>(range.begin, 0), kHuge) + 1);
  } else {
    most = std::min(high, std::max(-range.begin, -range.end));
  }
  if (most == kHuge) return Dimension::dynamic();
  return {0, divide_up(most, step)};
}

std::vector<SliceRange> slice_ranges(const std::vector<int64_t>& start, const std::vector<int64_t>& stop,
                                     const std::vector<int64_t>& step, const std::vector<int64_t>* axes, int64_t rank) {
  const size_t count = start.size();
  if (stop.size() != count || step.size() != count || (axes && axes->size() != count))
    throw_error(ErrorCode::invalid_argument, "start, stop, step and axes must have one length, got ", count, ", ",
                stop.size(), ", ", step.size(), axes ? concat(" and ", axes->size()) : "");
  if (static_cast<int64_t>(count) > rank)
    throw_error(ErrorCode::invalid_argument, "start has ", count, " elements, but the data has only rank ", rank);
  std::vector<int64_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = axes ? (*axes)[i] : static_cast<int64_t>(i);
  order = normalize_axes(std::move(order), rank);
  require_unique(order);
  std::vector<SliceRange> ranges(static_cast<size_t>(rank));
  for (size_t i = 0; i < count; ++i) {
    if (step[i] == 0) throw_error(ErrorCode::invalid_argument, "step[", i, "] must not be 0");
    ranges[static_cast<size_t>(order[i])] = {start[i], stop[i], step[i]};
  }
  return ranges;
}

}  // namespace terroir::ops
