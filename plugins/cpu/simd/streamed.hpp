// What: words for stores that go past the caches, on the vectors of the bucket whose header was included first: a line
// that is written whole is not read before, and what lies in the caches stays there.
//   stream(p, v)      v to p, which is aligned to v's size. Lines are to be written whole, in stores that follow each
//                     other.
//   end_of_stream()   to be called before another thread is told that they are written
// The scalar bucket stores as ever.
#pragma once

#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {

#if defined(__SSE4_2__)
#if defined(__AVX512F__)
TERROIR_INLINE void stream(float* p, V v) { _mm512_stream_ps(p, v); }
#elif defined(__AVX__)
TERROIR_INLINE void stream(float* p, V v) { _mm256_stream_ps(p, v); }
#else
TERROIR_INLINE void stream(float* p, V v) { _mm_stream_ps(p, v); }
#endif
TERROIR_INLINE void end_of_stream() { _mm_sfence(); }
#else
TERROIR_INLINE void stream(float* p, V v) { storeu(p, v); }
TERROIR_INLINE void end_of_stream() {}
#endif

}  // namespace terroir::cpu::TERROIR_ISA
