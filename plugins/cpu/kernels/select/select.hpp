// What: searches for the best elements of f32 rows and columns, for TopK, and in sorted f32 rows.
// Edge cases: NaN is the largest value, all NaNs are equal, and so are both zeros. Of equal elements the first one
// wins; in sorted rows NaN is neither below nor above anything. Aliasing: none. Cost: memory bound. Threads: rows, and
// ranges of columns, are independent.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct SelectKernels {
  // The first i in [begin, end) whose element may be better than `bound`, end if there is none. NaN always may be.
  int64_t (*next_above)(const float* x, int64_t begin, int64_t end, float bound);
  int64_t (*next_below)(const float* x, int64_t begin, int64_t end, float bound);
  // values[j], j in [0, bests): the largest (or smallest) of a part of the row; parts have no element in common. NaN is
  // skipped: a part without numbers gives -inf (or inf). Elements behind the last whole `bests` are in none.
  void (*bests_of)(const float* x, int64_t n, bool largest, float* values);
  int64_t bests;  // 64 at most
  // The first of the largest, n > 0. NaN is larger only where it is the first element.
  int64_t (*first_largest)(const float* x, int64_t n);
  // values[c] and indices[c]: the largest (or smallest) of src[i * stride + c], i in [0, extent), and its i; extent >
  // 0.
  void (*best_of_columns)(const float* src, int64_t extent, int64_t stride, int64_t columns, bool largest,
                          float* values, int32_t* indices);
  // places[i], i in [0, n): how many of the first elements of the ascending row are below values[i], or with `right`
  // not above it. length < 2^31. As many binary searches side by side as there are lanes.
  void (*places)(const float* sorted, int64_t length, const float* values, int64_t n, bool right, int32_t* places);
};

const SelectKernels& select_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
