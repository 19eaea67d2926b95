// What: elementwise arithmetic on i32 and i64, as shape computations in models use it.
// Formula: add, sub, mul wrap around; max, min; div rounds toward zero and mod has the sign of a; floor_div
//   rounds down and floor_mod has the sign of b.
// Shapes: n results; a step of 0 repeats the first element of that operand.
// Edge cases: division and remainder by zero give 0. INT_MIN / -1 wraps to INT_MIN.
// Aliasing: dst may be a or b when their step is 1. Threads: any ranges.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

enum class IntegerKind : int32_t { add, sub, mul, max, min, div, mod, floor_div, floor_mod };

struct IntegerKernels {
  void (*i32)(IntegerKind kind, const int32_t* a, int64_t a_step, const int32_t* b, int64_t b_step, int32_t* dst,
              int64_t n);
  void (*i64)(IntegerKind kind, const int64_t* a, int64_t a_step, const int64_t* b, int64_t b_step, int64_t* dst,
              int64_t n);
};

const IntegerKernels& integer_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
