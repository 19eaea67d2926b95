// What: sampling kernels of one bucket. Contract: sample.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/sample/sample.hpp"
#include "plugins/cpu/simd/interleave.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// The channels of some whole vectors, or of a part of one.
template <int kVectors>
struct Whole {
  TERROIR_INLINE_MEMBER V load_from(const float* p, int j) const { return loadu(p + j * kLanes); }
  TERROIR_INLINE_MEMBER void store_to(float* p, V v, int j) const { storeu(p + j * kLanes, v); }
};
struct Part {
  Tail t;
  TERROIR_INLINE_MEMBER V load_from(const float* p, int) const { return load_tail(p, t); }
  TERROIR_INLINE_MEMBER void store_to(float* p, V v, int) const { store_tail(p, v, t); }
};

template <int kVectors, typename Channels>
TERROIR_INLINE void add_taps(const SampleTaps& taps, int64_t begin, int64_t end, int64_t c, Channels channels,
                             V (&acc)[kVectors]) {
  for (int64_t t = begin; t < end; ++t) {
    const float* p = taps.src + taps.offsets[t] + c;
    const V w(taps.weights[t]);
    unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = fma(w, channels.load_from(p, j), acc[j]); });
  }
}

template <int kVectors, typename Channels>
TERROIR_INLINE void sum_block(const SampleTaps& taps, float* dst, int64_t c, bool first, Channels channels) {
  V acc[kVectors];
  unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = first ? zero() : channels.load_from(dst + c, j); });
  add_taps(taps, 0, taps.count, c, channels, acc);
  unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { channels.store_to(dst + c, acc[j], j); });
}

template <int kVectors, typename Channels>
TERROIR_INLINE void most_block(const SampleTaps& taps, int64_t group, float* dst, int64_t c, bool first,
                               Channels channels) {
  V best[kVectors];
  unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { best[j] = first ? zero() : channels.load_from(dst + c, j); });
  for (int64_t t = 0; t < taps.count; t += group) {
    V acc[kVectors];
    unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = zero(); });
    add_taps(taps, t, t + group, c, channels, acc);
    unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { best[j] = max(acc[j], best[j]); });
  }
  unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { channels.store_to(dst + c, best[j], j); });
}

template <int kVectors, typename Channels>
TERROIR_INLINE void largest_block(const SampleTaps& taps, float* dst, int64_t c, bool first, Channels channels) {
  const V lowest(-__builtin_inff());
  V best[kVectors];
  unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { best[j] = first ? lowest : channels.load_from(dst + c, j); });
  for (int64_t t = 0; t < taps.count; ++t) {
    const float* p = taps.src + taps.offsets[t] + c;
    unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { best[j] = max(channels.load_from(p, j), best[j]); });
  }
  unroll<kVectors>([&](auto j) TERROIR_INLINE_LAMBDA { channels.store_to(dst + c, best[j], j); });
}

// block(c, channels) for blocks of four vectors, then single ones, then a part of one.
template <typename Block>
TERROIR_INLINE void for_channels(int64_t n, Block block) {
  constexpr int kVectors = 4;
  int64_t c = 0;
  for (; c + kVectors * kLanes <= n; c += kVectors * kLanes) block(c, Index<kVectors>{}, Whole<kVectors>{});
  for (; c + kLanes <= n; c += kLanes) block(c, Index<1>{}, Whole<1>{});
  if (c < n) block(c, Index<1>{}, Part{tail(n - c)});
}

void sum(const SampleTaps& taps, float* dst, int64_t channels, bool first) {
  for_channels(channels, [&](int64_t c, auto vectors, auto part)
                             TERROIR_INLINE_LAMBDA { sum_block<vectors>(taps, dst, c, first, part); });
}

void most(const SampleTaps& taps, int64_t group, float* dst, int64_t channels, bool first) {
  for_channels(channels, [&](int64_t c, auto vectors, auto part)
                             TERROIR_INLINE_LAMBDA { most_block<vectors>(taps, group, dst, c, first, part); });
}

void largest(const SampleTaps& taps, float* dst, int64_t channels, bool first) {
  for_channels(channels, [&](int64_t c, auto vectors, auto part)
                             TERROIR_INLINE_LAMBDA { largest_block<vectors>(taps, dst, c, first, part); });
}

// block(taps, dst, c, vectors, part) for each cell that has taps.
template <typename Block>
TERROIR_INLINE void for_cells(const CellTaps& cells, float* dst, int64_t channels, Block block) {
  int64_t begin = 0;
  for (int64_t cell = 0; cell < cells.cells; ++cell, dst += channels) {
    const int64_t end = cells.ends[cell];
    for_channels(channels, [&](int64_t c, auto vectors, auto part) TERROIR_INLINE_LAMBDA {
      if (begin == end)
        unroll<vectors>([&](auto j) TERROIR_INLINE_LAMBDA { part.store_to(dst + c, zero(), j); });
      else
        block({cells.src, cells.offsets + begin, cells.weights + begin, end - begin}, dst, c, vectors, part);
    });
    begin = end;
  }
}

void sum_cells(const CellTaps& cells, float* dst, int64_t channels) {
  for_cells(cells, dst, channels,
            [](const SampleTaps& taps, float* out, int64_t c, auto vectors, auto part)
                TERROIR_INLINE_LAMBDA { sum_block<vectors>(taps, out, c, true, part); });
}

void largest_cells(const CellTaps& cells, float* dst, int64_t channels) {
  for_cells(cells, dst, channels,
            [](const SampleTaps& taps, float* out, int64_t c, auto vectors, auto part)
                TERROIR_INLINE_LAMBDA { largest_block<vectors>(taps, out, c, true, part); });
}

#if defined(__AVX2__)

struct GridPixels {
  V weights[2];
  VI offsets[2];
};

// Of one axis, `pitch` elements from pixel to pixel. Which points it does not place if mirrored. Out of line: half of
// the code, for a tenth of a nanosecond a point.
TERROIR_NOINLINE M grid_pixels(const GridPlane& plane, const V& coordinate, int32_t extent, int32_t pitch,
                               GridPixels& pixels) {
  const V n(static_cast<float>(extent)), one(1.0f), last = n - one;
  const bool mirrored = plane.edge == GridEdge::reflection;
  V all = n, half = one, period = n + n, turn = period - one;
  if (plane.align_corners) {
    all = last;
    half = zero();
    period = max(last + last, one);
    turn = period;
  }
  const V exact = ((coordinate + one) * all - half) * V(0.5f);
  // No pixel is further outside than two; mirrored are 2^22, where a float still has halves. A NaN goes to the left.
  const V limit(mirrored ? -4194304.0f : -2.0f);
  V x = min(max(exact, limit), mirrored ? -limit : n);
  const M open = !(x == exact);
  if (plane.nearest) x = round_even(x);
  const V left = floor(x);
  V at = left, share = left + one - x;  // not one less the share of the right pixel, which rounds up to all of it
  for (int i = 0; i < 2; ++i) {
    V inside;
    if (mirrored) {
      inside = at - floor(at / period) * period;
      inside = min(inside, turn - inside);
    } else {
      inside = min(max(at, zero()), last);
      if (plane.edge == GridEdge::zeros) share = select(at == inside, share, zero());
    }
    pixels.weights[i] = share;
    pixels.offsets[i] = to_int(inside) * VI(pitch);
    share = x - left;
    at = left + one;
  }
  return open;
}

bool grid_taps(const GridPlane& plane, const float* points, int64_t n, int32_t* offsets, float* weights, int64_t step) {
  bool left_open = false;
  for (int64_t p = 0; p < n; p += kLanes) {
    __asm__("" : "+r"(n));  // else the last vector would have code of its own
    float part[2 * kLanes] = {};
    const float* from = points + 2 * p;
    if (n - p < kLanes) {
      __builtin_memcpy(part, from, static_cast<size_t>(n - p) * 2 * sizeof(float));
      from = part;
    }
    V x, y;
    take_apart(from, x, y);
    GridPixels columns, rows;
    const M open = grid_pixels(plane, x, plane.width, plane.pixel, columns) |
                   grid_pixels(plane, y, plane.height, plane.width * plane.pixel, rows);
    for (int t = 0; t < 4; ++t) {
      storeu(weights + t * step + p, rows.weights[t / 2] * columns.weights[t % 2]);
      store_int(offsets + t * step + p, rows.offsets[t / 2] + columns.offsets[t % 2]);
    }
    if (plane.edge == GridEdge::reflection && any(open)) {
      left_open = true;
      storeu(weights + p, select(open, V(__builtin_nanf("")), loadu(weights + p)));
    }
  }
  return left_open;
}

void gather_taps(const float* src, const int32_t* offsets, const float* weights, int64_t step, int64_t taps, float* dst,
                 int64_t n) {
  for (int64_t p = 0; p < n; p += kLanes) {
    V sum(-0.0f);  // to which -0 may be added
    for (int64_t t = 0; t < taps; ++t) {
      const V weight = loadu(weights + t * step + p), x = gather(src, load_int(offsets + t * step + p));
      sum = fma(weight, select(weight == zero(), zero(), x), sum);
    }
    if (n - p < kLanes)
      store_n(dst + p, sum, n - p);
    else
      storeu(dst + p, sum);
  }
}

#endif

}  // namespace

const SampleKernels& sample_table() {
#if defined(__AVX2__)
  static constexpr SampleKernels kTable = {&sum, &most, &largest, &sum_cells, &largest_cells, &grid_taps, &gather_taps};
#else
  static constexpr SampleKernels kTable = {&sum, &most, &largest, &sum_cells, &largest_cells, nullptr, nullptr};
#endif
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
