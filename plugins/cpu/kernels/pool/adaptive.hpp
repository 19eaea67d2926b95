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

void adaptive_average(const AdaptiveArgs& a, int64_t row_begin, int64_t row_end) {
  const int64_t columns = a.in[2];
  for (int64_t row = row_begin; row < row_end; ++row) {
    const CellRows rows = rows_of_cells(a, row);
    const auto fold = [&](auto fetch) TERROIR_INLINE_LAMBDA {
      V sum = zero();
      each_row(a, rows, [&](const float* p, int64_t) TERROIR_INLINE_LAMBDA { sum = sum + fetch(p); });
      return sum;
    };
    int64_t x = 0;
    for (; x + kLanes <= columns; x += kLanes)
      storeu(a.columns + x, fold([x](const float* p) TERROIR_INLINE_LAMBDA { return loadu(p + x); }));
    if (x < columns) {
      const Tail t = tail(columns - x);
      store_tail(a.columns + x, fold([x, t](const float* p) TERROIR_INLINE_LAMBDA { return load_tail(p + x, t); }), t);
    }
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
  for (int64_t row = row_begin; row < row_end; ++row) {
    const CellRows rows = rows_of_cells(a, row);
    // Of each column the largest element and the input row that it is in; the first row if there is none.
    const auto first = static_cast<int32_t>((rows.z[0] * a.in[1] + rows.y[0]) * columns);
    for (int64_t x = 0; x < columns; x += kLanes) {
      const int64_t n = columns - x < kLanes ? columns - x : kLanes;
      V best(-__builtin_inff());
      VI at(first);
      each_row(a, rows, [&](const float* p, int64_t place) TERROIR_INLINE_LAMBDA {
        keep_larger(n == kLanes ? loadu(p + x) : load_n(p + x, n), VI(static_cast<int32_t>(place)), best, at);
      });
      if (n == kLanes) {
        storeu(a.columns + x, best);
        store_int(a.column_rows + x, at);
        continue;
      }
      float values[kLanes];
      int32_t places[kLanes];
      storeu(values, best);
      store_int(places, at);
      for (int64_t i = 0; i < n; ++i) {
        a.columns[x + i] = values[i];
        a.column_rows[x + i] = places[i];
      }
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
        const int32_t found = a.columns[i] == best ? place : INT32_MAX;
        at = found < at ? found : at;
      }
      dst[o] = best == none ? none : a.src[at];
      dst_places[o] = at;
    }
  }
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
