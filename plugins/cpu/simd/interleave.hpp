// What: words for elements that lie two apart, for the bucket whose header was included first. xsimd 8.1 has none.
//   every_second(p)            lanes p[0], p[2], p[4] ...; reads nothing behind the last of them
//   take_apart(p, even, odd)   p[0], p[2] ... and p[1], p[3] ... of 2 kLanes floats
//   put_together(even, odd, p) the other way
#pragma once

#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {

#if defined(__AVX512F__)

TERROIR_INLINE V every_second(const float* p) {
  // The even places of the first half, and the odd ones of a second that begins one earlier.
  const __m512i places = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
  return V(_mm512_permutex2var_ps(loadu(p), places, loadu(p + kLanes - 1)));
}
TERROIR_INLINE void take_apart(const float* p, V& even, V& odd) {
  const __m512i first = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const V low = loadu(p), high = loadu(p + kLanes);
  even = V(_mm512_permutex2var_ps(low, first, high));
  odd = V(_mm512_permutex2var_ps(low, _mm512_add_epi32(first, _mm512_set1_epi32(1)), high));
}
TERROIR_INLINE void put_together(V even, V odd, float* p) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  storeu(p, V(_mm512_permutex2var_ps(even, low, odd)));
  storeu(p + kLanes, V(_mm512_permutex2var_ps(even, _mm512_add_epi32(low, _mm512_set1_epi32(8)), odd)));
}

#elif defined(__AVX2__)

TERROIR_INLINE V pairs_in_order(__m256 x) {
  return V(_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), _MM_SHUFFLE(3, 1, 2, 0))));
}
TERROIR_INLINE V every_second(const float* p) {
  return pairs_in_order(_mm256_shuffle_ps(loadu(p), loadu(p + kLanes - 1), _MM_SHUFFLE(3, 1, 2, 0)));
}
TERROIR_INLINE void take_apart(const float* p, V& even, V& odd) {
  const V low = loadu(p), high = loadu(p + kLanes);
  even = pairs_in_order(_mm256_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
  odd = pairs_in_order(_mm256_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)));
}
TERROIR_INLINE void put_together(V even, V odd, float* p) {
  const __m256 a = _mm256_unpacklo_ps(even, odd), b = _mm256_unpackhi_ps(even, odd);
  storeu(p, V(_mm256_permute2f128_ps(a, b, 0x20)));
  storeu(p + kLanes, V(_mm256_permute2f128_ps(a, b, 0x31)));
}

#elif defined(__SSE4_2__)

TERROIR_INLINE V every_second(const float* p) {
  return V(_mm_shuffle_ps(loadu(p), loadu(p + kLanes - 1), _MM_SHUFFLE(3, 1, 2, 0)));
}
TERROIR_INLINE void take_apart(const float* p, V& even, V& odd) {
  const V low = loadu(p), high = loadu(p + kLanes);
  even = V(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
  odd = V(_mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)));
}
TERROIR_INLINE void put_together(V even, V odd, float* p) {
  storeu(p, V(_mm_unpacklo_ps(even, odd)));
  storeu(p + kLanes, V(_mm_unpackhi_ps(even, odd)));
}

#else

TERROIR_INLINE V every_second(const float* p) {
  float even[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) even[i] = p[2 * i];
  return loadu(even);
}
TERROIR_INLINE void take_apart(const float* p, V& even, V& odd) {
  even = every_second(p);
  odd = every_second(p + 1);
}
TERROIR_INLINE void put_together(V even, V odd, float* p) {
  float first[kLanes], second[kLanes];
  storeu(first, even);
  storeu(second, odd);
  for (int64_t i = 0; i < kLanes; ++i) {
    p[2 * i] = first[i];
    p[2 * i + 1] = second[i];
  }
}

#endif

}  // namespace terroir::cpu::TERROIR_ISA
