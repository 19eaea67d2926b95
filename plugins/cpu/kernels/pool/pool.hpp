// What: maximum and average pooling over up to three spatial axes, one image (or one channel block of it) at a time,
// and maxima of bytes and of bf16; and adaptive pooling, whose windows (cells) divide the axes. Formula: dst[o] = max
// or mean of src[o * stride - pad_begin + k * dilation] over the k whose index is inside. Layouts: `width` channels
// adjacent at every position: a channel block (width = B, padding included), nhwc (width = C),
//   or one channel of plain (width = 1).
// Edge cases: the divisor of an average is the number of elements inside (exclude_pad), or that of the whole window. A
// NaN is never a maximum. An empty window gives the lowest finite number for max, 0 for average. Aliasing: none.
// Threads: rows of the output, counted over OD * OH, are independent.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

// Axis order D, H, W; missing axes have extents, kernel, stride, dilation 1 and pads 0.
struct PoolArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  int64_t width = 1;
  int64_t in[3] = {1, 1, 1};
  int64_t out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t dilation[3] = {1, 1, 1};
  int64_t pad_begin[3] = {0, 0, 0};
  bool exclude_pad = true;
};

// One channel. Cell o of axis i is [cells[i][2 * o], cells[i][2 * o + 1]).
struct AdaptiveArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  int32_t* places = nullptr;  // of adaptive_max: of each maximum in the channel
  int64_t in[3] = {1, 1, 1};
  int64_t out[3] = {1, 1, 1};
  const int64_t* cells[3] = {nullptr, nullptr, nullptr};
  float* columns = nullptr;        // scratch: in[2] floats, to the end of a cache line
  int32_t* column_rows = nullptr;  // and for adaptive_max as many numbers
};

struct PoolKernels {
  void (*max)(const PoolArgs& args, int64_t row_begin, int64_t row_end);
  void (*average)(const PoolArgs& args, int64_t row_begin, int64_t row_end);
  // Maxima of unsigned bytes in blocks of kLanes channels, from `src` to `dst` instead of those of `args`; 0 of an empty
  // window. Null: there is none.
  void (*max_bytes)(const PoolArgs& args, const uint8_t* src, uint8_t* dst, int64_t row_begin, int64_t row_end);
  // Likewise of bf16, of width 32; the lowest finite number of an empty window.
  void (*max_bf16)(const PoolArgs& args, const uint16_t* src, uint16_t* dst, int64_t row_begin, int64_t row_end);
  // Maxima of one channel (width 1) of fewer than 2^31 elements, and where the first of them is: an index into src,
  // that of the window's first element if none is above the lowest finite number, -1 of an empty window.
  void (*max_places)(const PoolArgs& args, int32_t* places, int64_t row_begin, int64_t row_end);
  void (*adaptive_average)(const AdaptiveArgs& args, int64_t row_begin, int64_t row_end);
  void (*adaptive_max)(const AdaptiveArgs& args, int64_t row_begin, int64_t row_end);
};

const PoolKernels& pool_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
