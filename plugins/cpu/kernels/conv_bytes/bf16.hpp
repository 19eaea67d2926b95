// What: the bits of vectors of bf16, for which the headers of this compiler have no words. Include avx512_bf16.hpp
// first.
#pragma once

namespace terroir::cpu::avx512_bf16 {
namespace {

TERROIR_INLINE __m256i bits_of(__m256bh x) {
  __m256i bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}
TERROIR_INLINE __m512i bits_of(__m512bh x) {
  __m512i bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}

}  // namespace
}  // namespace terroir::cpu::avx512_bf16
