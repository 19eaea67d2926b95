// What: the conversions for which AVX-512 has instructions that AVX2 has not: halves (there F16C is another feature),
// 64-bit integers, and bytes. Contract: convert.hpp. Include the bucket's header first.
#pragma once

#include "plugins/cpu/kernels/convert/convert.hpp"
#include "plugins/cpu/kernels/convert/whole.hpp"

// Nobody reads the exception flags: with them the compiler would keep branches around conversions.
#pragma GCC push_options
#pragma GCC optimize("no-trapping-math")

namespace terroir::cpu::TERROIR_ISA {
namespace {

void half_to_float_loop(const void* const* in, void* out, int64_t n) {
  const auto* from = static_cast<const char*>(in[0]);
  auto* to = static_cast<float*>(out);
  for (int64_t i = 0; i < n; i += 16)
    _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 2 * i))));
}

void float_to_half_loop(const void* const* in, void* out, int64_t n) {
  const auto* from = static_cast<const float*>(in[0]);
  auto* to = static_cast<char*>(out);
  for (int64_t i = 0; i < n; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2 * i),
                        _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/// Limited first; of NaN the maximum takes its second operand.
void float_to_byte_loop(const void* const* in, void* out, int64_t n) {
  const auto* from = static_cast<const float*>(in[0]);
  auto* to = static_cast<char*>(out);
  const __m512 most = _mm512_set1_ps(255.0f), least = _mm512_setzero_ps();
  for (int64_t i = 0; i < n; i += 16) {
    const __m512 inside = _mm512_min_ps(_mm512_max_ps(_mm512_loadu_ps(from + i), least), most);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(inside)));
  }
}

struct Widen {
  TERROIR_INLINE_MEMBER static double of(int32_t x) { return x; }
};

template <class F, class T>
constexpr TileFn kToWhole = &unary_loop<ToWhole<T>, F, T>;

}  // namespace

TileFn conversion_loop(NumberType from, NumberType to) {
  using N = NumberType;
  if (from == N::f16 && to == N::f32) return &half_to_float_loop;
  if (from == N::f32 && to == N::f16) return &float_to_half_loop;
  if (from == N::f32 && to == N::u8) return &float_to_byte_loop;
  if (from == N::i32 && to == N::f64) return &unary_loop<Widen, int32_t, double>;
  if (from == N::f32 && to == N::i64) return kToWhole<float, int64_t>;
  if (from == N::f32 && to == N::u64) return kToWhole<float, uint64_t>;
  if (from == N::f64 && to == N::i64) return kToWhole<double, int64_t>;
  if (from == N::f64 && to == N::u64) return kToWhole<double, uint64_t>;
  return nullptr;
}

}  // namespace terroir::cpu::TERROIR_ISA

#pragma GCC pop_options
