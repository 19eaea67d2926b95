// What: resizing rows of one bucket. Contract: interpolate.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/interpolate/interpolate.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

void nearest_row(const float* src, float* dst, const int32_t* index, int64_t n, int64_t width) {
  if (width == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[index[i]];
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
  if (width == 1) {
    for (int64_t i = 0; i < n; ++i) {
      const float u = upper[left[i]] * (1.0f - wx[i]) + upper[right[i]] * wx[i];
      const float l = lower[left[i]] * (1.0f - wx[i]) + lower[right[i]] * wx[i];
      dst[i] = u * (1.0f - wy) + l * wy;
    }
    return;
  }
  const int64_t body = width / kLanes * kLanes;
  const Tail t = tail(width - body);
  const V down(wy), up(1.0f - wy);
  for (int64_t i = 0; i < n; ++i) {
    const V r(wx[i]), l(1.0f - wx[i]);
    const int64_t a = left[i] * width, b = right[i] * width;
    const auto blend = [&](int64_t c, auto fetch) TERROIR_INLINE_LAMBDA {
      const V u = fetch(upper + a + c) * l + fetch(upper + b + c) * r;
      const V d = fetch(lower + a + c) * l + fetch(lower + b + c) * r;
      return u * up + d * down;
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

void weighted_line(const float* src, int64_t stride, const int32_t* index, const float* weight, int64_t taps,
                   float* dst, int64_t n) {
  const auto blend = [&](int64_t i, auto fetch) TERROIR_INLINE_LAMBDA {
    V sum = zero();
    for (int64_t t = 0; t < taps; ++t) sum = fma(V(weight[t]), fetch(src + index[t] * stride + i), sum);
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

void weighted_row(const float* src, const int32_t* index, const float* weight, int64_t taps, float* dst, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    V sum = zero();
    for (int64_t t = 0; t < taps; ++t) {
      const V w = loadu(weight + t * n + i);
      const V x = gather(src, load_int(index + t * n + i));
      sum = fma(w, select(w == zero(), zero(), x), sum);
    }
    storeu(dst + i, sum);
  }
  for (; i < n; ++i) {
    float sum = 0;
    for (int64_t t = 0; t < taps; ++t)
      if (weight[t * n + i] != 0) sum += weight[t * n + i] * src[index[t * n + i]];
    dst[i] = sum;
  }
}

}  // namespace

const InterpolateKernels& interpolate_table() {
  static constexpr InterpolateKernels kTable = {&nearest_row, &linear_row, &weighted_line, &weighted_row};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
