// What: binary convolution of one bucket. Contract: bitconv.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/bitconv/bitconv.hpp"
#include "plugins/cpu/simd/bits.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr int64_t kWordBits = 64;

// One column of padding.
TERROIR_INLINE void pad_column(const BitConvArgs& a, uint64_t* bits) {
  for (int64_t w = 0; w < a.words; ++w) {
    const int64_t left = a.channels - w * kWordBits;
    const uint64_t all = left >= kWordBits ? ~uint64_t{0} : (uint64_t{1} << left) - 1;
    bits[w] = a.pad_value == 1.0f ? all : 0;
    bits[a.words + w] = a.pad_value == 0.0f ? all : 0;
  }
}

TERROIR_INLINE void pack_column(const BitConvArgs& a, const float* src, int64_t block_stride, uint64_t* bits) {
  for (int64_t w = 0; w < 2 * a.words; ++w) bits[w] = 0;
  for (int64_t c = 0; c < a.channels; c += a.block, src += block_stride) {
    for (int64_t lane = 0; lane < a.block; lane += kLanes) {
      const V x = loadu(src + lane);
      const int64_t at = c + lane, shift = at % kWordBits;
      bits[at / kWordBits] |= static_cast<uint64_t>(lane_bits(x == V(1.0f))) << shift;
      bits[a.words + at / kWordBits] |= static_cast<uint64_t>(lane_bits(x == zero())) << shift;
    }
  }
}

void pack(const BitConvArgs& a, int64_t row_begin, int64_t row_end) {
  for (int64_t row = row_begin; row < row_end; ++row) {
    const int64_t y = row - a.pad[0];
    uint64_t* bits = a.bits + row * a.padded[1] * 2 * a.words;
    for (int64_t column = 0; column < a.padded[1]; ++column, bits += 2 * a.words) {
      const int64_t x = column - a.pad[1];
      if (y < 0 || y >= a.in[0] || x < 0 || x >= a.in[1]) {
        pad_column(a, bits);
      } else {
        pack_column(a, a.src + (y * a.in[1] + x) * a.block, a.in[0] * a.in[1] * a.block, bits);
      }
    }
  }
}

// Agreeing bits of kBitCounters outputs at one position.
TERROIR_INLINE void agreements(const BitConvArgs& a, const uint64_t* bits, const uint64_t* w, int64_t* totals) {
  BitCounts counts;
  int64_t unflushed = 0;
  for (int64_t kh = 0; kh < a.kernel[0]; ++kh) {
    for (int64_t kw = 0; kw < a.kernel[1]; ++kw) {
      const uint64_t* x = bits + (kh * a.dilation[0] * a.padded[1] + kw * a.dilation[1]) * 2 * a.words;
      for (int64_t i = 0; i < a.words; ++i, w += kBitCounters) {
        counts.add(w, x[i], x[a.words + i]);
        if (++unflushed == kBitsUnflushed) {
          counts.flush();
          unflushed = 0;
        }
      }
    }
  }
  counts.flush();
  counts.totals(totals);
}

void count(const BitConvArgs& a, int64_t row_begin, int64_t row_end, int64_t group_begin, int64_t group_end) {
  const int64_t taps = a.kernel[0] * a.kernel[1], all = taps * a.channels, positions = a.out[0] * a.out[1];
  for (int64_t row = row_begin; row < row_end; ++row) {
    for (int64_t group = group_begin; group < group_end; ++group) {
      const int64_t o = group * kBitCounters;
      const uint64_t* w = a.weights + o * taps * a.words;
      float* dst = a.dst + (o / a.block * positions + row * a.out[1]) * a.block + o % a.block;
      const uint64_t* bits = a.bits + row * a.stride[0] * a.padded[1] * 2 * a.words;
      for (int64_t column = 0; column < a.out[1]; ++column, dst += a.block, bits += a.stride[1] * 2 * a.words) {
        int64_t totals[kBitCounters];
        agreements(a, bits, w, totals);
        for (int64_t i = 0; i < kBitCounters; ++i)
          dst[i] = o + i < a.outputs ? static_cast<float>(2 * totals[i] - all) : 0.0f;
      }
    }
  }
}

}  // namespace

const BitConvKernels& bitconv_table() {
  static constexpr BitConvKernels kTable = {kBitCounters, &pack, &count};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
