// What: words for 8-bit arithmetic in 16-bit pairs, on the vectors of the bucket whose header was included first. xsimd
// 8.1 has none of them.
//   madd_pairs(a, b)       each 32-bit lane: low16(a) * low16(b) + high16(a) * high16(b), signed, wrapping
//   store_bytes(p, v, n)   the low bytes of the first n lanes; n <= kLanes; touches no byte outside them
#pragma once

#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {

#if defined(__AVX512BW__)
TERROIR_INLINE VI madd_pairs(VI a, VI b) { return VI(_mm512_madd_epi16(a, b)); }
TERROIR_INLINE void store_bytes(uint8_t* p, VI v, int64_t n) { _mm512_mask_cvtepi32_storeu_epi8(p, tail(n).mask, v); }
#else
#if defined(__AVX2__)
TERROIR_INLINE VI madd_pairs(VI a, VI b) { return VI(_mm256_madd_epi16(a, b)); }
TERROIR_INLINE uint64_t low_bytes(VI v) {
  const __m256i order = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  //
                                         0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i bytes = _mm256_shuffle_epi8(v, order);
  const __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(both));
}
#elif defined(__SSE4_2__)
TERROIR_INLINE VI madd_pairs(VI a, VI b) { return VI(_mm_madd_epi16(a, b)); }
TERROIR_INLINE uint32_t low_bytes(VI v) {
  const __m128i order = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_shuffle_epi8(v, order)));
}
#else
TERROIR_INLINE VI madd_pairs(VI a, VI b) {
  const I4 low = (((I4)((U4)a.v << 16)) >> 16) * (((I4)((U4)b.v << 16)) >> 16);
  return VI((I4)((U4)low + (U4)((a.v >> 16) * (b.v >> 16))));
}
TERROIR_INLINE uint32_t low_bytes(VI v) {
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word |= (static_cast<uint32_t>(v.v[i]) & 0xff) << (8 * i);
  return word;
}
#endif
TERROIR_INLINE void store_bytes(uint8_t* p, VI v, int64_t n) {
  auto word = low_bytes(v);
  if (n == kLanes) {
    __builtin_memcpy(p, &word, sizeof(word));
    return;
  }
  for (int64_t i = 0; i < n; ++i, word >>= 8) p[i] = static_cast<uint8_t>(word);
}
#endif

}  // namespace terroir::cpu::TERROIR_ISA
