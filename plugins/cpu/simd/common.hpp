// What: words that are the same on every bucket, written with those of batch.hpp; included last by each bucket header.
#pragma once

#include <cstdint>

namespace terroir::cpu::TERROIR_ISA {

TERROIR_INLINE V load_n(const float* p, int64_t n) { return load_tail(p, tail(n)); }
TERROIR_INLINE void store_n(float* p, V v, int64_t n) { store_tail(p, v, tail(n)); }
TERROIR_INLINE V broadcast(const float* p) { return V(*p); }
// Not x != x: that word of xsimd is false for NaN on avx2 and avx512.
TERROIR_INLINE M is_nan(V x) { return !(x == x); }
// A NaN in either operand is the result; min and max alone would keep only one in b.
TERROIR_INLINE V min_nan(V a, V b) { return select(is_nan(a), a, min(a, b)); }
TERROIR_INLINE V max_nan(V a, V b) { return select(is_nan(a), a, max(a, b)); }

// x * 2^n for whole n in [-252, 252].
TERROIR_INLINE V scale_exp2(V x, V n) {
#if defined(__AVX512F__)
  return V(_mm512_scalef_ps(x, n));
#else
  // Two exact factors, so the result rounds once even when it is subnormal.
  const V half = floor(n * V(0.5f));
  const VI bias(127);
  const V low = as_float(shift_left<23>(to_int(half) + bias));
  const V high = as_float(shift_left<23>(to_int(n - half) + bias));
  return x * low * high;
#endif
}

// sum = fma(a, b, sum); a may be an address to broadcast from.
TERROIR_INLINE void add_product(V& sum, V a, V b) {
#if defined(__AVX512F__)
  __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum.data) : "v"(a.data), "v"(b.data));
#else
  sum = fma(a, b, sum);
#endif
}
TERROIR_INLINE void add_product(V& sum, const float* a, V b) {
#if defined(__AVX512F__)
  __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sum.data) : "v"(b.data), "m"(*a));
#else
  sum = fma(V(*a), b, sum);
#endif
}

template <int K>
struct Index {
  static constexpr int value = K;
  constexpr operator int() const { return K; }  // NOLINT: meant to be used as an int
};

// f(Index<0>) ... f(Index<Count - 1>), unrolled: arrays of vectors indexed so stay in registers.
template <int Count, int First = 0, typename F>
TERROIR_INLINE void unroll(F&& f) {
  if constexpr (First < Count) {
    f(Index<First>{});
    unroll<Count, First + 1>(f);
  }
}

}  // namespace terroir::cpu::TERROIR_ISA
