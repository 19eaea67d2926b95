// What: searches for the best elements of f32 rows and columns, for TopK.
// Edge cases: NaN is the largest value, all NaNs are equal, and so are both zeros. Of equal elements the first one
// wins. Aliasing: none. Cost: memory bound. Threads: rows, and ranges of columns, are independent.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct SelectKernels {
  // The first i in [begin, end) whose element may be better than `bound`, end if there is none. NaN always may be.
  int64_t (*next_above)(const float* x, int64_t begin, int64_t end, float bound);
  int64_t (*next_below)(const float* x, int64_t begin, int64_t end, float bound);
  // values[c] and indices[c]: the largest (or smallest) of src[i * stride + c], i in [0, extent), and its i; extent >
  // 0.
  void (*best_of_columns)(const float* src, int64_t extent, int64_t stride, int64_t columns, bool largest,
                          float* values, int32_t* indices);
};

const SelectKernels& select_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
