// What: the row kernels of nearest and linear resizing, and those of resizing one axis with any number of taps. The
//   caller computes the tables of indices and weights.
// Formula: nearest: dst[i] = src[index[i]]. linear: weights wx (right) and wy (lower) blend four neighbours,
//   vertically first. Taps: dst[i] = the sum over t of weight * source at the index of t; none gives 0.
// Layouts: `width` channels adjacent at every position (block, nhwc); indices count positions of a row. RowTaps are for
//   rows whose elements are resized one by one.
// Aliasing: none. Threads: rows of the output are independent.
// Edge cases: indices are trusted. A weight of 0 is no tap: what NaN or infinity its source holds does not matter.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

/// Where each element of a row comes from: `taps` tables of `stride` entries, the row's length rounded up to whole
/// vectors. Sources of one vector often lie within another: then near[t * (stride / lanes) + i / lanes] is where that
/// begins, all of which may be read, and the indices count from there; else it is -1, and they count from the row.
struct RowTaps {
  const int32_t* index;
  const float* weight;
  const int32_t* near;
  int64_t taps, stride;
  bool has_holes;  // weights of 0 among the others, which are no taps
};

constexpr int kInterpolatedRows = 4;

struct InterpolateKernels {
  int64_t lanes;  // of a vector
  void (*nearest_row)(const float* src, float* dst, const int32_t* index, int64_t n, int64_t width);
  // upper and lower: rows of the source; left and right: indices; wy: weight of the lower row.
  void (*linear_row)(const float* upper, const float* lower, float wy, float* dst, const int32_t* left,
                     const int32_t* right, const float* wx, int64_t n, int64_t width);
  // One output line of n elements from input lines `stride` apart: an index and a weight per tap.
  void (*weighted_line)(const float* src, int64_t stride, const int32_t* index, const float* weight, int64_t taps,
                        float* dst, int64_t n);
  // `rows` output rows, up to kInterpolatedRows and one behind the other, from an input row each: they share the
  // reading of the taps.
  void (*weighted_rows)(const float* const* src, const RowTaps& from, float* dst, int64_t rows, int64_t n);
  // The same with one tap of weight 1 each.
  void (*picked_rows)(const float* const* src, const RowTaps& from, float* dst, int64_t rows, int64_t n);
};

const InterpolateKernels& interpolate_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
