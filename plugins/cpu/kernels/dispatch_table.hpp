// What: the list of buckets this build has, for the tables of function pointers in kernels/<family>/dispatch.cpp.
//   TERROIR_FOR_EACH_ISA(X) expands X(scalar) X(sse42) ... in ascending order for the built buckets.
#pragma once

#include "plugins/cpu/isa.hpp"

#if defined(TERROIR_HAVE_SSE42) && defined(TERROIR_HAVE_AVX2) && defined(TERROIR_HAVE_AVX512)
#define TERROIR_FOR_EACH_ISA(X) X(scalar) X(sse42) X(avx2) X(avx512)
#else
#define TERROIR_FOR_EACH_ISA(X) X(scalar)
#endif

namespace terroir::cpu {

// Place of a bucket in a table made with TERROIR_FOR_EACH_ISA; a bucket this build lacks falls to scalar.
constexpr int64_t built_isa_index(Isa isa) noexcept {
#if defined(TERROIR_HAVE_SSE42) && defined(TERROIR_HAVE_AVX2) && defined(TERROIR_HAVE_AVX512)
  return static_cast<int64_t>(isa);
#else
  return static_cast<void>(isa), 0;
#endif
}

}  // namespace terroir::cpu
