// What: weighted sums of image positions, all channels of each at once: interpolation at any points.
// Formula: sum: dst[c] = (first ? 0 : dst[c]) + the sum over t of weights[t] * src[offsets[t] + c], in the order of t.
//   most: dst[c] = the largest of (first ? 0 : dst[c]) and of such sums over `group` taps each; NaN is never largest.
//   largest: the same of single elements, without weights, where the first is compared with -inf.
//   sum_cells, largest_cells: those of many cells, each of its own taps; zeros without any.
//   grid_taps: the taps of GridSample at n points, whose coordinates (x, y) go from -1 to 1; see grid_sample.hpp. Tap t
//   of point p is at t * step + p: those of the upper row, then of the lower one, of each the left before the right;
//   only the first for the nearest pixel. One without weight counts for nothing, but is in the image as well. Whether
//   there are points that mirroring leaves open, so far away or not numbers: the weight of their first tap is NaN.
//   gather_taps: dst[p] = the sum over such taps t of weights * src[offsets].
// Layouts: the channels of a position are adjacent (nhwc). Aliasing: none. Threads: any ranges of channels.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct SampleTaps {
  const float* src = nullptr;
  const int64_t* offsets = nullptr;
  const float* weights = nullptr;
  int64_t count = 0;
};

/// The taps of cell i are those from ends[i - 1], or 0, to ends[i].
struct CellTaps {
  const float* src = nullptr;
  const int64_t* offsets = nullptr;
  const float* weights = nullptr;
  const int32_t* ends = nullptr;
  int64_t cells = 0;
};

enum class GridEdge : int32_t { zeros, border, reflection };

/// Offsets below 2^31, extents of at most 2^21: these are exact in floats, mirrored or not.
struct GridPlane {
  int32_t height = 0, width = 0;
  int32_t pixel = 1;  // elements from one pixel to the next
  GridEdge edge = GridEdge::zeros;
  bool align_corners = false, nearest = false;
};

struct SampleKernels {
  void (*sum)(const SampleTaps& taps, float* dst, int64_t channels, bool first);
  void (*most)(const SampleTaps& taps, int64_t group, float* dst, int64_t channels, bool first);
  void (*largest)(const SampleTaps& taps, float* dst, int64_t channels, bool first);
  // dst[cell * channels + c].
  void (*sum_cells)(const CellTaps& taps, float* dst, int64_t channels);
  void (*largest_cells)(const CellTaps& taps, float* dst, int64_t channels);
  // Null in buckets of short vectors. `step`: at least n, rounded up to whole vectors, which are written.
  bool (*grid_taps)(const GridPlane& plane, const float* points, int64_t n, int32_t* offsets, float* weights,
                    int64_t step);
  void (*gather_taps)(const float* src, const int32_t* offsets, const float* weights, int64_t step, int64_t taps,
                      float* dst, int64_t n);
};

const SampleKernels& sample_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
