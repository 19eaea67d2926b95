// What: the avx2 bucket: 8 lanes, FMA. Words: batch.hpp. Only for files compiled with -mavx2 -mfma.
#pragma once

#include "plugins/cpu/simd/xsimd_std_headers.hpp"

#include <immintrin.h>

// Every xsimd symbol gets a name of its own per bucket, so the linker can never pick another bucket's copy.
#define xsimd xsimd_avx2
#include <xsimd/xsimd.hpp>

#define TERROIR_ISA avx2

namespace terroir::cpu::avx2 {
using Arch = xsimd::fma3<xsimd::avx2>;
}

#include "plugins/cpu/simd/batch.hpp"

namespace terroir::cpu::avx2 {

TERROIR_INLINE V fma(V a, V b, V c) { return V(_mm256_fmadd_ps(a, b, c)); }
TERROIR_INLINE V fms(V a, V b, V c) { return V(_mm256_fmsub_ps(a, b, c)); }
TERROIR_INLINE V fnma(V a, V b, V c) { return V(_mm256_fnmadd_ps(a, b, c)); }

struct Tail {
  __m256i mask;
};
TERROIR_INLINE Tail tail(int64_t n) {
  return {_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))};
}
TERROIR_INLINE V load_tail(const float* p, Tail t) { return V(_mm256_maskload_ps(p, t.mask)); }
TERROIR_INLINE void store_tail(float* p, V v, Tail t) { _mm256_maskstore_ps(p, t.mask, v); }

TERROIR_INLINE V keep(V v, Tail t) { return V(_mm256_and_ps(v, _mm256_castsi256_ps(t.mask))); }

TERROIR_INLINE V abs(V x) { return V(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x)); }
TERROIR_INLINE V copy_sign(V magnitude, V sign) {
  const __m256 bit = _mm256_set1_ps(-0.0f);
  return V(_mm256_or_ps(_mm256_andnot_ps(bit, magnitude), _mm256_and_ps(bit, sign)));
}
TERROIR_INLINE V floor(V x) { return V(_mm256_floor_ps(x)); }
TERROIR_INLINE V ceil(V x) { return V(_mm256_ceil_ps(x)); }
TERROIR_INLINE V trunc(V x) { return V(_mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)); }
TERROIR_INLINE V round_even(V x) { return V(_mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)); }

TERROIR_INLINE VI to_int(V x) { return VI(_mm256_cvtps_epi32(x)); }
TERROIR_INLINE VI to_int_trunc(V x) { return VI(_mm256_cvttps_epi32(x)); }
TERROIR_INLINE V to_float(VI x) { return V(_mm256_cvtepi32_ps(x)); }
TERROIR_INLINE VI as_int(V x) { return VI(_mm256_castps_si256(x)); }
TERROIR_INLINE V as_float(VI x) { return V(_mm256_castsi256_ps(x)); }
template <int K>
TERROIR_INLINE VI shift_left(VI x) {
  return VI(_mm256_slli_epi32(x, K));
}
template <int K>
TERROIR_INLINE VI shift_right(VI x) {
  return VI(_mm256_srli_epi32(x, K));
}

// Lane l is p[index[l]], 0 <= index[l] < 8.
TERROIR_INLINE V take(const float* p, VI index) { return V(_mm256_permutevar8x32_ps(_mm256_loadu_ps(p), index)); }

// Lane l is p[index[l]], any index.
TERROIR_INLINE V gather(const float* p, VI index) { return V(_mm256_i32gather_ps(p, index, 4)); }

TERROIR_INLINE float reduce_add(V v) {
  const __m128 quad = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 pair = _mm_add_ps(quad, _mm_movehl_ps(quad, quad));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
TERROIR_INLINE float reduce_max(V v) {
  const __m128 quad = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 pair = _mm_max_ps(quad, _mm_movehl_ps(quad, quad));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
TERROIR_INLINE float reduce_min(V v) {
  const __m128 quad = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 pair = _mm_min_ps(quad, _mm_movehl_ps(quad, quad));
  return _mm_cvtss_f32(_mm_min_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

TERROIR_INLINE void transpose(V (&r)[8]) {
  // 4x4 transposes inside the 128-bit halves, then the halves change places.
  __m256 t[8];
  for (int i = 0; i < 8; i += 4) {
    const __m256 a = _mm256_unpacklo_ps(r[i], r[i + 1]), b = _mm256_unpackhi_ps(r[i], r[i + 1]);
    const __m256 c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
    t[i] = _mm256_shuffle_ps(a, c, 0x44);
    t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
    t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
    t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = V(_mm256_permute2f128_ps(t[i], t[i + 4], 0x20));
    r[i + 4] = V(_mm256_permute2f128_ps(t[i], t[i + 4], 0x31));
  }
}

}  // namespace terroir::cpu::avx2

#include "plugins/cpu/simd/common.hpp"
