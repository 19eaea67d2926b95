// What: the two attributes of kernel code. Macros only: this header is seen by every bucket.
#pragma once

// Kernel helpers are always inlined: a helper left out of line costs spills around each call in the hot loops.
#define TERROIR_INLINE static inline __attribute__((always_inline))
#define TERROIR_INLINE_MEMBER inline __attribute__((always_inline))
#define TERROIR_NOINLINE __attribute__((noinline))
#define TERROIR_RESTRICT __restrict__
