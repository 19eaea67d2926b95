// What: resizing rows of one bucket. Contract: interpolate.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/interpolate/interpolate.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

void nearest_row(const float* src, float* dst, const int32_t* index, int64_t n, int64_t width) {
  constexpr int64_t kQuad = 4;
  if (width == kQuad) {  // 16 bytes, which are moved faster than parts of vectors
    for (int64_t i = 0; i < n; ++i) __builtin_memcpy(dst + i * kQuad, src + index[i] * kQuad, kQuad * sizeof(float));
    return;
  }
  const int64_t body = width / kLanes * kLanes;
  const Tail t = tail(width - body);
  for (int64_t i = 0; i < n; ++i) {
    const float* in = src + index[i] * width;
    float* out = dst + i * width;
    for (int64_t c = 0; c < body; c += kLanes) storeu(out + c, loadu(in + c));
    if (body < width) store_tail(out + body, load_tail(in + body, t), t);
  }
}

void linear_row(const float* upper, const float* lower, float wy, float* dst, const int32_t* left, const int32_t* right,
                const float* wx, int64_t n, int64_t width) {
  const int64_t body = width / kLanes * kLanes;
  const Tail t = tail(width - body);
  const V down(wy), up(1.0f - wy);
  const bool one_row = wy == 0;
  for (int64_t i = 0; i < n; ++i) {
    const V r(wx[i]), l(1.0f - wx[i]);
    const int64_t a = left[i] * width, b = right[i] * width;
    const bool one_column = wx[i] == 0;
    const auto blend = [&](int64_t c, auto fetch) TERROIR_INLINE_LAMBDA {
      const auto rows = [&](int64_t at) TERROIR_INLINE_LAMBDA {
        return one_row ? fetch(upper + at) : fetch(upper + at) * up + fetch(lower + at) * down;
      };
      return one_column ? rows(a + c) : rows(a + c) * l + rows(b + c) * r;
    };
    float* out = dst + i * width;
    for (int64_t c = 0; c < body; c += kLanes) {
      storeu(out + c, blend(c, [](const float* p) TERROIR_INLINE_LAMBDA { return loadu(p); }));
    }
    if (body < width) {
      store_tail(out + body, blend(body, [t](const float* p) TERROIR_INLINE_LAMBDA { return load_tail(p, t); }), t);
    }
  }
}

/// kTaps: how many, where that is known; 0: `taps`.
template <int kTaps>
TERROIR_INLINE void blend_lines(const float* src, int64_t stride, const int32_t* index, const float* weight,
                                int64_t taps, float* dst, int64_t n) {
  const auto blend = [&](int64_t i, auto fetch) TERROIR_INLINE_LAMBDA {
    V sum = zero();
    for (int64_t t = 0; t < (kTaps > 0 ? kTaps : taps); ++t)
      sum = fma(V(weight[t]), fetch(src + index[t] * stride + i), sum);
    return sum;
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    storeu(dst + i, blend(i, [](const float* p) TERROIR_INLINE_LAMBDA { return loadu(p); }));
  if (i < n) {
    const Tail rest = tail(n - i);
    store_tail(dst + i, blend(i, [rest](const float* p) TERROIR_INLINE_LAMBDA { return load_tail(p, rest); }), rest);
  }
}

void weighted_line(const float* src, int64_t stride, const int32_t* index, const float* weight, int64_t taps,
                   float* TERROIR_RESTRICT dst, int64_t n) {
  if (taps == 2) return blend_lines<2>(src, stride, index, weight, taps, dst, n);
  if (taps == 4) return blend_lines<4>(src, stride, index, weight, taps, dst, n);
  blend_lines<0>(src, stride, index, weight, taps, dst, n);
}

// Of four lanes a permutation is as many loads as any other place, so rows have nothing to share.
constexpr bool kPermutes = kLanes > 4;
constexpr int kRows = kPermutes ? kInterpolatedRows : 1;

/// use(r, x) for each of the rows: what tap t of elements i ... i + kLanes - 1 is taken from.
template <class Use>
TERROIR_INLINE void with_sources(const float* const (&src)[kRows], const RowTaps& from, int64_t t, int64_t i, Use use) {
  const VI index = load_int(from.index + t * from.stride + i);
  const int32_t near = from.near[(t * from.stride + i) / kLanes];
  if (kPermutes && near >= 0) {
    unroll<kRows>([&](auto r) TERROIR_INLINE_LAMBDA { use(r, take(src[r] + near, index)); });
  } else {
    const int64_t base = near >= 0 ? near : 0;
    unroll<kRows>([&](auto r) TERROIR_INLINE_LAMBDA { use(r, gather(src[r] + base, index)); });
  }
}

/// elements(i, x, sources): elements i ... i + kLanes - 1 of kRows rows; those beyond n are not stored. Rows beyond
/// `rows` are the last one again.
template <class Elements>
TERROIR_INLINE void fill_rows(const float* const* src, float* dst, int64_t rows, int64_t n, Elements elements) {
  for (int64_t first = 0; first < rows; first += kRows) {
    const float* from[kRows];
    float* to[kRows];
    for (int64_t r = 0; r < kRows; ++r) {
      const int64_t row = first + r < rows ? first + r : rows - 1;
      from[r] = src[row];
      to[r] = dst + row * n;
    }
    for (int64_t i = 0; i < n; i += kLanes) {
      V x[kRows];
      elements(i, x, from);
      if (i + kLanes <= n) {
        unroll<kRows>([&](auto r) TERROIR_INLINE_LAMBDA { storeu(to[r] + i, x[r]); });
      } else {
        const Tail t = tail(n - i);
        unroll<kRows>([&](auto r) TERROIR_INLINE_LAMBDA { store_tail(to[r] + i, x[r], t); });
      }
    }
  }
}

/// kTaps: how many, where that is known; 0: those of the table.
template <int kTaps, bool kHoles>
TERROIR_INLINE void blend_rows(const float* const* src, const RowTaps& from, float* dst, int64_t rows, int64_t n) {
  fill_rows(src, dst, rows, n, [&](int64_t i, V(&sum)[kRows], const float* const(&row)[kRows]) TERROIR_INLINE_LAMBDA {
    unroll<kRows>([&](auto r) TERROIR_INLINE_LAMBDA { sum[r] = zero(); });
    for (int64_t t = 0; t < (kTaps > 0 ? kTaps : from.taps); ++t) {
      const V w = loadu(from.weight + t * from.stride + i);
      with_sources(row, from, t, i, [&](auto r, V x) TERROIR_INLINE_LAMBDA {
        sum[r] = fma(w, kHoles ? select(w == zero(), zero(), x) : x, sum[r]);
      });
    }
  });
}

void weighted_rows(const float* const* src, const RowTaps& from, float* dst, int64_t rows, int64_t n) {
  const RowTaps taps = from;
  if (taps.has_holes) return blend_rows<0, true>(src, taps, dst, rows, n);
  if (kPermutes && taps.taps == 2) return blend_rows<2, false>(src, taps, dst, rows, n);
  if (kPermutes && taps.taps == 4) return blend_rows<4, false>(src, taps, dst, rows, n);
  blend_rows<0, false>(src, taps, dst, rows, n);
}

void picked_rows(const float* const* src, const RowTaps& from, float* dst, int64_t rows, int64_t n) {
  fill_rows(src, dst, rows, n, [&](int64_t i, V(&x)[kRows], const float* const(&row)[kRows]) TERROIR_INLINE_LAMBDA {
    with_sources(row, from, 0, i, [&](auto r, V source) TERROIR_INLINE_LAMBDA { x[r] = source; });
  });
}

}  // namespace

const InterpolateKernels& interpolate_table() {
  static constexpr InterpolateKernels kTable = {kLanes,         &nearest_row,   &linear_row,
                                                &weighted_line, &weighted_rows, &picked_rows};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
