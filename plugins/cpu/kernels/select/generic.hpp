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

constexpr int kBests = 4;  // vectors

void bests_of(const float* x, int64_t n, bool largest, float* values) {
  const V worst(largest ? -__builtin_inff() : __builtin_inff());
  V best[kBests];
  unroll<kBests>([&](auto j) TERROIR_INLINE_LAMBDA { best[j] = worst; });
  const auto each_block = [&](auto better) TERROIR_INLINE_LAMBDA {
    for (int64_t i = 0; i + kBests * kLanes <= n; i += kBests * kLanes)
      unroll<kBests>([&](auto j) TERROIR_INLINE_LAMBDA { best[j] = better(loadu(x + i + j * kLanes), best[j]); });
  };
  if (largest) {
    each_block([](V a, V b) TERROIR_INLINE_LAMBDA { return max(a, b); });
  } else {
    each_block([](V a, V b) TERROIR_INLINE_LAMBDA { return min(a, b); });
  }
  unroll<kBests>([&](auto j) TERROIR_INLINE_LAMBDA { storeu(values + j * kLanes, best[j]); });
}

int64_t first_largest(const float* x, int64_t n) {
  constexpr int kVectors = 4;
  if (x[0] != x[0]) return 0;
  if (n < kLanes) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i) best = x[i] > x[best] ? i : best;
    return best;
  }
  V best[kVectors];
  unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { best[j] = V(x[0]); });
  int64_t i = 0;
  for (; i + kVectors * kLanes <= n; i += kVectors * kLanes)
    unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { best[j] = max(loadu(x + i + j * kLanes), best[j]); });
  for (; i + kLanes <= n; i += kLanes) best[0] = max(loadu(x + i), best[0]);
  best[1] = max(loadu(x + n - kLanes), best[1]);
  const V most(reduce_max(max(max(best[0], best[1]), max(best[2], best[3]))));
  for (i = 0; i + kLanes <= n; i += kLanes) {
    const uint32_t bits = lane_bits(loadu(x + i) == most);
    if (bits != 0) return i + __builtin_ctz(bits);
  }
  return n - kLanes + __builtin_ctz(lane_bits(loadu(x + n - kLanes) == most));
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

// Each step adds half of what is left, or nothing. Some vectors at once, since each waits for its own loads.
template <bool kRight>
void places_of(const float* sorted, int64_t length, const float* values, int64_t n, int32_t* places) {
  constexpr int kVectors = 4;
  const auto step = [&](V x, VI at, int64_t last, VI add) TERROIR_INLINE_LAMBDA {
    const V bound = gather(sorted, at + VI(static_cast<int32_t>(last)));
    const M before = kRight ? !(x < bound) : bound < x;
    return at + (as_int(select(before, as_float(add), zero())));
  };
  for (int64_t i = 0; i < n; i += kVectors * kLanes) {
    V x[kVectors];
    VI at[kVectors];
    unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA {
      const int64_t first = i + j * kLanes;
      x[j] = first + kLanes <= n ? loadu(values + first) : first < n ? load_n(values + first, n - first) : zero();
      at[j] = VI(0);
    });
    int64_t rest = length;
    for (; rest > 1; rest -= rest / 2)
      unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA {
        at[j] = step(x[j], at[j], rest / 2 - 1, VI(static_cast<int32_t>(rest / 2)));
      });
    int32_t found[kVectors * kLanes];
    unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA {
      if (rest > 0) at[j] = step(x[j], at[j], 0, VI(1));
      store_int(found + j * kLanes, at[j]);
    });
    for (int64_t j = 0; j < kVectors * kLanes && i + j < n; ++j) places[i + j] = found[j];
  }
}

void places(const float* sorted, int64_t length, const float* values, int64_t n, bool right, int32_t* places) {
  return right ? places_of<true>(sorted, length, values, n, places)
               : places_of<false>(sorted, length, values, n, places);
}

}  // namespace

const SelectKernels& select_table() {
  static constexpr SelectKernels kTable = {&next<Above>,   &next<Below>,     &bests_of, kBests * kLanes,
                                           &first_largest, &best_of_columns, &places};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
