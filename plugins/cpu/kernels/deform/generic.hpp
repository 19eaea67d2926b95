// What: samples of deformable convolutions of one bucket. Contract: deform.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/deform/deform.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// One coordinate of a sample: the two pixels around it and their shares. Where only one has a share, it is `low`.
struct Between {
  int64_t low, high;
  float low_share, high_share;
};

// False: outside.
TERROIR_INLINE bool place(float at, float least, float end, int64_t extent, bool padded, Between& b) {
  if (!(at >= least && at < end)) return false;
  const float below = __builtin_floorf(at), rest = at - below;
  b.low = static_cast<int64_t>(below);
  b.high = b.low + 1;
  b.low_share = 1.0f - rest;
  b.high_share = rest;
  if (b.low < 0) [[unlikely]] {
    b.low = 0;
    b.low_share = rest;
    b.high_share = 0.0f;
  }
  if (b.high >= extent) [[unlikely]] {
    b.high = extent - 1;
    if (padded) b.high_share = 0.0f;
  }
  return true;
}

struct Corner {
  const float* at;
  float share;
};

// The segment by value: stores of vectors might change what a reference shows.
template <class... Corners>
TERROIR_INLINE void interpolate(DeformSegment s, float* TERROIR_RESTRICT dst, Corner last, Corners... others) {
  const V share(last.share);
  int64_t c = 0;
  for (; c + kLanes <= s.count; c += kLanes) {
    V value = share * loadu(last.at + s.src + c);
    ((value = fma(V(others.share), loadu(others.at + s.src + c), value)), ...);
    storeu(dst + c, value);
  }
  if (c < s.count) {
    const Tail t = tail(s.count - c);
    V value = share * load_tail(last.at + s.src + c, t);
    ((value = fma(V(others.share), load_tail(others.at + s.src + c, t), value)), ...);
    store_tail(dst + c, value, t);
  }
}

TERROIR_INLINE void clear(const DeformSegment& s, float* dst) {
  for (int64_t c = 0; c < s.count; ++c) dst[c] = 0.0f;
}

void sample(const DeformArgs& a, int64_t begin, int64_t count) {
  const int64_t positions = a.out[0] * a.out[1], taps = a.kernel[0] * a.kernel[1];
  const float least = a.padded ? -0.99999994f : 0.0f;  // the successor of -1
  const float ends[] = {static_cast<float>(a.in[0]), static_cast<float>(a.in[1])};
  for (int64_t m = 0; m < count; ++m) {
    const int64_t position = begin + m;
    const int64_t y0 = position / a.out[1] * a.stride[0] - a.pad[0];
    const int64_t x0 = position % a.out[1] * a.stride[1] - a.pad[1];
    for (int64_t g = 0; g < a.groups; ++g) {
      int64_t y_origin = y0, x_origin = x0, left = a.kernel[1];
      for (int64_t tap = 0; tap < taps; ++tap) {
        float* row = a.columns + m * a.row_stride + tap * a.tap_stride;
        const int64_t field = (g * taps + tap) * positions + position;
        const float* offset = a.offsets + field + (g * taps + tap) * positions;
        Between y, x;
        const bool inside =
            place(static_cast<float>(y_origin) + offset[0], least, ends[0], a.in[0], a.padded, y) &&
            place(static_cast<float>(x_origin) + offset[positions], least, ends[1], a.in[1], a.padded, x);
        x_origin += a.dilation[1];
        if (--left == 0) {
          left = a.kernel[1];
          x_origin = x0;
          y_origin += a.dilation[0];
        }
        const auto each_segment = [&](auto fill) TERROIR_INLINE_LAMBDA {
          for (int64_t i = a.first_segment[g]; i < a.first_segment[g + 1]; ++i)
            fill(a.segments[i], row + a.segments[i].column);
        };
        if (!inside) {
          each_segment([](const DeformSegment& s, float* dst) TERROIR_INLINE_LAMBDA { clear(s, dst); });
          continue;
        }
        const float scale = a.mask != nullptr ? a.mask[field] : 1.0f;
        const float* top = a.src + y.low * a.in[1] * a.pixel;
        const float* bottom = a.src + y.high * a.in[1] * a.pixel;
        const Corner nearest = {top + x.low * a.pixel, y.low_share * x.low_share * scale};
        const Corner right = {top + x.high * a.pixel, y.low_share * x.high_share * scale};
        const Corner below = {bottom + x.low * a.pixel, y.high_share * x.low_share * scale};
        const Corner opposite = {bottom + x.high * a.pixel, y.high_share * x.high_share * scale};
        // A pixel without a share must not take part: zero times an infinity would be NaN.
        if (y.high_share > 0.0f && x.high_share > 0.0f) [[likely]] {
          each_segment([&](const DeformSegment& s, float* dst)
                           TERROIR_INLINE_LAMBDA { interpolate(s, dst, opposite, below, right, nearest); });
        } else if (y.high_share > 0.0f || x.high_share > 0.0f) {
          const Corner second = y.high_share > 0.0f ? below : right;
          each_segment([&](const DeformSegment& s, float* dst)
                           TERROIR_INLINE_LAMBDA { interpolate(s, dst, second, nearest); });
        } else {
          each_segment([&](const DeformSegment& s, float* dst) TERROIR_INLINE_LAMBDA { interpolate(s, dst, nearest); });
        }
      }
    }
  }
}

}  // namespace

const DeformKernels& deform_table() {
  static constexpr DeformKernels kTable = {&sample};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
