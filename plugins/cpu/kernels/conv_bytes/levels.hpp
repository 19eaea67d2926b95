// What: bytes from floats, and back, by the words of the bucket. Include one bucket header first: avx2, or one of those
// beside avx512.
#pragma once

#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"
#include "plugins/cpu/simd/pairs.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Those of 16 channels from `channel` on.
struct Levels {
  Levels(const ByteLevels& levels, int64_t channel)
      : low(loadu(levels.low + channel)), steps(loadu(levels.steps + channel)), most(levels.most) {}
  V low, steps, most;
};

TERROIR_INLINE VI levels_of(V x, const Levels& levels) {
  // In this order NaN becomes 0.
  return to_int(min(max((x - levels.low) * levels.steps, zero()), levels.most));
}

TERROIR_INLINE void store_part(const ByteConvRow& row, float* dst, V x, int64_t lanes) {
  if (lanes == kLanes) return storeu(dst, x);
  if (row.pads) return storeu(dst, keep(x, tail(lanes)));
  store_n(dst, x, lanes);
}

TERROIR_INLINE V load_lanes(const float* p, int64_t lanes) { return lanes == kLanes ? loadu(p) : load_n(p, lanes); }

#if defined(__AVX512F__)
TERROIR_INLINE void store_lanes(uint8_t* dst, VI x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm512_cvtepi32_epi8(x));
}
TERROIR_INLINE VI keep_lanes(VI x, int64_t lanes) { return VI(_mm512_maskz_mov_epi32(tail(lanes).mask, x)); }

// Bytes of four vectors, one behind the other.
TERROIR_INLINE void store_four(uint8_t* dst, VI a, VI b, VI c, VI d) {
  const __m512i quads = _mm512_packus_epi16(_mm512_packus_epi32(a, b), _mm512_packus_epi32(c, d));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(dst, _mm512_permutexvar_epi32(order, quads));
}

TERROIR_INLINE V float_bytes(const uint8_t* src, int64_t lanes) {
  const __m128i bytes = _mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << lanes) - 1), src);
  return to_float(VI(_mm512_cvtepu8_epi32(bytes)));
}
#else
TERROIR_INLINE void store_lanes(uint8_t* dst, VI x) { store_bytes(dst, x, kLanes); }
TERROIR_INLINE VI keep_lanes(VI x, int64_t lanes) { return VI(_mm256_and_si256(x, tail(lanes).mask)); }

TERROIR_INLINE void store_four(uint8_t* dst, VI a, VI b, VI c, VI d) {
  const __m256i quads = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), _mm256_permutevar8x32_epi32(quads, order));
}

TERROIR_INLINE V float_bytes(const uint8_t* src, int64_t lanes) {
  uint64_t bytes = 0;
  if (lanes == kLanes)
    __builtin_memcpy(&bytes, src, sizeof(bytes));
  else
    for (int64_t i = 0; i < lanes; ++i) bytes |= static_cast<uint64_t>(src[i]) << (8 * i);
  return to_float(VI(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes)))));
}
#endif

TERROIR_INLINE void store_part(const ByteConvRow& row, uint8_t* dst, VI x, int64_t lanes) {
  if (lanes == kLanes) return store_lanes(dst, x);
  if (row.pads) return store_lanes(dst, keep_lanes(x, lanes));
  store_bytes(dst, x, lanes);
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
