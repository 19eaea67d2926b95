// What: pooling of one bucket. Contract: pool.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/pool/pool.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// The part of a window that lies inside one axis.
struct Span {
  int64_t first;  // source index
  int64_t count;  // elements inside
};

TERROIR_INLINE Span span_of(const PoolArgs& a, int axis, int64_t o) {
  const int64_t start = o * a.stride[axis] - a.pad_begin[axis], d = a.dilation[axis], k = a.kernel[axis];
  const int64_t skip = start < 0 ? (-start + d - 1) / d : 0;
  // Kernel elements whose index is below `limit`.
  const auto below = [&](int64_t limit) TERROIR_INLINE_LAMBDA {
    const int64_t n = limit - start <= 0 ? 0 : (limit - start + d - 1) / d;
    return n < k ? n : k;
  };
  const int64_t inside = below(a.in[axis]) - skip;
  return {start + skip * d, inside > 0 ? inside : 0};
}

struct Max {
  TERROIR_INLINE_MEMBER static V start() { return V(-__builtin_inff()); }
  TERROIR_INLINE_MEMBER static V step(V acc, V x) { return max(x, acc); }
};
struct Sum {
  TERROIR_INLINE_MEMBER static V start() { return zero(); }
  TERROIR_INLINE_MEMBER static V step(V acc, V x) { return acc + x; }
};

struct Window {
  Span d, h, w;
  const float* base;  // first element inside
  int64_t step[3];    // floats between elements of the window
  float scale;        // of the result
  bool empty;
};

// K vectors of channels at once.
template <typename Op, int K>
TERROIR_INLINE void fold(const Window& win, int64_t c, Tail t, bool whole, V (&acc)[K]) {
  unroll<K>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = Op::start(); });
  for (int64_t kd = 0; kd < win.d.count; ++kd) {
    for (int64_t kh = 0; kh < win.h.count; ++kh) {
      const float* p = win.base + kd * win.step[0] + kh * win.step[1] + c;
      for (int64_t kw = 0; kw < win.w.count; ++kw, p += win.step[2]) {
        unroll<K>([&](auto j) TERROIR_INLINE_LAMBDA {
          const V x = whole ? loadu(p + j * kLanes) : load_tail(p, t);
          acc[j] = Op::step(acc[j], x);
        });
      }
    }
  }
}

template <typename Op>
TERROIR_INLINE void pool_position(const Window& win, int64_t width, float* dst) {
  constexpr int kAtOnce = 4;
  const V scale(win.scale);
  const bool scaled = win.scale != 1.0f;
  int64_t c = 0;
  for (; c + kAtOnce * kLanes <= width; c += kAtOnce * kLanes) {
    V acc[kAtOnce];
    fold<Op>(win, c, Tail{}, true, acc);
    unroll<kAtOnce>([&](auto j)
                        TERROIR_INLINE_LAMBDA { storeu(dst + c + j * kLanes, scaled ? acc[j] * scale : acc[j]); });
  }
  for (; c + kLanes <= width; c += kLanes) {
    V acc[1];
    fold<Op>(win, c, Tail{}, true, acc);
    storeu(dst + c, scaled ? acc[0] * scale : acc[0]);
  }
  if (c < width) {
    const Tail t = tail(width - c);
    V acc[1];
    fold<Op>(win, c, t, false, acc);
    store_tail(dst + c, scaled ? acc[0] * scale : acc[0], t);
  }
}

// Plain layout, stride 1, interior of a row: neighbouring outputs are lanes.
template <typename Op>
TERROIR_INLINE void pool_plain_lanes(const Window& win, float* dst, int64_t n) {
  const V scale(win.scale);
  for (int64_t i = 0; i < n; i += kLanes) {
    const bool whole = i + kLanes <= n;
    const Tail t = tail(whole ? kLanes : n - i);
    V acc[1];
    fold<Op>(win, i, t, whole, acc);
    const V result = win.scale != 1.0f ? acc[0] * scale : acc[0];
    if (whole) {
      storeu(dst + i, result);
    } else {
      store_tail(dst + i, result, t);
    }
  }
}

template <typename Op, bool Average>
TERROIR_INLINE void pool(const PoolArgs& a, int64_t row_begin, int64_t row_end) {
  // Outputs of a row whose window lies inside the row entirely.
  const int64_t reach = (a.kernel[2] - 1) * a.dilation[2] + 1;
  const int64_t inner_begin = (a.pad_begin[2] + a.stride[2] - 1) / a.stride[2];
  const int64_t room = a.in[2] + a.pad_begin[2] - reach;
  const int64_t inner_end_any = room < 0 ? 0 : room / a.stride[2] + 1;
  const int64_t inner_end = inner_end_any < a.out[2] ? inner_end_any : a.out[2];
  for (int64_t row = row_begin; row < row_end; ++row) {
    Window win;
    win.d = span_of(a, 0, row / a.out[1]);
    win.h = span_of(a, 1, row % a.out[1]);
    win.step[2] = a.dilation[2] * a.width;
    win.step[1] = a.dilation[1] * a.in[2] * a.width;
    win.step[0] = a.dilation[0] * a.in[1] * a.in[2] * a.width;
    float* dst = a.dst + row * a.out[2] * a.width;
    const auto aim = [&](int64_t ow) TERROIR_INLINE_LAMBDA {
      win.w = span_of(a, 2, ow);
      win.empty = win.d.count == 0 || win.h.count == 0 || win.w.count == 0;
      win.base = win.empty ? a.src : a.src + ((win.d.first * a.in[1] + win.h.first) * a.in[2] + win.w.first) * a.width;
      win.scale = 1.0f;
      if (Average && !win.empty) {
        const int64_t divisor =
            a.exclude_pad ? win.d.count * win.h.count * win.w.count : a.kernel[0] * a.kernel[1] * a.kernel[2];
        win.scale = 1.0f / static_cast<float>(divisor);
      }
    };
    for (int64_t ow = 0; ow < a.out[2];) {
      aim(ow);
      if (a.width == 1 && a.stride[2] == 1 && ow >= inner_begin && ow < inner_end) {
        pool_plain_lanes<Op>(win, dst + ow, inner_end - ow);
        ow = inner_end;
        continue;
      }
      pool_position<Op>(win, a.width, dst + ow * a.width);
      ++ow;
    }
  }
}

void pool_max(const PoolArgs& a, int64_t row_begin, int64_t row_end) { pool<Max, false>(a, row_begin, row_end); }
void pool_average(const PoolArgs& a, int64_t row_begin, int64_t row_end) { pool<Sum, true>(a, row_begin, row_end); }

}  // namespace

const PoolKernels& pool_table() {
  static constexpr PoolKernels kTable = {&pool_max, &pool_average};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
