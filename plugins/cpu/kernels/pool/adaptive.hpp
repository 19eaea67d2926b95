// What: adaptive pooling of one bucket. Contract: pool.hpp. Include one bucket header first.
// How: an output row's cells are as high as each other, so columns are folded first, with neighbours as lanes; then the
// columns of each cell, one by one.
#pragma once

#include "plugins/cpu/kernels/pool/places.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

/// The input planes and rows of the cells in one output row.
struct CellRows {
  int64_t z[2], y[2];
  int64_t count() const { return (z[1] - z[0]) * (y[1] - y[0]); }
};

TERROIR_INLINE CellRows rows_of_cells(const AdaptiveArgs& a, int64_t row) {
  const int64_t *z = a.cells[0] + 2 * (row / a.out[1]), *y = a.cells[1] + 2 * (row % a.out[1]);
  return {{z[0], z[1]}, {y[0], y[1]}};
}

/// fn(pointer to the row, its position in the image) for every input row of the cells.
template <typename Fn>
TERROIR_INLINE void each_row(const AdaptiveArgs& a, const CellRows& rows, Fn fn) {
  for (int64_t z = rows.z[0]; z < rows.z[1]; ++z) {
    for (int64_t y = rows.y[0]; y < rows.y[1]; ++y) {
      const int64_t at = (z * a.in[1] + y) * a.in[2];
      fn(a.src + at, at);
    }
  }
}

/// C vectors of columns from x on, of which the last has `last` elements. Row by row, as they lie: down the rows of one
/// vector after the other, each would wait for memory that nothing fetches ahead.
template <int C>
TERROIR_INLINE void sum_rows(const AdaptiveArgs& a, const CellRows& rows, int64_t x, int64_t last) {
  const Tail t = tail(last);
  const bool whole = last == kLanes;
  V sum[C];
  unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA { sum[j] = zero(); });
  each_row(a, rows, [&](const float* p, int64_t) TERROIR_INLINE_LAMBDA {
    unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA {
      const float* from = p + x + j * kLanes;
      sum[j] = sum[j] + (j + 1 < C || whole ? loadu(from) : load_tail(from, t));
    });
  });
  unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA {
    float* to = a.columns + x + j * kLanes;
    if (j + 1 < C || whole) {
      storeu(to, sum[j]);
    } else {
      store_tail(to, sum[j], t);
    }
  });
}

void adaptive_average(const AdaptiveArgs& a, int64_t row_begin, int64_t row_end) {
  constexpr int kVectors = 4;
  const int64_t columns = a.in[2];
  for (int64_t row = row_begin; row < row_end; ++row) {
    const CellRows rows = rows_of_cells(a, row);
    int64_t x = 0;
    for (int64_t left = columns; left > (kVectors - 1) * kLanes; left = columns - x) {
      const int64_t last = left - (kVectors - 1) * kLanes;
      sum_rows<kVectors>(a, rows, x, last < kLanes ? last : kLanes);
      x += kVectors * kLanes;
    }
    for (; x < columns; x += kLanes) sum_rows<1>(a, rows, x, columns - x < kLanes ? columns - x : kLanes);
    float* dst = a.dst + row * a.out[2];
    for (int64_t o = 0; o < a.out[2]; ++o) {
      const int64_t begin = a.cells[2][2 * o], end = a.cells[2][2 * o + 1], count = rows.count() * (end - begin);
      float sum = 0.0f;
      for (int64_t i = begin; i < end; ++i) sum += a.columns[i];
      dst[o] = count > 0 ? sum / static_cast<float>(count) : 0.0f;
    }
  }
}

void adaptive_max(const AdaptiveArgs& a, int64_t row_begin, int64_t row_end) {
  const int64_t columns = a.in[2];
  const Tail t = tail(columns < kLanes ? columns : kLanes);
  for (int64_t row = row_begin; row < row_end; ++row) {
    const CellRows rows = rows_of_cells(a, row);
    // Of each column the largest element and the input row that it is in; the first row if there is none.
    const auto first = static_cast<int32_t>((rows.z[0] * a.in[1] + rows.y[0]) * columns);
    // The last vector may begin where the one before it has not ended; whole ones are written in any case.
    for (int64_t left = columns; left > 0; left -= kLanes) {
      const int64_t x = left >= kLanes || columns < kLanes ? columns - left : columns - kLanes;
      V best(-__builtin_inff());
      VI at(first);
      each_row(a, rows, [&](const float* p, int64_t place) TERROIR_INLINE_LAMBDA {
        keep_larger(columns >= kLanes ? loadu(p + x) : load_tail(p, t), VI(static_cast<int32_t>(place)), best, at);
      });
      storeu(a.columns + x, best);
      store_int(a.column_rows + x, at);
    }
    float* dst = a.dst + row * a.out[2];
    int32_t* dst_places = a.places + row * a.out[2];
    for (int64_t o = 0; o < a.out[2]; ++o) {
      const int64_t begin = a.cells[2][2 * o], end = a.cells[2][2 * o + 1];
      // The value first, then its place: neither needs a branch, which nothing would foresee.
      const float none = -__builtin_inff();
      float best = none;
      for (int64_t i = begin; i < end; ++i) best = a.columns[i] > best ? a.columns[i] : best;
      // Of equal elements the first one of the image wins: that of the upper row, then the left one.
      int32_t at = best == none ? first + static_cast<int32_t>(begin) : INT32_MAX;
      for (int64_t i = begin; i < end; ++i) {
        const int32_t place = a.column_rows[i] + static_cast<int32_t>(i);
        // Below, not unequal, of what is no NaN: that is one flag, and no jump on another one.
        const int32_t found = place | -static_cast<int32_t>(a.columns[i] < best);
        at = static_cast<uint32_t>(found) < static_cast<uint32_t>(at) ? found : at;
      }
      dst[o] = best == none ? none : a.src[at];
      dst_places[o] = at;
    }
  }
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
