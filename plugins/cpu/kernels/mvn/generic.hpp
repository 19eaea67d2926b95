// What: mean-variance normalisation of one bucket. Contract: mvn.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/mvn/mvn.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr int kSumChains = 4;

// Sum of f(x) over a row; f of the lanes past the end does not count.
template <typename F>
TERROIR_INLINE float sum_row(const float* p, int64_t n, F f) {
  V acc[kSumChains];
  unroll<kSumChains>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = zero(); });
  int64_t i = 0;
  for (; i + kSumChains * kLanes <= n; i += kSumChains * kLanes) {
    unroll<kSumChains>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = acc[j] + f(loadu(p + i + j * kLanes)); });
  }
  for (; i + kLanes <= n; i += kLanes) acc[0] = acc[0] + f(loadu(p + i));
  if (i < n) {
    const Tail t = tail(n - i);
    acc[1] = acc[1] + keep(f(load_tail(p + i, t)), t);
  }
  return reduce_add((acc[0] + acc[1]) + (acc[2] + acc[3]));
}

TERROIR_INLINE V factor_of(const MvnArgs& a, V variance) {
  const V eps(a.eps);
  return V(1.0f) / (a.eps_outside_sqrt ? sqrt(variance) + eps : sqrt(variance + eps));
}

template <bool Scale, bool Shift>
TERROIR_INLINE void write_row(const MvnArgs& a, const float* src, float* dst, int64_t n, V mean, V factor) {
  const auto value = [&](V x, int64_t i, auto fetch) TERROIR_INLINE_LAMBDA {
    V y = (x - mean) * factor;
    if (Scale && Shift) return fma(y, fetch(a.scale + i), fetch(a.shift + i));
    if (Scale) y = y * fetch(a.scale + i);
    if (Shift) y = y + fetch(a.shift + i);
    return y;
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    storeu(dst + i, value(loadu(src + i), i, [](const float* p) TERROIR_INLINE_LAMBDA { return loadu(p); }));
  }
  if (i < n) {
    const Tail t = tail(n - i);
    const auto fetch = [t](const float* p) TERROIR_INLINE_LAMBDA { return load_tail(p, t); };
    store_tail(dst + i, value(load_tail(src + i, t), i, fetch), t);
  }
}

void mvn_rows(const MvnArgs& a, int64_t rows, int64_t n) {
  if (n == 0) return;
  const float count = static_cast<float>(n);
  for (int64_t r = 0; r < rows; ++r) {
    const float* src = a.src + r * n;
    float* dst = a.dst + r * n;
    const V mean(a.centered ? sum_row(src, n, [](V x) TERROIR_INLINE_LAMBDA { return x; }) / count : 0.0f);
    V factor(1.0f);
    if (a.normalize_variance) {
      const float squares = sum_row(src, n, [mean](V x) TERROIR_INLINE_LAMBDA { return (x - mean) * (x - mean); });
      factor = factor_of(a, V(squares / count));
    }
    if (a.scale != nullptr && a.shift != nullptr) {
      write_row<true, true>(a, src, dst, n, mean, factor);
    } else if (a.scale != nullptr) {
      write_row<true, false>(a, src, dst, n, mean, factor);
    } else if (a.shift != nullptr) {
      write_row<false, true>(a, src, dst, n, mean, factor);
    } else {
      write_row<false, false>(a, src, dst, n, mean, factor);
    }
  }
}

template <bool Whole>
TERROIR_INLINE void mvn_column(const MvnArgs& a, const float* src, float* dst, int64_t axis, int64_t stride, Tail t) {
  const auto fetch = [&](int64_t i) TERROIR_INLINE_LAMBDA {
    return Whole ? loadu(src + i * stride) : load_tail(src + i * stride, t);
  };
  const auto sum = [&](auto f) TERROIR_INLINE_LAMBDA {
    V acc[kSumChains];
    unroll<kSumChains>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = zero(); });
    int64_t i = 0;
    for (; i + kSumChains <= axis; i += kSumChains) {
      unroll<kSumChains>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = acc[j] + f(fetch(i + j)); });
    }
    for (; i < axis; ++i) acc[0] = acc[0] + f(fetch(i));
    return (acc[0] + acc[1]) + (acc[2] + acc[3]);
  };
  const V count(static_cast<float>(axis));
  const V mean = sum([](V x) TERROIR_INLINE_LAMBDA { return x; }) / count;
  V factor(1.0f);
  if (a.normalize_variance) {
    factor = factor_of(a, sum([&](V x) TERROIR_INLINE_LAMBDA { return (x - mean) * (x - mean); }) / count);
  }
  for (int64_t i = 0; i < axis; ++i) {
    const V y = (fetch(i) - mean) * factor;
    if (Whole) {
      storeu(dst + i * stride, y);
    } else {
      store_tail(dst + i * stride, y, t);
    }
  }
}

// Of one vector of lanes, the sum over `n` positions `step` floats apart of f(x).
template <typename F>
TERROIR_INLINE V sum_lanes(const float* src, int64_t n, int64_t step, F f) {
  V acc[kSumChains];
  unroll<kSumChains>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = zero(); });
  int64_t i = 0;
  for (; i + kSumChains <= n; i += kSumChains) {
    unroll<kSumChains>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = acc[j] + f(loadu(src + (i + j) * step)); });
  }
  for (; i < n; ++i) acc[0] = acc[0] + f(loadu(src + i * step));
  return (acc[0] + acc[1]) + (acc[2] + acc[3]);
}

// So many columns side by side are read row by row: all rows of one vector would compete for few lines of the cache.
constexpr int64_t kStrip = 8 * kLanes;

// Of every column j, total[j] = the sum over the rows of f(x, j).
// Loops over the vectors of a strip stay loops: unrolled they are five kilobytes, and hardly faster.
template <typename F>
TERROIR_INLINE void sum_strip(const float* src, int64_t axis, int64_t stride, float* total, F f) {
  for (int64_t j = 0; j < kStrip; ++j) total[j] = 0.0f;
  int64_t i = 0;
  for (; i + kSumChains <= axis; i += kSumChains) {
#pragma GCC unroll 2
    for (int64_t j = 0; j < kStrip; j += kLanes) {
      const float* p = src + i * stride + j;
      const auto at = [&](int64_t row) TERROIR_INLINE_LAMBDA { return f(loadu(p + row * stride), j); };
      storeu(total + j, loadu(total + j) + ((at(0) + at(1)) + (at(2) + at(3))));
    }
  }
  for (; i < axis; ++i)
#pragma GCC unroll 1
    for (int64_t j = 0; j < kStrip; j += kLanes)
      storeu(total + j, loadu(total + j) + f(loadu(src + i * stride + j), j));
}

void mvn_strip(const MvnArgs& a, const float* src, float* dst, int64_t axis, int64_t stride) {
  float mean[kStrip], factor[kStrip];
  const V count(static_cast<float>(axis));
  sum_strip(src, axis, stride, mean, [](V x, int64_t) TERROIR_INLINE_LAMBDA { return x; });
#pragma GCC unroll 1
  for (int64_t j = 0; j < kStrip; j += kLanes) storeu(mean + j, loadu(mean + j) / count);
  if (a.normalize_variance) {
    sum_strip(src, axis, stride, factor, [&](V x, int64_t j) TERROIR_INLINE_LAMBDA {
      const V away = x - loadu(mean + j);
      return away * away;
    });
  }
#pragma GCC unroll 1
  for (int64_t j = 0; j < kStrip; j += kLanes)
    storeu(factor + j, a.normalize_variance ? factor_of(a, loadu(factor + j) / count) : V(1.0f));
  for (int64_t i = 0; i < axis; ++i)
#pragma GCC unroll 2
    for (int64_t j = 0; j < kStrip; j += kLanes)
      storeu(dst + i * stride + j, (loadu(src + i * stride + j) - loadu(mean + j)) * loadu(factor + j));
}

void mvn_middle(const MvnArgs& a, int64_t outer, int64_t axis, int64_t inner, int64_t inner_begin, int64_t inner_end) {
  if (axis == 0) return;
  for (int64_t o = 0; o < outer; ++o) {
    const float* src = a.src + o * axis * inner;
    float* dst = a.dst + o * axis * inner;
    int64_t i = inner_begin;
    for (; i + kStrip <= inner_end; i += kStrip) mvn_strip(a, src + i, dst + i, axis, inner);
    for (; i + kLanes <= inner_end; i += kLanes) mvn_column<true>(a, src + i, dst + i, axis, inner, Tail{});
    if (i < inner_end) mvn_column<false>(a, src + i, dst + i, axis, inner, tail(inner_end - i));
  }
}

// Positions whose mean and distances are summed up in float, in two passes over what is in L1.
constexpr int64_t kMomentPositions = 128;

void moments(const float* src, int64_t positions, int64_t lanes, double* mean, double* squares) {
  for (int64_t l = 0; l < lanes; ++l) mean[l] = squares[l] = 0;
  float chunk_mean[kLanes], chunk_squares[kLanes];
  for (int64_t first = 0; first < positions; first += kMomentPositions) {
    const int64_t n = positions - first < kMomentPositions ? positions - first : kMomentPositions;
    const double before = static_cast<double>(first), all = static_cast<double>(first + n);
    for (int64_t begin = 0; begin < lanes; begin += kLanes) {
      const float* const chunk = src + first * lanes + begin;
      const V middle =
          sum_lanes(chunk, n, lanes, [](V x) TERROIR_INLINE_LAMBDA { return x; }) / V(static_cast<float>(n));
      storeu(chunk_mean, middle);
      storeu(chunk_squares,
             sum_lanes(chunk, n, lanes, [middle](V x) TERROIR_INLINE_LAMBDA { return (x - middle) * (x - middle); }));
#pragma GCC unroll 1
      for (int64_t l = 0; l < kLanes; ++l) {
        const double away = static_cast<double>(chunk_mean[l]) - mean[begin + l];
        mean[begin + l] += away * (static_cast<double>(n) / all);
        squares[begin + l] +=
            static_cast<double>(chunk_squares[l]) + away * away * (before * static_cast<double>(n) / all);
      }
    }
  }
}

// Positions whose sums of lanes are added up side by side: one's would wait for itself, which does not matter where
// vectors are short.
constexpr int64_t kPositionsAtOnce = kLanes < 8 ? 1 : 4;
// Positions of which one vector after another is written.
constexpr int64_t kTilePositions = 16;

// The vectors of channels in blocks, those behind the last channel too.
struct ChannelVectors {
  int64_t channels, block, step;
  // f(offset, channel, lanes that exist) for each.
  template <typename F>
  TERROIR_INLINE_MEMBER void each(F f) const {
    for (int64_t first = 0, offset = 0; first < channels; first += block, offset += step)
      for (int64_t l = 0; l < block; l += kLanes) {
        const int64_t left = channels - first - l;
        f(offset + l, first + l, tail(left < 0 ? 0 : left < kLanes ? left : kLanes));
      }
  }
};

// Of kPositionsAtOnce positions, `stride` apart, the mean and the variance.
void moments_of_channels(const float* src, int64_t stride, const ChannelVectors& c, float* mean, float* variance) {
  float totals[kPositionsAtOnce * kLanes];
  for (int pass = 0; pass < 2; ++pass) {
    float* const moment = pass == 0 ? mean : variance;
    V acc[kPositionsAtOnce], middle[kPositionsAtOnce];
    unroll<kPositionsAtOnce>([&](auto p) TERROIR_INLINE_LAMBDA {
      acc[p] = zero();
      middle[p] = V(moment == mean ? 0.0f : mean[p]);
    });
    c.each([&](int64_t offset, int64_t, Tail t) TERROIR_INLINE_LAMBDA {
      unroll<kPositionsAtOnce>([&](auto p) TERROIR_INLINE_LAMBDA {
        const V away = loadu(src + offset + p * stride) - middle[p];
        acc[p] = acc[p] + keep(moment == mean ? away : away * away, t);
      });
    });
    unroll<kPositionsAtOnce>([&](auto p) TERROIR_INLINE_LAMBDA { storeu(totals + p * kLanes, acc[p]); });
#pragma GCC unroll 1
    for (int64_t p = 0; p < kPositionsAtOnce; ++p)
      moment[p] = reduce_add(loadu(totals + p * kLanes)) / static_cast<float>(c.channels);
  }
}

// Not one copy of the loop for each combination of what there is.
__attribute__((noinline)) void write_positions(const float* src, float* dst, int64_t n, int64_t stride,
                                               const float* mean, const float* factor, V scale, V shift, Tail t) {
  for (int64_t p = 0, at = 0; p < n; ++p, at += stride)
    storeu(dst + at, fma(keep((loadu(src + at) - V(mean[p])) * V(factor[p]), t), scale, shift));
}

void mvn_blocks(const MvnArgs& a, int64_t positions, int64_t channels, int64_t block, int64_t step) {
  const ChannelVectors c{channels, block, step};
  float mean[kTilePositions + kPositionsAtOnce], factor[kTilePositions + kPositionsAtOnce] = {};
  for (int64_t first = 0; first < positions; first += kTilePositions) {
    const int64_t n = positions - first < kTilePositions ? positions - first : kTilePositions;
    const float* const src = a.src + first * block;
    float* const dst = a.dst + first * block;
    for (int64_t p = 0; p < n;) {
      const bool all = p + kPositionsAtOnce <= n;  // else one, so many times
      moments_of_channels(src + p * block, all ? block : 0, c, mean + p, factor + p);
      p += all ? kPositionsAtOnce : 1;
    }
#pragma GCC unroll 1
    for (int64_t i = 0; i < kTilePositions; i += kLanes)
      storeu(factor + i, a.normalize_variance ? factor_of(a, loadu(factor + i)) : V(1.0f));
    c.each([&](int64_t offset, int64_t channel, Tail t) TERROIR_INLINE_LAMBDA {
      write_positions(src + offset, dst + offset, n, block, mean, factor,
                      a.scale != nullptr ? load_tail(a.scale + channel, t) : keep(V(1.0f), t),
                      a.shift != nullptr ? load_tail(a.shift + channel, t) : zero(), t);
    });
  }
}

}  // namespace

const MvnKernels& mvn_table() {
  static constexpr MvnKernels kTable = {&mvn_rows, &mvn_middle, &moments, &mvn_blocks};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
