// What: the row kernels of nearest and linear resizing, and those of resizing one axis with any number of taps. The
//   caller computes the tables of indices and weights.
// Formula: nearest: dst[i] = src[index[i]]. linear: weights wx (right) and wy (lower) blend four neighbours,
//   horizontally first. Taps: dst[i] = the sum over t of weight * source at the index of t; none gives 0.
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
  // One output line of n elements from input lines `stride` apart: an index and a weight per tap.
  void (*weighted_line)(const float* src, int64_t stride, const int32_t* index, const float* weight, int64_t taps,
                        float* dst, int64_t n);
  // One output row from an input row: index[t * n + i] and weight[t * n + i] for tap t of element i. A tap of weight 0
  // is none.
  void (*weighted_row)(const float* src, const int32_t* index, const float* weight, int64_t taps, float* dst,
                       int64_t n);
};

const InterpolateKernels& interpolate_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
