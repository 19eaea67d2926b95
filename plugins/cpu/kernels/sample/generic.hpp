// What: sampling kernels of one bucket. Contract: sample.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/sample/sample.hpp"

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

}  // namespace

const SampleKernels& sample_table() {
  static constexpr SampleKernels kTable = {&sum, &most, &largest, &sum_cells, &largest_cells};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
