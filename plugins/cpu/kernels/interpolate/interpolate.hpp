// What: the row kernels of nearest and linear resizing. The caller computes the tables of indices and weights.
// Formula: nearest: dst[i] = src[index[i]]. linear: weights wx (right) and wy (lower) blend four neighbours,
//   horizontally first.
// Layouts: `width` channels adjacent at every position (block, nhwc; 1 for plain); indices count positions of a row.
// Aliasing: none. Threads: rows of the output are independent. Edge cases: indices are trusted.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct InterpolateKernels {
  void (*nearest_row)(const float* src, float* dst, const int32_t* index, int64_t n, int64_t width);
  // upper and lower: rows of the source; left and right: indices; wy: weight of the lower row.
  void (*linear_row)(const float* upper, const float* lower, float wy, float* dst, const int32_t* left,
                     const int32_t* right, const float* wx, int64_t n, int64_t width);
};

const InterpolateKernels& interpolate_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
