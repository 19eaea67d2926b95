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

}  // namespace

const InterpolateKernels& interpolate_table() {
  static constexpr InterpolateKernels kTable = {&nearest_row, &linear_row};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
