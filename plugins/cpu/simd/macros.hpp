// What: the two attributes of kernel code. Macros only: this header is seen by every bucket.
#pragma once

// Kernel helpers are always inlined: a helper left out of line costs spills around each call in the hot loops.
#define TERROIR_INLINE static inline __attribute__((always_inline))
#define TERROIR_INLINE_MEMBER inline __attribute__((always_inline))
#define TERROIR_NOINLINE __attribute__((noinline))
#define TERROIR_RESTRICT __restrict__
// Between the parameters and the body of a lambda given to unroll(): one left out of line takes the address of the
// accumulators and so forces them into memory.
#define TERROIR_INLINE_LAMBDA __attribute__((always_inline))
