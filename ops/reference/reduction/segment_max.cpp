#include "ops/reference/reduction/segment_max.hpp"

#include <algorithm>
#include <limits>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/numeric.hpp"
#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {
namespace {

/// A column of its own would wait for each element to be stored and loaded again.
template <class T>
T maximum_of(const T* x, int64_t n) {
  using C = compute_t<T>;
  auto most = static_cast<C>(x[0]);
  for (int64_t i = 1; i < n; ++i) most = maximum(most, static_cast<C>(x[i]));
  return static_cast<T>(most);
}

template <class T>
void raise_to(T* to, const T* from, int64_t n) {
  using C = compute_t<T>;
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(maximum(static_cast<C>(to[i]), static_cast<C>(from[i])));
}

#pragma GCC push_options
#pragma GCC optimize("O3")
/// In vectors. A selection, not a call of maximum(), whose branches take none: where `to` is NaN nothing is above it.
template <>
void raise_to(float* __restrict to, const float* __restrict from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = (from[i] > to[i]) | (from[i] != from[i]) ? from[i] : to[i];
}
#pragma GCC pop_options

}  // namespace

void segment_max(const ir::TensorView& data, const std::vector<int64_t>& ids, bool lowest,
                 const ir::MutableTensorView& result) {
  const int64_t segments = result.dims.at(0);
  if (result.count() == 0) return;
  const int64_t row = result.count() / segments;
  // Columns that stay in the first cache while rows go by; of few columns, segments are shared out instead.
  constexpr int64_t kColumns = 4096, kTaskElements = 32768, kMostTasks = 64;
  const int64_t stripes = (row + kColumns - 1) / kColumns;
  const int64_t groups =
      std::clamp<int64_t>((data.count() + result.count()) / stripes / kTaskElements, 1, std::min(segments, kMostTasks));
  dispatch_type<TERROIR_NUMBERS>(data.type, "SegmentMax", [&](auto tag) {
    using T = decltype(tag);
    const T fill = lowest ? std::numeric_limits<T>::lowest() : T(0);
    parallel_for(groups * stripes, [&](int64_t task) {
      const int64_t group = task / stripes, begin = task % stripes * kColumns, n = std::min(kColumns, row - begin);
      const int64_t first = segments * group / groups, last = segments * (group + 1) / groups;
      for_each_segment(std::span(ids), first, last, [&](int64_t segment, int64_t first_row, int64_t rows) {
        T* to = result.as<T>() + segment * row + begin;
        const T* from = data.as<T>() + first_row * row + begin;
        if (rows == 0) {
          std::fill_n(to, n, fill);
        } else if (row == 1) {
          *to = maximum_of(from, rows);
        } else {
          std::copy_n(from, n, to);
          for (int64_t r = 1; r < rows; ++r) raise_to(to, from + r * row, n);
        }
      });
    });
  });
}

}  // namespace terroir::ops::reference
