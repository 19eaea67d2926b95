// What: pooling of one bucket. Contract: pool.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/pool/adaptive.hpp"
#include "plugins/cpu/kernels/pool/bf16.hpp"
#include "plugins/cpu/kernels/pool/bytes.hpp"
#include "plugins/cpu/kernels/pool/places.hpp"
#include "plugins/cpu/kernels/pool/windows.hpp"
#include "plugins/cpu/simd/interleave.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

struct Max {
  TERROIR_INLINE_MEMBER static V start() { return V(kLowest); }
  TERROIR_INLINE_MEMBER static V step(V acc, V x) { return max(x, acc); }
};
struct Sum {
  TERROIR_INLINE_MEMBER static V start() { return zero(); }
  TERROIR_INLINE_MEMBER static V step(V acc, V x) { return acc + x; }
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

// `n` neighbours whose windows are as large, from the one given on.
template <typename Op>
TERROIR_NOINLINE void pool_positions(Window win, const PoolArgs& a, int64_t n, float* dst) {
  constexpr int kAtOnce = 4;
  const int64_t width = a.width;
  const V scale(win.scale);
  const bool scaled = win.scale != 1.0f;
  for (; n > 0; --n, win.base += a.stride[2] * width, dst += width) {
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
}

// Likewise of windows of Side x Side elements, and of whole vectors of channels.
template <typename Op, int Side>
TERROIR_NOINLINE void pool_squares(const Window& win, const PoolArgs& a, int64_t n, float* dst) {
  const V scale(win.scale);
  const bool scaled = win.scale != 1.0f;
  const int64_t width = a.width, next = a.stride[2] * width, column = win.step[2];
  for (int64_t c = 0; c < width; c += kLanes) {
    const float* rows[Side];
    unroll<Side>([&](auto kh) TERROIR_INLINE_LAMBDA { rows[kh] = win.base + kh * win.step[1] + c; });
    float* to = dst + c;
    for (int64_t i = n; i > 0; --i, to += width) {
      V acc = Op::start();
      unroll<Side>([&](auto kh) TERROIR_INLINE_LAMBDA {
        unroll<Side>([&](auto kw) TERROIR_INLINE_LAMBDA { acc = Op::step(acc, loadu(rows[kh] + kw * column)); });
        rows[kh] += next;
      });
      storeu(to, scaled ? acc * scale : acc);
    }
  }
}

// Plain layout, `n` neighbours whose windows are as large, one by one.
__attribute__((noinline, noclone)) void pool_plain_positions(const Window& win, const PoolArgs& a, bool average,
                                                             int64_t n, float* dst) {
  const float* base = win.base;
  for (; n > 0; --n, base += a.stride[2]) {
    float acc = average ? 0.0f : kLowest;
    for (int64_t kd = 0; kd < win.d.count; ++kd) {
      for (int64_t kh = 0; kh < win.h.count; ++kh) {
        const float* p = base + kd * win.step[0] + kh * win.step[1];
        for (int64_t kw = 0; kw < win.w.count; ++kw, p += win.step[2]) acc = average ? acc + *p : *p > acc ? *p : acc;
      }
    }
    *dst++ = win.scale != 1.0f ? acc * win.scale : acc;
  }
}

// Neighbouring windows of `rows` times 2 or 3 elements, 2 apart.
template <typename Op>
TERROIR_INLINE V fold_pairs(const float* p, int64_t row, int64_t rows, bool third) {
  V acc = Op::start();
  for (; rows > 0; --rows, p += row) {
    V even, odd;
    take_apart(p, even, odd);
    acc = Op::step(Op::step(acc, even), odd);
    if (third) acc = Op::step(acc, every_second(p + 2));
  }
  return acc;
}

// Neighbouring windows of any kind; `lanes`: how far they are apart.
template <typename Op>
TERROIR_INLINE V fold_plain(const Window& win, const float* base, int64_t stride, VI lanes) {
  V acc = Op::start();
  for (int64_t kd = 0; kd < win.d.count; ++kd) {
    for (int64_t kh = 0; kh < win.h.count; ++kh) {
      const float* p = base + kd * win.step[0] + kh * win.step[1];
      for (int64_t kw = 0; kw < win.w.count; ++kw, p += win.step[2]) {
        __asm__("" : "+r"(stride));  // one loop, not one for each kind of stride
        acc = Op::step(acc, stride == 1 ? loadu(p) : stride == 2 ? every_second(p) : gather(p, lanes));
      }
    }
  }
  return acc;
}

// Likewise, neighbouring outputs as lanes. The last vector of many begins where the one before it has not ended; of
// few, lanes that are no outputs draw on what lies behind the windows, or in front where the image ends. False if it is
// too small for that.
template <typename Op>
TERROIR_NOINLINE bool pool_plain(const Window& win, const PoolArgs& a, int64_t n, float* dst) {
  const int64_t stride = a.stride[2], spread = (kLanes - 1) * stride;
  const int64_t end = win.base - a.src + (win.d.count - 1) * win.step[0] + (win.h.count - 1) * win.step[1] +
                      (win.w.count - 1) * win.step[2] + spread + 1;  // of a vector
  const int64_t beyond = n < kLanes ? end - a.in[0] * a.in[1] * a.in[2] : 0;
  const int64_t skip = beyond > 0 ? (beyond + stride - 1) / stride : 0;
  if (skip * stride > win.base - a.src || spread > INT32_MAX) return false;
  int32_t apart[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) apart[i] = static_cast<int32_t>(i * stride);
  const VI lanes = load_int(apart);
  const V scale(win.scale);
  const bool pairs = stride == 2 && win.step[2] == 1 && win.d.count == 1 && (win.w.count | 1) == 3;
  for (int64_t i = 0; i < n; i += kLanes) {
    if (n >= kLanes && n - i < kLanes) i = n - kLanes;
    const float* const base = win.base + (i - skip) * stride;
    V acc = pairs ? fold_pairs<Op>(base, win.step[1], win.h.count, win.w.count == 3)
                  : fold_plain<Op>(win, base, stride, lanes);
    if (win.scale != 1.0f) acc = acc * scale;
    if (n >= kLanes) {
      storeu(dst + i, acc);
    } else {
      float line[2 * kLanes] = {};
      storeu(line, acc);
      store_tail(dst, loadu(line + skip), tail(n));
    }
  }
  return true;
}

template <typename Op, bool Average>
TERROIR_INLINE void pool(const PoolArgs& a, int64_t row_begin, int64_t row_end) {
  const Inside inside = inside_of_row(a);
  for (int64_t row = row_begin; row < row_end; ++row) {
    Window win = window_of_row(a, row);
    float* dst = a.dst + row * a.out[2] * a.width;
    for (int64_t ow = 0; ow < a.out[2];) {
      aim<Average>(a, ow, win);
      const int64_t n = ow >= inside.begin && ow < inside.end ? inside.end - ow : 1;
      const auto is_square = [&](int64_t side) TERROIR_INLINE_LAMBDA {
        return win.d.count == 1 && win.h.count == side && win.w.count == side && a.width % kLanes == 0;
      };
      float* const to = dst + ow * a.width;
      if (a.width == 1) {
        if (n == 1 || !pool_plain<Op>(win, a, n, to)) pool_plain_positions(win, a, Average, n, to);
      } else if (is_square(3)) {
        pool_squares<Op, 3>(win, a, n, to);
      } else if (is_square(2)) {
        pool_squares<Op, 2>(win, a, n, to);
      } else {
        pool_positions<Op>(win, a, n, to);
      }
      ow += n;
    }
  }
}

void pool_max(const PoolArgs& a, int64_t row_begin, int64_t row_end) { pool<Max, false>(a, row_begin, row_end); }
void pool_average(const PoolArgs& a, int64_t row_begin, int64_t row_end) { pool<Sum, true>(a, row_begin, row_end); }

}  // namespace

const PoolKernels& pool_table() {
  static constexpr PoolKernels kTable = {&pool_max,   &pool_average,     kMaxBytes,    kMaxBf16,
                                         &max_places, &adaptive_average, &adaptive_max};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
