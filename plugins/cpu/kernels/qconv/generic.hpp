// What: 8-bit convolution of one bucket. Contract: qconv.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/qconv/qconv.hpp"
#include "plugins/cpu/simd/pairs.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// rows x 2 sums, two vectors of samples, a weight and a product must fit the registers. More rows than 8 would only
// save loads, which do not limit this loop.
#if defined(__AVX512F__)
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr int64_t kStep = 2 * kLanes;
constexpr int64_t kMostPositions = 256;

// Output positions of one row that follow each other.
struct Segment {
  int64_t at, count;    // in the tile
  int64_t origin[3];    // source position under tap 0 of the first
  int64_t first, last;  // those of [0, count) whose sample under the current tap is inside
  int64_t offset;       // of the sample of position `first`, in a channel
};

TERROIR_INLINE int64_t round_up_quotient(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }

TERROIR_INLINE int64_t segments_of(const QConvArgs& a, int64_t begin, int64_t count, Segment* segments) {
  int64_t n = 0;
  for (int64_t at = 0; at < count; ++n) {
    const int64_t position = begin + at, w = position % a.out[2], row = position / a.out[2];
    Segment& s = segments[n];
    s.at = at;
    s.count = a.out[2] - w < count - at ? a.out[2] - w : count - at;
    s.origin[0] = row / a.out[1] * a.stride[0] - a.pad[0];
    s.origin[1] = row % a.out[1] * a.stride[1] - a.pad[1];
    s.origin[2] = w * a.stride[2] - a.pad[2];
    at += s.count;
  }
  return n;
}

TERROIR_INLINE void aim(const QConvArgs& a, Segment& s, int64_t kd, int64_t kh, int64_t kw) {
  const int64_t d = s.origin[0] + kd * a.dilation[0], h = s.origin[1] + kh * a.dilation[1];
  const int64_t w = s.origin[2] + kw * a.dilation[2];
  s.first = s.last = 0;
  if (d < 0 || d >= a.in[0] || h < 0 || h >= a.in[1]) return;
  const int64_t first = round_up_quotient(-w, a.stride[2]), last = round_up_quotient(a.in[2] - w, a.stride[2]);
  s.first = first < s.count ? first : s.count;
  s.last = last < s.count ? last : s.count;
  s.last = s.last > s.first ? s.last : s.first;
  s.offset = (d * a.in[1] + h) * a.in[2] + w + s.first * a.stride[2];
}

// Step: the stride if it is known, so that loads of it are vectors; else 0.
// One pair of channels under one tap: x and y at the first sample inside. y is null where the last channel has no
// partner.
template <int Step>
TERROIR_INLINE void unfold_pair(const QConvArgs& a, const Segment& s, const uint8_t* x, const uint8_t* y,
                                int32_t* TERROIR_RESTRICT out) {
  const int64_t step = Step > 0 ? Step : a.stride[2];
  const int32_t flip = a.src_flip, zero = a.src_zero;
  for (int64_t i = 0; i < s.first; ++i) out[i] = 0;
  int32_t* inside = out + s.first;
  const int64_t n = s.last - s.first;
  if (y != nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      const int32_t low = (x[i * step] ^ flip) - zero, high = (y[i * step] ^ flip) - zero;
      inside[i] = static_cast<int32_t>(static_cast<uint32_t>(high) << 16 | (static_cast<uint32_t>(low) & 0xffff));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) inside[i] = ((x[i * step] ^ flip) - zero) & 0xffff;
  }
  for (int64_t i = s.last; i < s.count; ++i) out[i] = 0;
}

template <int Step>
TERROIR_INLINE void unfold_taps(const QConvArgs& a, Segment* segments, int64_t n) {
  const int64_t plane = a.in[0] * a.in[1] * a.in[2];
  int32_t* out = a.columns;
  for (int64_t kd = 0; kd < a.kernel[0]; ++kd) {
    for (int64_t kh = 0; kh < a.kernel[1]; ++kh) {
      for (int64_t kw = 0; kw < a.kernel[2]; ++kw) {
        for (int64_t i = 0; i < n; ++i) aim(a, segments[i], kd, kh, kw);
        for (int64_t c = 0; c < a.channels; c += 2, out += a.tile) {
          for (int64_t i = 0; i < n; ++i) {
            const Segment& s = segments[i];
            if (s.first == s.last) {
              for (int64_t j = 0; j < s.count; ++j) out[s.at + j] = 0;
              continue;
            }
            const uint8_t* x = a.src + c * plane + s.offset;
            unfold_pair<Step>(a, s, x, c + 1 < a.channels ? x + plane : nullptr, out + s.at);
          }
        }
      }
    }
  }
}

void unfold(const QConvArgs& args, int64_t begin, int64_t count) {
  Segment segments[kMostPositions];
  const int64_t n = segments_of(args, begin, count, segments);
  // The product reads whole vectors. What it makes of positions behind the last one is not stored.
  const int64_t depth = args.kernel[0] * args.kernel[1] * args.kernel[2] * ((args.channels + 1) / 2);
  for (int64_t k = 0; count % kLanes != 0 && k < depth; ++k)
    for (int64_t i = count; i % kLanes != 0; ++i) args.columns[k * args.tile + i] = 0;
  switch (args.stride[2]) {
    case 1:
      return unfold_taps<1>(args, segments, n);
    case 2:
      return unfold_taps<2>(args, segments, n);
    default:
      return unfold_taps<0>(args, segments, n);
  }
}

int64_t most_columns(int64_t columns) { return (columns + kLanes - 1) / kLanes * kLanes; }

template <int Step>
TERROIR_INLINE void spread_rows(const QConvArgs& a, int64_t d, int64_t row_begin, int64_t row_end) {
  const int64_t plane = a.in[0] * a.in[1] * a.in[2], phases = a.stride[2];
  const int64_t used = (row_end - row_begin - 1) * a.stride[1] + (a.kernel[1] - 1) * a.dilation[1] + 1;
  int32_t* out = a.columns;
  for (int64_t c = 0; c < a.channels; c += 2) {
    for (int64_t kd = 0; kd < a.kernel[0]; ++kd, out += a.band_rows * phases * a.band_columns) {
      const int64_t z = d * a.stride[0] - a.pad[0] + kd * a.dilation[0];
      for (int64_t row = 0; row < used; ++row) {
        const int64_t y = row_begin * a.stride[1] - a.pad[1] + row;
        const bool inside = z >= 0 && z < a.in[0] && y >= 0 && y < a.in[1];
        for (int64_t phase = 0; phase < phases; ++phase) {
          int32_t* to = out + (row * phases + phase) * a.band_columns;
          const int64_t x = phase - a.pad[2];
          const int64_t first = round_up_quotient(-x, phases), last = round_up_quotient(a.in[2] - x, phases);
          Segment s{};
          s.count = a.band_columns;
          s.first = first < s.count ? first : s.count;
          s.last = last < s.count ? last : s.count;
          if (!inside || s.last <= s.first) {
            for (int64_t i = 0; i < s.count; ++i) to[i] = 0;
            continue;
          }
          const uint8_t* src = a.src + c * plane + (z * a.in[1] + y) * a.in[2] + x + s.first * phases;
          unfold_pair<Step>(a, s, src, c + 1 < a.channels ? src + plane : nullptr, to);
        }
      }
    }
  }
}

void spread(const QConvArgs& args, int64_t d, int64_t row_begin, int64_t row_end) {
  switch (args.stride[2]) {
    case 1:
      return spread_rows<1>(args, d, row_begin, row_end);
    case 2:
      return spread_rows<2>(args, d, row_begin, row_end);
    default:
      return spread_rows<0>(args, d, row_begin, row_end);
  }
}

TERROIR_INLINE VI requantised(const QConvArgs& args, VI sum, float multiplier) {
  const V scaled = to_float(sum) * V(multiplier);
  return to_int(min(max(scaled, V(args.low)), V(args.high))) + VI(args.dst_zero);
}

template <int R, int C>
void multiply_tile(const QConvArgs& args, const int32_t* TERROIR_RESTRICT w, const int32_t* TERROIR_RESTRICT x,
                   int64_t channel, int64_t position, int64_t count) {
  VI acc[R][C];
  unroll<R>([&](auto r) TERROIR_INLINE_LAMBDA {
    unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA { acc[r][c] = VI(args.bias[channel + r]); });
  });
  const int64_t depth = args.kernel[0] * args.kernel[1] * args.kernel[2] * ((args.channels + 1) / 2);
  for (int64_t k = 0; k < depth; ++k, w += R, x += args.tile) {
    VI samples[C];
    unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA { samples[c] = load_int(x + c * kLanes); });
    unroll<R>([&](auto r) TERROIR_INLINE_LAMBDA {
      const VI weight(w[r]);
      unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA { acc[r][c] = acc[r][c] + madd_pairs(samples[c], weight); });
    });
  }
  const int64_t positions = args.out[0] * args.out[1] * args.out[2];
  unroll<R>([&](auto r) TERROIR_INLINE_LAMBDA {
    uint8_t* dst = args.dst + (channel + r) * positions + position;
    unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA {
      const int64_t left = count - c * kLanes;
      store_bytes(dst + c * kLanes, requantised(args, acc[r][c], args.multipliers[channel + r]),
                  left < kLanes ? left : kLanes);
    });
  });
}

template <int C, int R = 1>
TERROIR_INLINE void multiply_rows(int64_t rows, const QConvArgs& args, const int32_t* w, const int32_t* x,
                                  int64_t channel, int64_t position, int64_t count) {
  if constexpr (R < kRows) {
    if (rows != R) return multiply_rows<C, R + 1>(rows, args, w, x, channel, position, count);
  }
  multiply_tile<R, C>(args, w, x, channel, position, count);
}

void multiply(const QConvArgs& args, int64_t begin, int64_t count, int64_t block_begin, int64_t block_end) {
  const int64_t depth = args.kernel[0] * args.kernel[1] * args.kernel[2] * ((args.channels + 1) / 2);
  const int64_t rows = args.out_channels / args.blocks, larger = args.out_channels % args.blocks;
  for (int64_t block = block_begin; block < block_end; ++block) {
    const int64_t channel = block * rows + (block < larger ? block : larger), own = rows + (block < larger ? 1 : 0);
    const int32_t* w = args.weights + channel * depth;
    for (int64_t at = 0; at < count; at += kStep) {
      const int64_t left = count - at < kStep ? count - at : kStep;
      if (left > kLanes) {
        multiply_rows<2>(own, args, w, args.columns + at, channel, begin + at, left);
      } else {
        multiply_rows<1>(own, args, w, args.columns + at, channel, begin + at, left);
      }
    }
  }
}

// C vectors of neighbouring outputs of one channel.
template <int C>
TERROIR_INLINE void band_tile(const QConvArgs& a, const int32_t* x, int64_t depth, int64_t channel, uint8_t* dst,
                              int64_t count) {
  VI acc[C];
  unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA { acc[c] = VI(a.bias[channel]); });
  for (int64_t k = 0; k < depth; ++k) {
    const VI weight(a.weights[k * a.out_channels + channel]);
    const int32_t* samples = x + a.tap_offsets[k];
    unroll<C>([&](auto c)
                  TERROIR_INLINE_LAMBDA { acc[c] = acc[c] + madd_pairs(load_int(samples + c * kLanes), weight); });
  }
  unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA {
    const int64_t left = count - c * kLanes;
    store_bytes(dst + c * kLanes, requantised(a, acc[c], a.multipliers[channel]), left < kLanes ? left : kLanes);
  });
}

void multiply_band(const QConvArgs& a, int64_t d, int64_t row_begin, int64_t row_end) {
  const int64_t depth = a.kernel[0] * a.kernel[1] * a.kernel[2] * ((a.channels + 1) / 2);
  for (int64_t channel = 0; channel < a.out_channels; ++channel) {
    for (int64_t row = row_begin; row < row_end; ++row) {
      const int32_t* x = a.columns + (row - row_begin) * a.stride[1] * a.stride[2] * a.band_columns;
      uint8_t* dst = a.dst + ((channel * a.out[0] + d) * a.out[1] + row) * a.out[2];
      int64_t w = 0;
      for (; a.out[2] - w > 3 * kLanes; w += 4 * kLanes) band_tile<4>(a, x + w, depth, channel, dst + w, a.out[2] - w);
      if (a.out[2] - w > 2 * kLanes) {
        band_tile<3>(a, x + w, depth, channel, dst + w, a.out[2] - w);
      } else if (a.out[2] - w > kLanes) {
        band_tile<2>(a, x + w, depth, channel, dst + w, a.out[2] - w);
      } else if (a.out[2] > w) {
        band_tile<1>(a, x + w, depth, channel, dst + w, a.out[2] - w);
      }
    }
  }
}

}  // namespace

const QConvKernels& qconv_table() {
  static constexpr QConvKernels kTable = {kRows,         kStep,   kMostPositions, &unfold,
                                          &most_columns, &spread, &multiply_band, &multiply};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
