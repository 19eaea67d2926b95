#pragma once
// What: the inner loops of the Scatter family: pieces of updates written to, or combined with, what is at their places.
// Formula: dst[places[p] + k] = combine(dst[places[p] + k], updates[p * update_step + k]), p in order, k < length; in
//   elements. A place of kNowhere is left out.
// Edge cases: arithmetic as in the reference, rounding to the element type after each update; integers wrap around.
// Threads: calls that write to different elements are independent; updates of one element are applied in their order.
#include <cstdint>
#include <terroir/element_type.hpp>

#include "ops/reference/movement/scatter.hpp"

namespace terroir::cpu {

inline constexpr int64_t kNowhere = -1;

struct ScatterArgs {
  void* dst;
  const int64_t* places;
  int64_t count;
  const void* updates;
  int64_t update_step;
  int64_t length;
};

using ScatterFn = void (*)(const ScatterArgs& args);

/// Null where the type has no such reduction. `mean`: see ScatterMean.
ScatterFn scatter_kernel(element::Type type, ops::reference::ScatterReduction reduction);
/// Sets all places to what the reduction begins with when the data do not count.
ScatterFn scatter_start_kernel(element::Type type, ops::reference::ScatterReduction reduction);

/// dst[position of indices[i] * stride + i * step] = combine(what is there, updates[i * update_step]) for i < count, in
/// order; in elements. Indices of an axis of `extent` elements count from its end when negative; returns at the first
/// one out of range, its i, else count.
struct ScatterRow {
  void* dst;
  const void* updates;
  const void* indices;
  int64_t count, extent, stride, step, update_step;
};
using ScatterRowFn = int64_t (*)(const ScatterRow& row);

/// Without a reduction, elements of up to 8 bytes; with one, f32 alone. Null: no such kernel.
ScatterRowFn scatter_row_kernel(element::Type type, element::Type index_type,
                                ops::reference::ScatterReduction reduction);

/// The mean in two passes: sums and counts per element of dst, zero at first, then finish over a range of elements.
struct ScatterMean {
  static constexpr int64_t kSumBytes = 8;
  /// `use_init_val`: what dst has is one of the numbers.
  void (*add)(const ScatterArgs& args, void* sums, int32_t* counts, bool use_init_val);
  void (*finish)(void* dst, const void* sums, const int32_t* counts, int64_t count);
};
/// Null functions where the type has no mean.
ScatterMean scatter_mean_kernel(element::Type type);

}  // namespace terroir::cpu
