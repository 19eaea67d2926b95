// What: normalisation by sums of squares of one bucket. Contract: norm.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/norm/norm.hpp"
#include "plugins/cpu/simd/math.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr int kChains = 4;

TERROIR_INLINE V l2_factor(const NormArgs& a, V squares) {
  return V(1.0f) / sqrt(a.eps_is_least ? max_nan(squares, V(a.eps)) : squares + V(a.eps));
}

void l2_rows(const NormArgs& a, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* src = a.src + r * n;
    float* dst = a.dst + r * n;
    V acc[kChains];
    unroll<kChains>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = zero(); });
    int64_t i = 0;
    for (; i + kChains * kLanes <= n; i += kChains * kLanes) {
      unroll<kChains>([&](auto j) TERROIR_INLINE_LAMBDA {
        const V x = loadu(src + i + j * kLanes);
        acc[j] = fma(x, x, acc[j]);
      });
    }
    for (; i < n; i += kLanes) {
      const V x = i + kLanes <= n ? loadu(src + i) : load_n(src + i, n - i);
      acc[0] = fma(x, x, acc[0]);
    }
    const V factor = l2_factor(a, V(reduce_add((acc[0] + acc[1]) + (acc[2] + acc[3]))));
    for (i = 0; i + kLanes <= n; i += kLanes) storeu(dst + i, loadu(src + i) * factor);
    if (i < n) store_n(dst + i, load_n(src + i, n - i) * factor, n - i);
  }
}

// C vectors of neighbouring positions; the last one may be partial.
template <int C>
TERROIR_INLINE void l2_columns(const NormArgs& a, int64_t axis, int64_t stride, int64_t begin, Tail t, bool whole) {
  const float* src = a.src + begin;
  float* dst = a.dst + begin;
  const auto fetch = [&](const float* p) TERROIR_INLINE_LAMBDA { return whole ? loadu(p) : load_tail(p, t); };
  V factor[C];
  unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA { factor[j] = zero(); });
  for (int64_t i = 0; i < axis; ++i) {
    unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA {
      const V x = fetch(src + i * stride + j * kLanes);
      factor[j] = fma(x, x, factor[j]);
    });
  }
  unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA { factor[j] = l2_factor(a, factor[j]); });
  for (int64_t i = 0; i < axis; ++i) {
    unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA {
      const int64_t at = i * stride + j * kLanes;
      const V y = fetch(src + at) * factor[j];
      if (whole) {
        storeu(dst + at, y);
      } else {
        store_tail(dst + at, y, t);
      }
    });
  }
}

void l2_middle(const NormArgs& a, int64_t axis, int64_t stride, int64_t begin, int64_t end) {
  constexpr int kColumns = 4;
  for (; begin + kColumns * kLanes <= end; begin += kColumns * kLanes)
    l2_columns<kColumns>(a, axis, stride, begin, Tail{}, true);
  for (; begin + kLanes <= end; begin += kLanes) l2_columns<1>(a, axis, stride, begin, Tail{}, true);
  if (begin < end) l2_columns<1>(a, axis, stride, begin, tail(end - begin), false);
}

void l2_blocks(const NormArgs& a, int64_t positions, int64_t blocks, int64_t stride, int64_t block) {
  for (int64_t at = 0; at < positions * block; at += block) {
    V acc = zero();
    for (int64_t b = 0; b < blocks; ++b) {
      for (int64_t lane = 0; lane < block; lane += kLanes) {
        const V x = loadu(a.src + b * stride + at + lane);
        acc = fma(x, x, acc);
      }
    }
    const V factor = l2_factor(a, V(reduce_add(acc)));
    for (int64_t b = 0; b < blocks; ++b) {
      for (int64_t lane = 0; lane < block; lane += kLanes) {
        const int64_t i = b * stride + at + lane;
        storeu(a.dst + i, loadu(a.src + i) * factor);
      }
    }
  }
}

// x^(-3/4) for normal x > 0, within 4 ulp; 0 for infinity. The exponent of x^(-1/4) is found by a shift, as in the
// well-known estimate of 1 / sqrt(x): it is within 3.2 percent, the next step leaves 2.3e-4 and the last 1e-10.
TERROIR_INLINE V power_of_minus_three_quarters(V x) {
  V y = as_float(VI(0x4f583800) - shift_right<2>(as_int(x)));
  V square = y * y;
  V error = fnma(x, square * square, V(1.0f));  // x^(-1/4) = y (1 - error)^(-1/4)
  y = fma(y, error * fma(error, V(5.0f / 32), V(0.25f)), y);
  square = y * y;
  error = fnma(x, square * square, V(1.0f));
  const V cube = square * y;
  const V power = fma(cube, error * fma(error, V(21.0f / 32), V(0.75f)), cube);
  return select(x == V(__builtin_inff()), zero(), power);
}

// C vectors of neighbouring positions in row i; the last one may be partial.
template <int C>
TERROIR_INLINE void lrn_part(const LrnArgs& a, int64_t axis, int64_t stride, int64_t i, int64_t begin, Tail t,
                             bool whole) {
  const float* src = a.src + begin;
  const auto fetch = [&](int64_t at) TERROIR_INLINE_LAMBDA { return whole ? loadu(src + at) : load_tail(src + at, t); };
  const int64_t first = i - a.reach > 0 ? i - a.reach : 0, last = i + a.reach < axis ? i + a.reach + 1 : axis;
  V sum[C];
  unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA { sum[j] = zero(); });
  for (int64_t k = first; k < last; ++k) {
    unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA {
      const V x = fetch(k * stride + j * kLanes);
      sum[j] = fma(x, x, sum[j]);
    });
  }
  unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA { sum[j] = fma(sum[j], V(a.scale), V(a.bias)); });
  // The power of all networks that are known for this operation; its base is positive. Of others the logarithm says
  // NaN.
  if (a.beta == 0.75f && a.bias >= 1e-30f && a.scale >= 0) {
    unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA { sum[j] = power_of_minus_three_quarters(sum[j]); });
  } else {
    unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA { sum[j] = exp(log(sum[j]) * V(-a.beta)); });
  }
  unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA {
    const V y = fetch(i * stride + j * kLanes) * sum[j];
    float* dst = a.dst + i * stride + begin + j * kLanes;
    if (whole) {
      storeu(dst, y);
    } else {
      store_tail(dst, y, t);
    }
  });
}

// Row by row, as far as the rows that a sum takes stay in the L1 cache together: of a row neighbours are fetched ahead,
// the next row is far away.
void lrn(const LrnArgs& a, int64_t axis, int64_t stride, int64_t begin, int64_t end) {
  constexpr int kVectors = 4;
  constexpr int64_t kStrip = 1024;
  for (int64_t strip = begin; strip < end; strip += kStrip) {
    const int64_t strip_end = strip + kStrip < end ? strip + kStrip : end;
    for (int64_t i = 0; i < axis; ++i) {
      int64_t at = strip;
      for (; at + kVectors * kLanes <= strip_end; at += kVectors * kLanes)
        lrn_part<kVectors>(a, axis, stride, i, at, Tail{}, true);
      for (; at + kLanes <= strip_end; at += kLanes) lrn_part<1>(a, axis, stride, i, at, Tail{}, true);
      if (at < strip_end) lrn_part<1>(a, axis, stride, i, at, tail(strip_end - at), false);
    }
  }
}

}  // namespace

const NormKernels& norm_table() {
  static constexpr NormKernels kTable = {&l2_rows, &l2_middle, &l2_blocks, &lrn};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
