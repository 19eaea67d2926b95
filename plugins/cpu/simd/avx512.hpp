// What: the avx512 bucket (F, CD, DQ, BW, VL): 16 lanes, FMA, mask registers. Words: batch.hpp. Only for files compiled
// with the flags of that bucket; avx512_vnni.hpp gives the words its own name.
#pragma once

#include "plugins/cpu/simd/xsimd_std_headers.hpp"

// GCC 12 warns about the deliberately undefined operands inside its own AVX-512 intrinsics (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

// Every xsimd symbol gets a name of its own per bucket, so the linker can never pick another bucket's copy.
#if !defined(TERROIR_ISA)
#define xsimd xsimd_avx512
#define TERROIR_ISA avx512
#endif
#include <xsimd/xsimd.hpp>

namespace terroir::cpu::TERROIR_ISA {
using Arch = xsimd::avx512bw;
}

#include "plugins/cpu/simd/batch.hpp"

namespace terroir::cpu::TERROIR_ISA {

// xsimd 8.1 has no fused word for AVX-512: its fma there is a multiplication and an addition.
TERROIR_INLINE V fma(V a, V b, V c) { return V(_mm512_fmadd_ps(a, b, c)); }
TERROIR_INLINE V fms(V a, V b, V c) { return V(_mm512_fmsub_ps(a, b, c)); }
TERROIR_INLINE V fnma(V a, V b, V c) { return V(_mm512_fnmadd_ps(a, b, c)); }

struct Tail {
  __mmask16 mask;
};
TERROIR_INLINE Tail tail(int64_t n) { return {static_cast<__mmask16>((1u << n) - 1)}; }
TERROIR_INLINE V load_tail(const float* p, Tail t) { return V(_mm512_maskz_loadu_ps(t.mask, p)); }
TERROIR_INLINE void store_tail(float* p, V v, Tail t) { _mm512_mask_storeu_ps(p, t.mask, v); }

// Vectors of two halves: of eight values twice, of values from two places, of one half of each of two vectors, and one
// half in front of zeros.
TERROIR_INLINE V load_twice(const float* p) { return V(_mm512_broadcast_f32x8(_mm256_loadu_ps(p))); }
TERROIR_INLINE V load_halves(const float* lower, const float* upper) {
  return V(_mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(lower)), _mm256_loadu_ps(upper), 1));
}
TERROIR_INLINE V halves(V lower, V upper) { return V(_mm512_mask_blend_ps(0xff00, lower, upper)); }
TERROIR_INLINE V lower_half(V v) { return V(_mm512_zextps256_ps512(_mm512_castps512_ps256(v))); }
TERROIR_INLINE V upper_half(V v) { return V(_mm512_zextps256_ps512(_mm512_extractf32x8_ps(v, 1))); }

// The lanes of one and not of the other.
TERROIR_INLINE Tail without(Tail all, Tail part) { return {static_cast<__mmask16>(all.mask & ~part.mask)}; }
// Of 32 values in two vectors: those from the third on; lane 2 of each four, eight in all.
TERROIR_INLINE V shifted_by_2(V lower, V upper) {
  return V(_mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(upper), _mm512_castps_si512(lower), 2)));
}
TERROIR_INLINE void store_third_of_4(float* p, V lower, V upper) {
  const __m512i index = _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 2, 6, 10, 14, 18, 22, 26, 30);
  _mm256_storeu_ps(p, _mm512_castps512_ps256(_mm512_permutex2var_ps(lower, index, upper)));
}
TERROIR_INLINE V subtract_even(V a, V b) { return V(_mm512_mask_sub_ps(a, 0x5555, a, b)); }

TERROIR_INLINE V keep(V v, Tail t) { return V(_mm512_maskz_mov_ps(t.mask, v)); }

TERROIR_INLINE V abs(V x) { return V(_mm512_andnot_ps(_mm512_set1_ps(-0.0f), x)); }
TERROIR_INLINE V copy_sign(V magnitude, V sign) {
  // 0xd8: bit of the third operand chooses: sign ? second : first.
  return V(_mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(magnitude), _mm512_castps_si512(sign),
                                                         _mm512_set1_epi32(INT32_MIN), 0xd8)));
}
TERROIR_INLINE V floor(V x) { return V(_mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)); }
TERROIR_INLINE V ceil(V x) { return V(_mm512_roundscale_ps(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)); }
TERROIR_INLINE V trunc(V x) { return V(_mm512_roundscale_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)); }
TERROIR_INLINE V round_even(V x) { return V(_mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)); }

TERROIR_INLINE VI to_int(V x) { return VI(_mm512_cvtps_epi32(x)); }
TERROIR_INLINE VI to_int_trunc(V x) { return VI(_mm512_cvttps_epi32(x)); }
TERROIR_INLINE V to_float(VI x) { return V(_mm512_cvtepi32_ps(x)); }
TERROIR_INLINE VI as_int(V x) { return VI(_mm512_castps_si512(x)); }
TERROIR_INLINE V as_float(VI x) { return V(_mm512_castsi512_ps(x)); }
template <int K>
TERROIR_INLINE VI shift_left(VI x) {
  return VI(_mm512_slli_epi32(x, K));
}
template <int K>
TERROIR_INLINE VI shift_right(VI x) {
  return VI(_mm512_srli_epi32(x, K));
}

// Lane l is p[index[l]], 0 <= index[l] < 16.
TERROIR_INLINE V take(const float* p, VI index) { return V(_mm512_permutexvar_ps(index, _mm512_loadu_ps(p))); }

// Lane l is p[index[l]], any index.
// Into zeros: into what a register happens to hold, every gather would wait for the one before. Were the mask known to
// be whole, the compiler would leave the zeros out.
TERROIR_INLINE V gather(const float* p, VI index) {
  __mmask16 all = 0xffff;
  __asm__("" : "+Yk"(all));
  return V(_mm512_mask_i32gather_ps(_mm512_setzero_ps(), all, index, p, 4));
}

TERROIR_INLINE float reduce_add(V v) {
  const __m256 oct = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 quad = _mm_add_ps(_mm256_castps256_ps128(oct), _mm256_extractf128_ps(oct, 1));
  const __m128 pair = _mm_add_ps(quad, _mm_movehl_ps(quad, quad));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
TERROIR_INLINE float reduce_max(V v) {
  const __m256 oct = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 quad = _mm_max_ps(_mm256_castps256_ps128(oct), _mm256_extractf128_ps(oct, 1));
  const __m128 pair = _mm_max_ps(quad, _mm_movehl_ps(quad, quad));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}
TERROIR_INLINE float reduce_min(V v) {
  const __m256 oct = _mm256_min_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 quad = _mm_min_ps(_mm256_castps256_ps128(oct), _mm256_extractf128_ps(oct, 1));
  const __m128 pair = _mm_min_ps(quad, _mm_movehl_ps(quad, quad));
  return _mm_cvtss_f32(_mm_min_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
}

TERROIR_INLINE void transpose(V (&r)[16]) {
  // 4x4 transposes inside the 128-bit quarters, then the quarters of rows i, i+4, i+8, i+12 are transposed.
  __m512 t[16];
  for (int i = 0; i < 16; i += 4) {
    const __m512 a = _mm512_unpacklo_ps(r[i], r[i + 1]), b = _mm512_unpackhi_ps(r[i], r[i + 1]);
    const __m512 c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
    t[i] = _mm512_shuffle_ps(a, c, 0x44);
    t[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
    t[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
    t[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    const __m512 a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88), b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
    const __m512 c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88);
    const __m512 d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
    r[i] = V(_mm512_shuffle_f32x4(a, c, 0x88));
    r[i + 4] = V(_mm512_shuffle_f32x4(b, d, 0x88));
    r[i + 8] = V(_mm512_shuffle_f32x4(a, c, 0xdd));
    r[i + 12] = V(_mm512_shuffle_f32x4(b, d, 0xdd));
  }
}

}  // namespace terroir::cpu::TERROIR_ISA

#include "plugins/cpu/simd/common.hpp"
