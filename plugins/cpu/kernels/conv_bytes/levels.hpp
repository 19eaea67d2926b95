// What: bytes and numbers of bf16 from floats, and back, by the words of the bucket. Include one bucket header first,
// of those beside avx512.
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

TERROIR_INLINE void store_16(uint8_t* dst, VI x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm512_cvtepi32_epi8(x));
}
TERROIR_INLINE void store_part(const ByteConvRow& row, uint8_t* dst, VI x, int64_t lanes) {
  if (lanes == kLanes) return store_16(dst, x);
  if (row.pads) return store_16(dst, VI(_mm512_maskz_mov_epi32(tail(lanes).mask, x)));
  store_bytes(dst, x, lanes);
}

// Nearest, ties to even; NaN stays NaN.
TERROIR_INLINE __m256i to_bf16(V x) {
  const __m512i bits = _mm512_castps_si512(x), upper = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_epi32(upper, _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_epi32(upper, _mm512_set1_epi32(0x40));
  return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(_mm512_srli_epi32(rounded, 16), nan, quiet));
}
TERROIR_INLINE V of_bf16(const uint16_t* src, int64_t lanes) {
  const __m256i numbers = _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << lanes) - 1), src);
  return V(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(numbers), 16)));
}
TERROIR_INLINE void store_part(const ByteConvRow& row, uint16_t* dst, V x, int64_t lanes) {
  const auto inside = static_cast<__mmask16>((1u << lanes) - 1);
  const __m256i numbers = to_bf16(x);
  if (lanes == kLanes || row.pads)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), _mm256_maskz_mov_epi16(inside, numbers));
  else
    _mm256_mask_storeu_epi16(dst, inside, numbers);
}

// Bytes of four vectors, one behind the other.
TERROIR_INLINE void store_64(uint8_t* dst, VI a, VI b, VI c, VI d) {
  const __m512i quads = _mm512_packus_epi16(_mm512_packus_epi32(a, b), _mm512_packus_epi32(c, d));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(dst, _mm512_permutexvar_epi32(order, quads));
}

TERROIR_INLINE V float_bytes(const uint8_t* src, int64_t lanes) {
  const __m128i bytes = _mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << lanes) - 1), src);
  return to_float(VI(_mm512_cvtepu8_epi32(bytes)));
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
