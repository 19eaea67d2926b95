// What: samples of deformable convolutions of one bucket. Contract: deform.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/deform/deform.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// One coordinate of a sample: the two pixels around it and their shares.
struct Between {
  int64_t low, high;
  float low_share, high_share;
};

// False: outside. Beyond this no source has pixels; conversions to integers stay defined.
constexpr float kFarthest = 1073741824.0f;

TERROIR_INLINE bool place(int64_t origin, float offset, int64_t extent, bool padded, Between& b) {
  if (!(offset > -kFarthest && offset < kFarthest)) return false;
  const float below = __builtin_floorf(offset), rest = offset - below;
  b.low = origin + static_cast<int64_t>(below);
  b.high = b.low + 1;
  b.low_share = 1.0f - rest;
  b.high_share = rest;
  if (b.low >= extent) return false;
  if (!padded) {
    b.high = b.high < extent ? b.high : extent - 1;
    return b.low >= 0;
  }
  if (b.low < -1 || (b.low == -1 && !(rest > 0.0f))) return false;
  if (b.low < 0) {
    b.low = 0;
    b.low_share = 0.0f;
  }
  if (b.high >= extent) {
    b.high = extent - 1;
    b.high_share = 0.0f;
  }
  return true;
}

struct Corners {
  const float* at[4];
  V share[4];
};

TERROIR_INLINE void interpolate(const Corners& k, const DeformSegment& s, float* TERROIR_RESTRICT dst) {
  const auto value = [&](auto fetch) TERROIR_INLINE_LAMBDA {
    return fma(k.share[0], fetch(k.at[0]),
               fma(k.share[1], fetch(k.at[1]), fma(k.share[2], fetch(k.at[2]), k.share[3] * fetch(k.at[3]))));
  };
  int64_t c = 0;
  for (; c + kLanes <= s.count; c += kLanes) {
    storeu(dst + c, value([&](const float* p) TERROIR_INLINE_LAMBDA { return loadu(p + s.src + c); }));
  }
  if (c < s.count) {
    const Tail t = tail(s.count - c);
    store_tail(dst + c, value([&](const float* p) TERROIR_INLINE_LAMBDA { return load_tail(p + s.src + c, t); }), t);
  }
}

TERROIR_INLINE void clear(const DeformSegment& s, float* dst) {
  for (int64_t c = 0; c < s.count; ++c) dst[c] = 0.0f;
}

void sample(const DeformArgs& a, int64_t begin, int64_t count) {
  const int64_t positions = a.out[0] * a.out[1], taps = a.kernel[0] * a.kernel[1];
  for (int64_t m = 0; m < count; ++m) {
    const int64_t position = begin + m;
    const int64_t y0 = position / a.out[1] * a.stride[0] - a.pad[0];
    const int64_t x0 = position % a.out[1] * a.stride[1] - a.pad[1];
    for (int64_t g = 0; g < a.groups; ++g) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        float* row = a.columns + m * a.row_stride + tap * a.tap_stride;
        const int64_t field = (g * taps + tap) * positions + position;
        const float* offset = a.offsets + field + (g * taps + tap) * positions;
        Between y, x;
        const bool inside = place(y0 + tap / a.kernel[1] * a.dilation[0], offset[0], a.in[0], a.padded, y) &&
                            place(x0 + tap % a.kernel[1] * a.dilation[1], offset[positions], a.in[1], a.padded, x);
        if (!inside) {
          for (int64_t i = a.first_segment[g]; i < a.first_segment[g + 1]; ++i)
            clear(a.segments[i], row + a.segments[i].column);
          continue;
        }
        const float scale = a.mask != nullptr ? a.mask[field] : 1.0f;
        const float* top = a.src + y.low * a.in[1] * a.pixel;
        const float* bottom = a.src + y.high * a.in[1] * a.pixel;
        const Corners corners = {
            {top + x.low * a.pixel, top + x.high * a.pixel, bottom + x.low * a.pixel, bottom + x.high * a.pixel},
            {V(y.low_share * x.low_share * scale), V(y.low_share * x.high_share * scale),
             V(y.high_share * x.low_share * scale), V(y.high_share * x.high_share * scale)}};
        for (int64_t i = a.first_segment[g]; i < a.first_segment[g + 1]; ++i)
          interpolate(corners, a.segments[i], row + a.segments[i].column);
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
