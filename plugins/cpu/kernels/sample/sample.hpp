// What: weighted sums of image positions, all channels of each at once: interpolation at any points.
// Formula: sum: dst[c] = (first ? 0 : dst[c]) + the sum over t of weights[t] * src[offsets[t] + c], in the order of t.
//   most: dst[c] = the largest of (first ? 0 : dst[c]) and of such sums over `group` taps each; NaN is never largest.
//   largest: the same of single elements, without weights, where the first is compared with -inf.
//   sum_cells, largest_cells: those of many cells, each of its own taps; zeros without any.
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

struct SampleKernels {
  void (*sum)(const SampleTaps& taps, float* dst, int64_t channels, bool first);
  void (*most)(const SampleTaps& taps, int64_t group, float* dst, int64_t channels, bool first);
  void (*largest)(const SampleTaps& taps, float* dst, int64_t channels, bool first);
  // dst[cell * channels + c].
  void (*sum_cells)(const CellTaps& taps, float* dst, int64_t channels);
  void (*largest_cells)(const CellTaps& taps, float* dst, int64_t channels);
};

const SampleKernels& sample_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
