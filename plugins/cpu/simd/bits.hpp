// What: words for bits, on the vectors of the bucket whose header was included first.
//   lane_bits(m)       bit l is lane l of a mask of floats
//   BitCounts          counters of kBitCounters sums at once:
//     add(w, a, b)     counts the bits of (w[i] & a) | (~w[i] & b) for counter i
//     flush()          at the latest after kBitsUnflushed additions, and before totals
//     totals(n)        the sums
// Counting: bytes by table where vectors have a shuffle wide enough to pay, else whole words by the instruction.
#pragma once

#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {

#if defined(__AVX512BW__)

TERROIR_INLINE uint32_t lane_bits(M m) { return static_cast<uint32_t>(static_cast<__mmask16>(m)); }

inline constexpr int64_t kBitCounters = 16;
inline constexpr int64_t kBitsUnflushed = 31;

struct BitCounts {
  __m512i bytes[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  __m512i sums[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};

  TERROIR_INLINE_MEMBER void add(const uint64_t* w, uint64_t a, uint64_t b) {
    const __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m512i nibble = _mm512_set1_epi8(0x0f), ones = _mm512_set1_epi64(static_cast<int64_t>(a));
    const __m512i zeros = _mm512_set1_epi64(static_cast<int64_t>(b));
    for (int i = 0; i < 2; ++i) {
      // 0xca: the bit of the first operand chooses: set ? second : third.
      const __m512i x = _mm512_ternarylogic_epi64(_mm512_loadu_si512(w + 8 * i), ones, zeros, 0xca);
      const __m512i low = _mm512_shuffle_epi8(table, _mm512_and_si512(x, nibble));
      const __m512i high = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(x, 4), nibble));
      bytes[i] = _mm512_add_epi8(bytes[i], _mm512_add_epi8(low, high));
    }
  }
  TERROIR_INLINE_MEMBER void flush() {
    for (int i = 0; i < 2; ++i) {
      sums[i] = _mm512_add_epi64(sums[i], _mm512_sad_epu8(bytes[i], _mm512_setzero_si512()));
      bytes[i] = _mm512_setzero_si512();
    }
  }
  TERROIR_INLINE_MEMBER void totals(int64_t* n) const {
    for (int i = 0; i < 2; ++i) _mm512_storeu_si512(n + 8 * i, sums[i]);
  }
};

#elif defined(__AVX2__)

TERROIR_INLINE uint32_t lane_bits(M m) { return static_cast<uint32_t>(_mm256_movemask_ps(m)); }

inline constexpr int64_t kBitCounters = 8;
inline constexpr int64_t kBitsUnflushed = 31;

struct BitCounts {
  __m256i bytes[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  __m256i sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};

  TERROIR_INLINE_MEMBER void add(const uint64_t* w, uint64_t a, uint64_t b) {
    const __m256i table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i nibble = _mm256_set1_epi8(0x0f), ones = _mm256_set1_epi64x(static_cast<int64_t>(a));
    const __m256i zeros = _mm256_set1_epi64x(static_cast<int64_t>(b));
    for (int i = 0; i < 2; ++i) {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 4 * i));
      const __m256i x = _mm256_or_si256(_mm256_and_si256(bits, ones), _mm256_andnot_si256(bits, zeros));
      const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, nibble));
      const __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
      bytes[i] = _mm256_add_epi8(bytes[i], _mm256_add_epi8(low, high));
    }
  }
  TERROIR_INLINE_MEMBER void flush() {
    for (int i = 0; i < 2; ++i) {
      sums[i] = _mm256_add_epi64(sums[i], _mm256_sad_epu8(bytes[i], _mm256_setzero_si256()));
      bytes[i] = _mm256_setzero_si256();
    }
  }
  TERROIR_INLINE_MEMBER void totals(int64_t* n) const {
    for (int i = 0; i < 2; ++i) _mm256_storeu_si256(reinterpret_cast<__m256i*>(n + 4 * i), sums[i]);
  }
};

#else

#if defined(__SSE4_2__)
TERROIR_INLINE uint32_t lane_bits(M m) { return static_cast<uint32_t>(_mm_movemask_ps(m)); }
TERROIR_INLINE int64_t count_bits(uint64_t x) { return _mm_popcnt_u64(x); }
#else
TERROIR_INLINE uint32_t lane_bits(M m) {
  return static_cast<uint32_t>((m.v[0] & 1) | (m.v[1] & 2) | (m.v[2] & 4) | (m.v[3] & 8));
}
TERROIR_INLINE int64_t count_bits(uint64_t x) {
  x -= (x >> 1) & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return static_cast<int64_t>((x * 0x0101010101010101u) >> 56);
}
#endif

inline constexpr int64_t kBitCounters = 4;
inline constexpr int64_t kBitsUnflushed = 1 << 30;

struct BitCounts {
  int64_t sums[4] = {0, 0, 0, 0};

  TERROIR_INLINE_MEMBER void add(const uint64_t* w, uint64_t a, uint64_t b) {
    for (int i = 0; i < 4; ++i) sums[i] += count_bits((w[i] & a) | (~w[i] & b));
  }
  TERROIR_INLINE_MEMBER void flush() {}
  TERROIR_INLINE_MEMBER void totals(int64_t* n) const {
    for (int i = 0; i < 4; ++i) n[i] = sums[i];
  }
};

#endif

}  // namespace terroir::cpu::TERROIR_ISA
