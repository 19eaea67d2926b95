// What: adaptive pooling of one bucket. Contract: pool.hpp. Include one bucket header first.
// How: an output row's cells are as high as each other, so columns are folded first, with neighbours as lanes; then the
// columns of each cell: with cells as lanes where a row of them fits a vector and draws on few vectors, else one by
// one.
#pragma once

#include <type_traits>

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

/// The cells of a row as lanes; those behind the last one have no columns.
struct CellLanes {
  VI begin;
  V first, width;  // the same as `begin`, and how many columns
  int64_t most;    // columns of a cell
};

constexpr int kMostBlocks = 4;  // vectors of columns that lanes are picked from

TERROIR_INLINE int64_t blocks_of(const AdaptiveArgs& a) { return (a.in[2] + kLanes - 1) / kLanes; }

/// Whether that takes fewer instructions than one cell after the other.
TERROIR_INLINE bool has_cells_as_lanes(const AdaptiveArgs& a) {
  return kLanes >= 8 && a.out[2] <= kLanes && blocks_of(a) <= kMostBlocks && a.out[2] > blocks_of(a);
}

TERROIR_INLINE CellLanes cells_as_lanes(const AdaptiveArgs& a) {
  int32_t begin[kLanes] = {}, width[kLanes] = {};
  CellLanes cells{};
  for (int64_t o = 0; o < a.out[2]; ++o) {
    const int64_t columns = a.cells[2][2 * o + 1] - a.cells[2][2 * o];
    begin[o] = static_cast<int32_t>(a.cells[2][2 * o]);
    width[o] = static_cast<int32_t>(columns);
    cells.most = columns > cells.most ? columns : cells.most;
  }
  cells.begin = load_int(begin);
  cells.first = to_float(cells.begin);
  cells.width = to_float(load_int(width));
  return cells;
}

/// Column number i of each cell, where it has so many: `columns` are whole vectors of 32-bit elements of any type.
template <int kBlocks>
TERROIR_INLINE V column_of_cells(const void* columns, const CellLanes& cells, int64_t i) {
  const auto* from = static_cast<const float*>(columns);
  const VI at = (cells.begin + VI(static_cast<int32_t>(i))) & VI(static_cast<int32_t>(kLanes - 1));
  const V column = cells.first + V(static_cast<float>(i));
  V picked = take(from, at);
  unroll<kBlocks - 1>([&](auto block) TERROIR_INLINE_LAMBDA {
    constexpr int64_t kFirst = (block + 1) * kLanes;
    picked = select(column >= V(static_cast<float>(kFirst)), take(from + kFirst, at), picked);
  });
  return picked;
}

TERROIR_INLINE M has_column(const CellLanes& cells, int64_t i) { return V(static_cast<float>(i)) < cells.width; }

/// The means of a row's cells from sums of its columns.
template <int kBlocks>
TERROIR_INLINE void average_cells(const AdaptiveArgs& a, const CellLanes& cells, int64_t rows, float* dst) {
  V sum = zero();
  for (int64_t i = 0; i < cells.most; ++i)
    sum = sum + select(has_column(cells, i), column_of_cells<kBlocks>(a.columns, cells, i), zero());
  // Exact up to 2^24 elements, more than whose sums in f32 mean anything.
  const V count = V(static_cast<float>(rows)) * cells.width;
  store_tail(dst, select(count > zero(), sum / count, zero()), tail(a.out[2]));
}

/// The maxima of a row's cells and their places from those of its columns; `first`: the place of the first row.
template <int kBlocks>
TERROIR_INLINE void largest_of_cells(const AdaptiveArgs& a, const CellLanes& cells, int32_t first, float* dst,
                                     int32_t* places) {
  const V none(-__builtin_inff());
  V best = none;
  for (int64_t i = 0; i < cells.most; ++i)
    best = max(select(has_column(cells, i), column_of_cells<kBlocks>(a.columns, cells, i), none), best);
  // Of equal elements the first one of the image wins: that of the upper row, then the left one.
  VI at(INT32_MAX);
  for (int64_t i = 0; i < cells.most; ++i) {
    const M among = has_column(cells, i) & (column_of_cells<kBlocks>(a.columns, cells, i) >= best);
    const VI row = as_int(column_of_cells<kBlocks>(a.column_rows, cells, i));
    const VI before = row + cells.begin + VI(static_cast<int32_t>(i)) - at;  // below 0 where it is
    const VI is_before = VI(0) - shift_right<31>(before);
    at = at + (before & is_before & as_int(select(among, as_float(VI(-1)), zero())));
  }
  const M empty = best == none;
  at = as_int(select(empty, as_float(VI(first) + cells.begin), as_float(at)));
  store_tail(dst, select(empty, none, gather(a.src, at)), tail(a.out[2]));
  int32_t found[kLanes];
  store_int(found, at);
  for (int64_t o = 0; o < a.out[2]; ++o) places[o] = found[o];
}

/// fn(number of vectors of columns).
template <typename Fn>
TERROIR_INLINE void with_blocks(int64_t blocks, Fn fn) {
  if (blocks == 1) return fn(std::integral_constant<int, 1>());
  if (blocks == 2) return fn(std::integral_constant<int, 2>());
  if (blocks == 3) return fn(std::integral_constant<int, 3>());
  fn(std::integral_constant<int, kMostBlocks>());
}

void adaptive_average(const AdaptiveArgs& a, int64_t row_begin, int64_t row_end) {
  constexpr int kVectors = 4;
  const bool as_lanes = has_cells_as_lanes(a);
  const CellLanes cells = as_lanes ? cells_as_lanes(a) : CellLanes{};
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
    if (as_lanes) {
      with_blocks(blocks_of(a),
                  [&](auto blocks) TERROIR_INLINE_LAMBDA { average_cells<blocks>(a, cells, rows.count(), dst); });
      continue;
    }
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
  const bool as_lanes = has_cells_as_lanes(a);
  const CellLanes cells = as_lanes ? cells_as_lanes(a) : CellLanes{};
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
    if (as_lanes) {
      with_blocks(blocks_of(a), [&](auto blocks) TERROIR_INLINE_LAMBDA {
        largest_of_cells<blocks>(a, cells, first, dst, dst_places);
      });
      continue;
    }
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
