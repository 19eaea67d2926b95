// What: words that add up the lanes of several vectors at once, for the bucket whose header was included first: avx2
// or avx512. They take half of what transposing and adding would.
//   half_sums(r)      of kLanes / 2 vectors, as far as one vector can hold
//   join_sums(a, b)   lane l is the sum of the lanes of vector l, of those behind a and then of those behind b
// The order of each sum is fixed and the same in every lane.
#pragma once

#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {

#if defined(__AVX512F__)

// Lane l of each quarter: the sum of that quarter of vector l.
TERROIR_INLINE V quarter_sums(V r0, V r1, V r2, V r3) {
  const __m512 a = _mm512_add_ps(_mm512_unpacklo_ps(r0, r1), _mm512_unpackhi_ps(r0, r1));
  const __m512 b = _mm512_add_ps(_mm512_unpacklo_ps(r2, r3), _mm512_unpackhi_ps(r2, r3));
  return V(_mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee)));
}
TERROIR_INLINE V add_quarters(V a, V b) {
  return V(_mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd)));
}
TERROIR_INLINE V half_sums(const V (&r)[8]) {
  return add_quarters(quarter_sums(r[0], r[1], r[2], r[3]), quarter_sums(r[4], r[5], r[6], r[7]));
}
TERROIR_INLINE V join_sums(V a, V b) { return add_quarters(a, b); }

#else

TERROIR_INLINE V half_sums(const V (&r)[4]) {
  return V(_mm256_hadd_ps(_mm256_hadd_ps(r[0], r[1]), _mm256_hadd_ps(r[2], r[3])));
}
TERROIR_INLINE V join_sums(V a, V b) {
  return V(_mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)));
}

#endif

}  // namespace terroir::cpu::TERROIR_ISA
