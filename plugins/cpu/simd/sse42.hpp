// What: the sse42 bucket: 4 lanes, no fused multiply-add. Words: batch.hpp. Only for files compiled with -msse4.2.
#pragma once

#include "plugins/cpu/simd/xsimd_std_headers.hpp"

#include <nmmintrin.h>

// Every xsimd symbol gets a name of its own per bucket, so the linker can never pick another bucket's copy.
#define xsimd xsimd_sse42
#include <xsimd/xsimd.hpp>

#define TERROIR_ISA sse42

namespace terroir::cpu::sse42 {
using Arch = xsimd::sse4_2;
}

#include "plugins/cpu/simd/batch.hpp"

namespace terroir::cpu::sse42 {

TERROIR_INLINE V fma(V a, V b, V c) { return a * b + c; }
TERROIR_INLINE V fms(V a, V b, V c) { return a * b - c; }
TERROIR_INLINE V fnma(V a, V b, V c) { return c - a * b; }

struct Tail {
  int64_t n;
};
TERROIR_INLINE Tail tail(int64_t n) { return {n}; }

TERROIR_INLINE V load_tail(const float* p, Tail t) {
  switch (t.n) {
    case 0:
      return zero();
    case 1:
      return V(_mm_load_ss(p));
    case 2:
      return V(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
    case 3:
      return V(
          _mm_movelh_ps(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))), _mm_load_ss(p + 2)));
    default:
      return loadu(p);
  }
}

TERROIR_INLINE void store_tail(float* p, V v, Tail t) {
  switch (t.n) {
    case 0:
      return;
    case 1:
      return _mm_store_ss(p, v);
    case 2:
      return _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_castps_si128(v));
    case 3:
      _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_castps_si128(v));
      return _mm_store_ss(p + 2, _mm_movehl_ps(v, v));
    default:
      return storeu(p, v);
  }
}

TERROIR_INLINE V keep(V v, Tail t) {
  const __m128i n = _mm_set1_epi32(static_cast<int>(t.n));
  return V(_mm_and_ps(v, _mm_castsi128_ps(_mm_cmpgt_epi32(n, _mm_setr_epi32(0, 1, 2, 3)))));
}

TERROIR_INLINE V abs(V x) { return V(_mm_andnot_ps(_mm_set1_ps(-0.0f), x)); }
TERROIR_INLINE V copy_sign(V magnitude, V sign) {
  const __m128 bit = _mm_set1_ps(-0.0f);
  return V(_mm_or_ps(_mm_andnot_ps(bit, magnitude), _mm_and_ps(bit, sign)));
}
TERROIR_INLINE V floor(V x) { return V(_mm_floor_ps(x)); }
TERROIR_INLINE V ceil(V x) { return V(_mm_ceil_ps(x)); }
TERROIR_INLINE V trunc(V x) { return V(_mm_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)); }
TERROIR_INLINE V round_even(V x) { return V(_mm_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)); }

TERROIR_INLINE VI to_int(V x) { return VI(_mm_cvtps_epi32(x)); }
TERROIR_INLINE VI to_int_trunc(V x) { return VI(_mm_cvttps_epi32(x)); }
TERROIR_INLINE V to_float(VI x) { return V(_mm_cvtepi32_ps(x)); }
TERROIR_INLINE VI as_int(V x) { return VI(_mm_castps_si128(x)); }
TERROIR_INLINE V as_float(VI x) { return V(_mm_castsi128_ps(x)); }
template <int K>
TERROIR_INLINE VI shift_left(VI x) {
  return VI(_mm_slli_epi32(x, K));
}
template <int K>
TERROIR_INLINE VI shift_right(VI x) {
  return VI(_mm_srli_epi32(x, K));
}

// Lane l is p[index[l]].
TERROIR_INLINE V take(const float* p, VI index) {
  return V(_mm_setr_ps(p[_mm_extract_epi32(index, 0)], p[_mm_extract_epi32(index, 1)], p[_mm_extract_epi32(index, 2)],
                       p[_mm_extract_epi32(index, 3)]));
}
TERROIR_INLINE V gather(const float* p, VI index) { return take(p, index); }

TERROIR_INLINE float reduce_add(V v) {
  const __m128 pair = _mm_add_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
TERROIR_INLINE float reduce_max(V v) {
  const __m128 pair = _mm_max_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
TERROIR_INLINE float reduce_min(V v) {
  const __m128 pair = _mm_min_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_min_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

TERROIR_INLINE void transpose(V (&r)[4]) {
  const __m128 a = _mm_unpacklo_ps(r[0], r[1]), b = _mm_unpackhi_ps(r[0], r[1]);
  const __m128 c = _mm_unpacklo_ps(r[2], r[3]), d = _mm_unpackhi_ps(r[2], r[3]);
  r[0] = V(_mm_movelh_ps(a, c));
  r[1] = V(_mm_movehl_ps(c, a));
  r[2] = V(_mm_movelh_ps(b, d));
  r[3] = V(_mm_movehl_ps(d, b));
}

}  // namespace terroir::cpu::sse42

#include "plugins/cpu/simd/common.hpp"
