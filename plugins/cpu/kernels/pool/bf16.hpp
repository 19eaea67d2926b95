// What: maxima of bf16, of the buckets that have them. Contract: pool.hpp. Include one bucket header first.
// How: as floats, of which numbers of bf16 are the upper halves.
#pragma once

#include <cstddef>

#include "plugins/cpu/kernels/pool/windows.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

#if defined(__AVX512BW__)
// Of 32 numbers those with odd places, which are the upper halves of words, and those with even ones.
struct WordMaxima {
  V odd, even;
};
TERROIR_INLINE __m512i upper_halves(__m512i words) { return _mm512_and_epi32(words, _mm512_set1_epi32(~0xffff)); }
TERROIR_INLINE void add_numbers(WordMaxima& maxima, const uint16_t* p) {
  const __m512i words = _mm512_loadu_si512(p);
  maxima.odd = max(V(_mm512_castsi512_ps(upper_halves(words))), maxima.odd);
  maxima.even = max(V(_mm512_castsi512_ps(_mm512_slli_epi32(words, 16))), maxima.even);
}
TERROIR_INLINE void store_numbers(uint16_t* p, const WordMaxima& maxima) {
  const __m512i odd = _mm512_castps_si512(maxima.odd), even = _mm512_castps_si512(maxima.even);
  _mm512_storeu_si512(p, _mm512_or_epi32(upper_halves(odd), _mm512_srli_epi32(even, 16)));
}

void max_bf16(const PoolArgs& a, const uint16_t* src, uint16_t* dst, int64_t row_begin, int64_t row_end) {
  const Inside inside = inside_of_row(a);
  for (int64_t row = row_begin; row < row_end; ++row) {
    Window win = window_of_row(a, row);
    uint16_t* to = dst + row * a.out[2] * a.width;
    for (int64_t ow = 0; ow < a.out[2];) {
      aim<false>(a, ow, win);
      int64_t n = ow >= inside.begin && ow < inside.end ? inside.end - ow : 1;
      const uint16_t* first = src + (win.base - a.src);
      for (ow += n; n > 0; --n, first += a.stride[2] * a.width, to += a.width) {
        WordMaxima maxima{V(kLowest), V(kLowest)};
        for (int64_t kd = 0; kd < win.d.count; ++kd)
          for (int64_t kh = 0; kh < win.h.count; ++kh) {
            const uint16_t* p = first + kd * win.step[0] + kh * win.step[1];
            for (int64_t kw = 0; kw < win.w.count; ++kw, p += win.step[2]) add_numbers(maxima, p);
          }
        store_numbers(to, maxima);
      }
    }
  }
}

constexpr auto kMaxBf16 = &max_bf16;
#else
constexpr std::nullptr_t kMaxBf16 = nullptr;
#endif

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
