// What: the words of the avx512 bucket under a name of their own, and those of AVX512_VNNI, which xsimd 8.1 has not:
//   add_dot(sum, u, s)       each 32-bit lane: sum += products of its four bytes, u unsigned and s signed; exact
//   broadcast_word(p)        four bytes in every lane; any alignment
// Only for files compiled with the flags of the bucket avx512_vnni.
#pragma once

#define xsimd xsimd_avx512_vnni
#define TERROIR_ISA avx512_vnni

#include "plugins/cpu/simd/avx512.hpp"

namespace terroir::cpu::avx512_vnni {

// Of many sums compilers exchange the roles and then move registers about.
TERROIR_INLINE void add_dot(VI& sum, VI u, VI s) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum.data) : "v"(u.data), "v"(s.data));
}
TERROIR_INLINE VI broadcast_word(const uint8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, sizeof(word));
  return VI(_mm512_set1_epi32(word));
}

}  // namespace terroir::cpu::avx512_vnni
