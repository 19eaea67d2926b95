// What: where the windows of a pooling lie. Contract: pool.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/pool/pool.hpp"
#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr float kLowest = -__FLT_MAX__;  // of no element at all

// The part of a window that lies inside one axis.
struct Span {
  int64_t first;  // source index
  int64_t count;  // elements inside
};

__attribute__((noinline, noclone)) Span span_of(const PoolArgs& a, int axis, int64_t o) {
  const int64_t start = o * a.stride[axis] - a.pad_begin[axis], d = a.dilation[axis], k = a.kernel[axis];
  const auto steps = [&](int64_t way)
                         TERROIR_INLINE_LAMBDA { return d == 1 ? way : (way + d - 1) / d; };  // divisions take long
  const int64_t skip = start < 0 ? steps(-start) : 0;
  // Kernel elements whose index is below `limit`.
  const auto below = [&](int64_t limit) TERROIR_INLINE_LAMBDA {
    const int64_t n = limit - start <= 0 ? 0 : steps(limit - start);
    return n < k ? n : k;
  };
  const int64_t inside = below(a.in[axis]) - skip;
  return {start + skip * d, inside > 0 ? inside : 0};
}

struct Window {
  Span d, h, w;
  const float* base;  // first element inside
  int64_t step[3];    // floats between elements of the window
  float scale;        // of the result
  bool empty;
};

// Outputs of a row whose window lies inside the row entirely.
struct Inside {
  int64_t begin, end;
};

TERROIR_INLINE Inside inside_of_row(const PoolArgs& a) {
  const int64_t reach = (a.kernel[2] - 1) * a.dilation[2] + 1;
  const int64_t room = a.in[2] + a.pad_begin[2] - reach;
  const int64_t end = room < 0 ? 0 : room / a.stride[2] + 1;
  return {(a.pad_begin[2] + a.stride[2] - 1) / a.stride[2], end < a.out[2] ? end : a.out[2]};
}

/// All of a window but its place in the row.
TERROIR_INLINE Window window_of_row(const PoolArgs& a, int64_t row) {
  Window win;
  win.d = span_of(a, 0, row / a.out[1]);
  win.h = span_of(a, 1, row % a.out[1]);
  win.step[2] = a.dilation[2] * a.width;
  win.step[1] = a.dilation[1] * a.in[2] * a.width;
  win.step[0] = a.dilation[0] * a.in[1] * a.in[2] * a.width;
  return win;
}

template <bool Average>
TERROIR_INLINE void aim(const PoolArgs& a, int64_t ow, Window& win) {
  win.w = span_of(a, 2, ow);
  win.empty = win.d.count == 0 || win.h.count == 0 || win.w.count == 0;
  win.base = win.empty ? a.src : a.src + ((win.d.first * a.in[1] + win.h.first) * a.in[2] + win.w.first) * a.width;
  win.scale = 1.0f;
  if (Average && !win.empty) {
    const int64_t divisor =
        a.exclude_pad ? win.d.count * win.h.count * win.w.count : a.kernel[0] * a.kernel[1] * a.kernel[2];
    win.scale = 1.0f / static_cast<float>(divisor);
  }
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
