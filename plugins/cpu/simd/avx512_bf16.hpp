// What: the words of the avx512 bucket under a name of their own, for numbers of bf16. The instructions are the
// compiler's own words (_mm512_cvtneps_pbh ...), but for
//   add_dot(sum, a, b)       each lane of f32: sum += the products of its two numbers of bf16, first, then second
// Only for files compiled with the flags of the bucket avx512_bf16.
#pragma once

#define xsimd xsimd_avx512_bf16
#define TERROIR_ISA avx512_bf16

#include "plugins/cpu/simd/avx512.hpp"

namespace terroir::cpu::avx512_bf16 {

// Of many sums compilers exchange the roles and then move registers about.
TERROIR_INLINE void add_dot(V& sum, V a, V b) {
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum.data) : "v"(a.data), "v"(b.data));
}

}  // namespace terroir::cpu::avx512_bf16
