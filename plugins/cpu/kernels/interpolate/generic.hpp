// What: resizing rows of one bucket. Contract: interpolate.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/interpolate/interpolate.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

void nearest_row(const float* src, float* dst, const int32_t* index, int64_t n, int64_t width) {
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

/// What tap t of elements i ... i + kLanes - 1 of a row is taken from.
TERROIR_INLINE V source_of(const float* src, const RowTaps& from, int64_t t, int64_t i) {
  constexpr bool kPermutes = kLanes > 4;  // else a permutation is as many loads as any other place
  const VI index = load_int(from.index + t * from.stride + i);
  const int32_t near = from.near[(t * from.stride + i) / kLanes];
  if constexpr (kPermutes) return near >= 0 ? take(src + near, index) : gather(src, index);
  return gather(src + (near >= 0 ? near : 0), index);
}

/// element(i): elements i ... i + kLanes - 1 of a row; those beyond n are not stored.
template <class Element>
TERROIR_INLINE void fill_row(float* dst, int64_t n, Element element) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const V x = element(i);
    if (i + kLanes <= n) {
      storeu(dst + i, x);
    } else {
      store_tail(dst + i, x, tail(n - i));
    }
  }
}

template <int kTaps, bool kHoles>
TERROIR_INLINE void blend_row(const float* src, const RowTaps& from, float* dst, int64_t n) {
  fill_row(dst, n, [&](int64_t i) TERROIR_INLINE_LAMBDA {
    V sum = zero();
    for (int64_t t = 0; t < (kTaps > 0 ? kTaps : from.taps); ++t) {
      const V w = loadu(from.weight + t * from.stride + i), x = source_of(src, from, t, i);
      sum = fma(w, kHoles ? select(w == zero(), zero(), x) : x, sum);
    }
    return sum;
  });
}

void weighted_row(const float* src, const RowTaps& from, float* TERROIR_RESTRICT dst, int64_t n) {
  const RowTaps taps = from;
  if (taps.has_holes) return blend_row<0, true>(src, taps, dst, n);
  if (taps.taps == 2) return blend_row<2, false>(src, taps, dst, n);
  if (taps.taps == 4) return blend_row<4, false>(src, taps, dst, n);
  blend_row<0, false>(src, taps, dst, n);
}

void picked_row(const float* src, const RowTaps& from, float* dst, int64_t n) {
  fill_row(dst, n, [&](int64_t i) TERROIR_INLINE_LAMBDA { return source_of(src, from, 0, i); });
}

}  // namespace

const InterpolateKernels& interpolate_table() {
  static constexpr InterpolateKernels kTable = {kLanes,         &nearest_row,  &linear_row,
                                                &weighted_line, &weighted_row, &picked_row};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
