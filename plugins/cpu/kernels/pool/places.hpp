// What: maxima with their places of one bucket. Contract: pool.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/pool/windows.hpp"
#include "plugins/cpu/simd/interleave.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

/// A lane of x that is above its best takes the place along.
TERROIR_INLINE void keep_larger(V x, VI place, V& best, VI& at) {
  const M above = x > best;
  best = select(above, x, best);
  at = as_int(select(above, as_float(place), as_float(at)));
}

/// Of one window, element by element.
TERROIR_INLINE void max_of_window(const PoolArgs& a, const Window& win, float* dst, int32_t* place) {
  float best = kLowest;
  auto at = static_cast<int32_t>(win.empty ? -1 : win.base - a.src);
  if (!win.empty) {
    for (int64_t kd = 0; kd < win.d.count; ++kd) {
      for (int64_t kh = 0; kh < win.h.count; ++kh) {
        const float* p = win.base + kd * win.step[0] + kh * win.step[1];
        for (int64_t kw = 0; kw < win.w.count; ++kw, p += win.step[2]) {
          if (*p > best) {
            best = *p;
            at = static_cast<int32_t>(p - a.src);
          }
        }
      }
    }
  }
  *dst = best;
  *place = at;
}

/// Of as many neighbouring windows as there are lanes, all inside of the row; `win` is the first one's.
TERROIR_INLINE void max_of_windows(const PoolArgs& a, const Window& win, float* dst, int32_t* places) {
  int32_t apart[kLanes];
  for (int32_t i = 0; i < kLanes; ++i) apart[i] = i * static_cast<int32_t>(a.stride[2]);
  const VI lanes = load_int(apart);
  V best(kLowest);
  VI at = lanes + VI(static_cast<int32_t>(win.base - a.src));
  for (int64_t kd = 0; kd < win.d.count; ++kd) {
    for (int64_t kh = 0; kh < win.h.count; ++kh) {
      const float* p = win.base + kd * win.step[0] + kh * win.step[1];
      for (int64_t kw = 0; kw < win.w.count; ++kw, p += win.step[2])
        keep_larger(a.stride[2] == 1   ? loadu(p)
                    : a.stride[2] == 2 ? every_second(p)
                                       : gather(p, lanes),
                    lanes + VI(static_cast<int32_t>(p - a.src)), best, at);
    }
  }
  storeu(dst, best);
  store_int(places, at);
}

void max_places(const PoolArgs& a, int32_t* places, int64_t row_begin, int64_t row_end) {
  const Inside inside = inside_of_row(a);
  for (int64_t row = row_begin; row < row_end; ++row) {
    Window win = window_of_row(a, row);
    float* dst = a.dst + row * a.out[2];
    int32_t* at = places + row * a.out[2];
    for (int64_t ow = 0; ow < a.out[2];) {
      // The last vector of a row may begin where the one before it has not ended yet.
      const int64_t first = ow + kLanes <= inside.end ? ow : inside.end - kLanes;
      const bool vector = ow >= inside.begin && ow < inside.end && first >= inside.begin;
      aim<false>(a, vector ? first : ow, win);
      if (vector && !win.empty) {
        max_of_windows(a, win, dst + first, at + first);
        ow = first + kLanes;
      } else {
        max_of_window(a, win, dst + ow, at + ow);
        ++ow;
      }
    }
  }
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
