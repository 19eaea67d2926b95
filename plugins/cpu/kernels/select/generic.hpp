// What: selection kernels of one bucket. Contract: select.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/select/select.hpp"
#include "plugins/cpu/simd/bits.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Written so that a NaN of the element, or of the bound, passes.
struct Above {
  TERROIR_INLINE_MEMBER static M passes(V x, V bound) { return !(x <= bound); }
  TERROIR_INLINE_MEMBER static bool passes(float x, float bound) { return !(x <= bound); }
};
struct Below {
  TERROIR_INLINE_MEMBER static M passes(V x, V bound) { return !(x >= bound); }
  TERROIR_INLINE_MEMBER static bool passes(float x, float bound) { return !(x >= bound); }
};

template <typename Test>
int64_t next(const float* x, int64_t begin, int64_t end, float bound) {
  constexpr int kVectors = 4;
  const V limit(bound);
  int64_t i = begin;
  for (; i + kVectors * kLanes <= end; i += kVectors * kLanes) {
    M m[kVectors];
    unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { m[j] = Test::passes(loadu(x + i + j * kLanes), limit); });
    if (any((m[0] | m[1]) | (m[2] | m[3]))) break;
  }
  for (; i + kLanes <= end; i += kLanes) {
    const uint32_t bits = lane_bits(Test::passes(loadu(x + i), limit));
    if (bits != 0) return i + __builtin_ctz(bits);
  }
  while (i < end && !Test::passes(x[i], bound)) ++i;
  return i;
}

// So many columns that the compiler keeps the best of them in the L1 cache and in whole vectors.
constexpr int64_t kColumns = 64;

template <typename Better>
TERROIR_INLINE void best_of(const float* src, int64_t extent, int64_t stride, int64_t columns, float* values,
                            int32_t* indices, Better better) {
  for (int64_t first = 0; first < columns; first += kColumns) {
    const int64_t n = columns - first < kColumns ? columns - first : kColumns;
    float best[kColumns];
    int32_t at[kColumns];
    for (int64_t c = 0; c < n; ++c) best[c] = src[first + c];
    for (int64_t c = 0; c < n; ++c) at[c] = 0;
    for (int64_t i = 1; i < extent; ++i) {
      const float* row = src + i * stride + first;
      const auto index = static_cast<int32_t>(i);
      for (int64_t c = 0; c < n; ++c) {
        const bool take = better(row[c], best[c]);
        best[c] = take ? row[c] : best[c];
        at[c] = take ? index : at[c];
      }
    }
    for (int64_t c = 0; c < n; ++c) values[first + c] = best[c];
    for (int64_t c = 0; c < n; ++c) indices[first + c] = at[c];
  }
}

void best_of_columns(const float* src, int64_t extent, int64_t stride, int64_t columns, bool largest, float* values,
                     int32_t* indices) {
  if (largest) {
    best_of(src, extent, stride, columns, values, indices,
            [](float x, float best) TERROIR_INLINE_LAMBDA { return !(x <= best) & (best == best); });
  } else {
    best_of(src, extent, stride, columns, values, indices,
            [](float x, float best) TERROIR_INLINE_LAMBDA { return (x < best) | ((x == x) & (best != best)); });
  }
}

}  // namespace

const SelectKernels& select_table() {
  static constexpr SelectKernels kTable = {&next<Above>, &next<Below>, &best_of_columns};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
