// What: panels and updates of inverses of one bucket. Contract: invert.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/invert/invert.hpp"
#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// xsimd 8.1 has no fused product of f64 for avx512, and none at all for the scalar bucket.
#if defined(__AVX512F__)
constexpr int64_t kLanesF64 = 8;
typedef double F64 __attribute__((vector_size(64)));
typedef int64_t I64 __attribute__((vector_size(64)));
TERROIR_INLINE F64 product_sum(F64 a, F64 b, F64 sum) { return F64(_mm512_fmadd_pd(a, b, sum)); }
constexpr int64_t kTileRows = 8, kTileVectors = 3;
#elif defined(__FMA__)
constexpr int64_t kLanesF64 = 4;
typedef double F64 __attribute__((vector_size(32)));
typedef int64_t I64 __attribute__((vector_size(32)));
TERROIR_INLINE F64 product_sum(F64 a, F64 b, F64 sum) { return F64(_mm256_fmadd_pd(a, b, sum)); }
constexpr int64_t kTileRows = 4, kTileVectors = 2;
#else
constexpr int64_t kLanesF64 = 2;
typedef double F64 __attribute__((vector_size(16)));
typedef int64_t I64 __attribute__((vector_size(16)));
TERROIR_INLINE F64 product_sum(F64 a, F64 b, F64 sum) { return sum + a * b; }
constexpr int64_t kTileRows = 4, kTileVectors = 2;
#endif

TERROIR_INLINE F64 load_f64(const double* p) {
  F64 v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
TERROIR_INLINE void store_f64(double* p, F64 v) { __builtin_memcpy(p, &v, sizeof(v)); }
/// x - 0 is x even where that is -0, so nothing is subtracted.
TERROIR_INLINE F64 all_f64(double x) { return x - F64{}; }
TERROIR_INLINE I64 lane_numbers() {
  I64 numbers;
  for (int64_t i = 0; i < kLanesF64; ++i) numbers[i] = i;
  return numbers;
}
TERROIR_INLINE double magnitude(double x) { return __builtin_fabs(x); }

TERROIR_INLINE void exchange_rows(double* a, double* b, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanesF64) {
    const F64 x = load_f64(a + i);
    store_f64(a + i, load_f64(b + i));
    store_f64(b + i, x);
  }
}

/// `kWide` columns of the panel are in use.
template <int64_t kWide>
TERROIR_INLINE bool eliminate(double* panel, int64_t n, int64_t first, int64_t width, int64_t* pivots,
                              double* determinant) {
  constexpr int64_t kVectors = kWide / kLanesF64;
  bool regular = true;
  for (int64_t j = 0; j < width; ++j) {
    const int64_t row = first + j;
    int64_t pivot = row;
    double most = magnitude(panel[row * kInvertPanel + j]);
    for (int64_t r = row + 1; r < n; ++r)
      if (const double x = magnitude(panel[r * kInvertPanel + j]); x > most) most = x, pivot = r;
    pivots[j] = pivot;
    double* own = panel + row * kInvertPanel;
    if (pivot != row) exchange_rows(own, panel + pivot * kInvertPanel, kWide);
    const double scale = own[j];
    regular = regular && magnitude(scale) > 0 && magnitude(scale) <= __DBL_MAX__;
    *determinant *= pivot == row ? scale : -scale;
    // Column j is that of the unit matrix which it eliminates: put in by selection, since a vector that is loaded right
    // after one of its elements was stored waits for the store.
    const auto with = [&](F64 x, double value, int64_t v)
                          TERROIR_INLINE_LAMBDA { return lane_numbers() + v * kLanesF64 == j ? all_f64(value) : x; };
    const double reciprocal = 1 / scale;
    F64 scaled[kVectors];
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) {
      scaled[v] = with(load_f64(own + v * kLanesF64), 1, v) * reciprocal;
      store_f64(own + v * kLanesF64, scaled[v]);
    }
    const auto clear = [&](int64_t begin, int64_t end) TERROIR_INLINE_LAMBDA {
      for (int64_t r = begin; r < end; ++r) {
        double* to = panel + r * kInvertPanel;
        const F64 factor = all_f64(-to[j]);
#pragma GCC unroll 8
        for (int64_t v = 0; v < kVectors; ++v)
          store_f64(to + v * kLanesF64, product_sum(factor, scaled[v], with(load_f64(to + v * kLanesF64), 0, v)));
      }
    };
    clear(0, row);
    clear(row + 1, n);
  }
  return regular;
}

/// A tile of A: + `rows` of the panel by what was put aside.
template <int64_t kRows, int64_t kVectors>
TERROIR_INLINE void add_products(double* a, int64_t ld, const double* rows, const double* aside, int64_t width) {
  F64 sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int64_t r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = load_f64(a + r * ld + v * kLanesF64);
  for (int64_t j = 0; j < width; ++j) {
    F64 x[kVectors];
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) x[v] = load_f64(aside + j * kInvertColumns + v * kLanesF64);
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r) {
      const F64 factor = all_f64(rows[r * kInvertPanel + j]);
#pragma GCC unroll 8
      for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = product_sum(factor, x[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int64_t r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) store_f64(a + r * ld + v * kLanesF64, sum[r][v]);
}

template <int64_t kVectors>
TERROIR_INLINE void add_to_rows(double* a, int64_t ld, int64_t n, const double* panel, const double* aside,
                                int64_t width) {
  int64_t r = 0;
  for (; r + kTileRows <= n; r += kTileRows)
    add_products<kTileRows, kVectors>(a + r * ld, ld, panel + r * kInvertPanel, aside, width);
  for (; r < n; ++r) add_products<1, kVectors>(a + r * ld, ld, panel + r * kInvertPanel, aside, width);
}

bool invert_panel(double* panel, int64_t n, int64_t first, int64_t width, int64_t* pivots, double* determinant) {
  return width <= 8 ? eliminate<8>(panel, n, first, width, pivots, determinant)
                    : eliminate<kInvertPanel>(panel, n, first, width, pivots, determinant);
}

void update_columns(double* a, int64_t ld, int64_t n, const double* panel, int64_t first, int64_t width,
                    const int64_t* pivots, int64_t begin, int64_t end, double* aside) {
  const int64_t count = end - begin;
  double* at = a + begin;
  for (int64_t j = 0; j < width; ++j)
    if (pivots[j] != first + j) exchange_rows(at + (first + j) * ld, at + pivots[j] * ld, count);
  for (int64_t j = 0; j < width; ++j) {
    double* row = at + (first + j) * ld;
    for (int64_t i = 0; i < count; i += kLanesF64) {
      store_f64(aside + j * kInvertColumns + i, load_f64(row + i));
      store_f64(row + i, F64{});
    }
  }
  int64_t i = 0;
  for (; i + kTileVectors * kLanesF64 <= count; i += kTileVectors * kLanesF64)
    add_to_rows<kTileVectors>(at + i, ld, n, panel, aside + i, width);
  for (; i < count; i += kLanesF64) add_to_rows<1>(at + i, ld, n, panel, aside + i, width);
}

/// Column or row elements of two places, where the lanes of `mask` are set.
TERROIR_INLINE void exchange_lanes(double* a, double* b, I64 mask) {
  const F64 x = load_f64(a), y = load_f64(b);
  store_f64(a, mask ? y : x);
  store_f64(b, mask ? x : y);
}

/// As many matrices as a vector has lanes; those of one element are kInvertTogether apart from the next element's.
TERROIR_INLINE int32_t invert_lanes(double* a, int64_t n, double* determinants) {
  const auto at = [=](int64_t r, int64_t c) TERROIR_INLINE_LAMBDA { return a + (r * n + c) * kInvertTogether; };
  const auto size_of = [](F64 x) TERROIR_INLINE_LAMBDA { return x < F64{} ? -x : x; };
  I64 pivots[kInvertPanel], regular = F64{} == F64{};
  F64 determinant = all_f64(1);
  for (int64_t j = 0; j < n; ++j) {
    F64 most = size_of(load_f64(at(j, j)));
    I64 pivot = I64{} + j;
    for (int64_t r = j + 1; r < n; ++r) {
      const F64 x = size_of(load_f64(at(r, j)));
      pivot = x > most ? I64{} + r : pivot;
      most = x > most ? x : most;
    }
    pivots[j] = pivot;
    for (int64_t r = j + 1; r < n; ++r)
      for (int64_t c = 0; c < n; ++c) exchange_lanes(at(j, c), at(r, c), pivot == I64{} + r);
    const F64 scale = load_f64(at(j, j)), reciprocal = all_f64(1) / scale;
    regular &= (size_of(scale) > F64{}) & (size_of(scale) <= all_f64(__DBL_MAX__));
    determinant *= pivot == I64{} + j ? scale : -scale;
    for (int64_t c = 0; c < n; ++c) store_f64(at(j, c), (c == j ? all_f64(1) : load_f64(at(j, c))) * reciprocal);
    for (int64_t r = 0; r < n; ++r) {
      if (r == j) continue;
      const F64 factor = -load_f64(at(r, j));
      for (int64_t c = 0; c < n; ++c)
        store_f64(at(r, c), product_sum(factor, load_f64(at(j, c)), c == j ? F64{} : load_f64(at(r, c))));
    }
  }
  for (int64_t j = n; j-- > 0;)
    for (int64_t c = j + 1; c < n; ++c)
      for (int64_t r = 0; r < n; ++r) exchange_lanes(at(r, j), at(r, c), pivots[j] == I64{} + c);
  store_f64(determinants, determinant);
  int32_t singular = 0;
  for (int64_t lane = 0; lane < kLanesF64; ++lane) singular |= static_cast<int32_t>(regular[lane] == 0) << lane;
  return singular;
}

/// `n` is a constant where this is inlined with one: loops without ends to look for.
TERROIR_INLINE int32_t invert_all(double* a, int64_t n, double* determinants) {
  int32_t singular = 0;
  for (int64_t first = 0; first < kInvertTogether; first += kLanesF64)
    singular |= invert_lanes(a + first, n, determinants + first) << first;
  return singular;
}

int32_t invert_together(double* a, int64_t n, double* determinants) {
  // Those that move and turn points in space. Elsewhere the size counts.
  if (kLanesF64 > 2 && n == 4) return invert_all(a, 4, determinants);
  return invert_all(a, n, determinants);
}

}  // namespace

InvertKernels invert_kernels() { return {&invert_panel, &update_columns, &invert_together}; }

}  // namespace terroir::cpu::TERROIR_ISA
