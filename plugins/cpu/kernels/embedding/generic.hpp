// What: sums of table rows of one bucket. Contract: embedding.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/embedding/embedding.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Accumulators of one pass over the entries; with a row value and a weight they fit the registers of every bucket.
constexpr int kVectors = 8;
// Entries between the one that is added and the one that is fetched, of this bag or one behind it: a row is added in a
// dozen cycles, and comes from the last cache in a hundred.
constexpr int64_t kAhead = 12;

// C vectors of columns from `column` on; the last one is partial when `last` < kLanes.
template <int C, typename Index>
TERROIR_INLINE void add_rows(const BagArgs& a, int64_t column, int64_t last) {
  const auto* rows = static_cast<const Index*>(a.rows);
  const float* table = a.table + column;
  const Tail t = tail(last);
  const bool whole = last == kLanes;
  V acc[C];
  unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = zero(); });
  for (int64_t i = 0; i < a.entries; ++i) {
    const int64_t next = i + kAhead < a.known ? i + kAhead : i;
    const float* ahead = table + rows[next] * a.length;
    const float* row = table + rows[i] * a.length;
    const V weight(a.weights == nullptr ? 1.0f : a.weights[i]);
    unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA {
      constexpr int64_t kLine = 16;
      if (j * kLanes % kLine == 0) __builtin_prefetch(ahead + j * kLanes);
      const V x = j + 1 < C || whole ? loadu(row + j * kLanes) : load_tail(row + j * kLanes, t);
      acc[j] = fma(x, weight, acc[j]);
    });
  }
  const V count(static_cast<float>(a.entries));
  unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA {
    float* dst = a.dst + column + j * kLanes;
    const V y = a.mean ? acc[j] / count : acc[j];
    if (j + 1 < C || whole) {
      storeu(dst, y);
    } else {
      store_tail(dst, y, t);
    }
  });
}

template <typename Index>
TERROIR_INLINE void add_columns(const BagArgs& a, int64_t begin, int64_t end) {
  for (; begin + kVectors * kLanes <= end; begin += kVectors * kLanes) add_rows<kVectors, Index>(a, begin, kLanes);
  for (; begin + 4 * kLanes <= end; begin += 4 * kLanes) add_rows<4, Index>(a, begin, kLanes);
  for (; begin + 2 * kLanes <= end; begin += 2 * kLanes) add_rows<2, Index>(a, begin, kLanes);
  for (; begin < end; begin += kLanes) add_rows<1, Index>(a, begin, end - begin < kLanes ? end - begin : kLanes);
}

void bag(const BagArgs& a, int64_t begin, int64_t end) {
  if (a.rows_are_i64) {
    add_columns<int64_t>(a, begin, end);
  } else {
    add_columns<int32_t>(a, begin, end);
  }
}

}  // namespace

const EmbeddingKernels& embedding_table() {
  static constexpr EmbeddingKernels kTable = {&bag};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
