// What: maxima of bf16, of the buckets that have them. Contract: pool.hpp. Include one bucket header first.
// How: as floats, of which numbers of bf16 are the upper halves.
#pragma once

#include <cstddef>

#include "plugins/cpu/kernels/pool/windows.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

#if defined(__AVX512BW__)
TERROIR_INLINE V of_upper_halves(const uint16_t* p) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return V(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16)));
}
TERROIR_INLINE void store_upper_halves(uint16_t* p, V x) {
  const __m512i bits = _mm512_srli_epi32(_mm512_castps_si512(x), 16);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(bits));
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
        V acc(kLowest);
        for (int64_t kd = 0; kd < win.d.count; ++kd)
          for (int64_t kh = 0; kh < win.h.count; ++kh) {
            const uint16_t* p = first + kd * win.step[0] + kh * win.step[1];
            for (int64_t kw = 0; kw < win.w.count; ++kw, p += win.step[2]) acc = max(of_upper_halves(p), acc);
          }
        store_upper_halves(to, acc);
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
