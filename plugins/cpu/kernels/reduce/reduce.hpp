// What: reductions of one axis (or of adjacent axes taken as one) of a dense f32 tensor.
// Shapes: rows: [rows][n] -> [rows]. middle: [outer][axis][inner] -> [outer][inner]; that of the spatial axes of a
//   blocked tensor is middle with outer = N * blocks, axis = S, inner = B.
// Formula: sum; mean = sum / n; max; min; prod; l1 = sum |x|; l2 = sqrt(sum x^2); sum_square = sum x^2.
// Edge cases: an empty axis gives 0 for sums, NaN for mean, -inf and inf for max and min, 1 for prod. NaN wins a max
//   or min. The order of a sum depends on n and the bucket only.
// Aliasing: none. Cost: memory bound.
// Threads: rows, and outer indices, are independent; so are ranges of inner.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

enum class ReduceKind : int32_t { sum, mean, max, min, prod, l1, l2, sum_square };

struct ReduceKernels {
  void (*rows)(ReduceKind kind, const float* src, float* dst, int64_t rows, int64_t n);
  // inner_begin and inner_end cut the inner extent, for threads when outer is small.
  void (*middle)(ReduceKind kind, const float* src, float* dst, int64_t outer, int64_t axis, int64_t inner,
                 int64_t inner_begin, int64_t inner_end);
};

const ReduceKernels& reduce_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
