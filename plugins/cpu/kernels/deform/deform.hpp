// What: the samples of a deformable convolution, interpolated between four pixels, as the left matrix of a product.
// Formula: column[m][tap][c] = mask * sum over the corners of (y, x) of their share * src[c], where
//          (y, x) = output position * stride - pad + tap * dilation + offset of the deformable group of c.
// Layouts: src keeps `pixel` floats of neighbouring channels per position (nhwc, or one channel block of many); a
//          segment is a run of channels that are neighbours there and in the columns. offsets are
//          [group][tap][y, x][positions], mask is [group][tap][positions] or null.
// Edge cases: outside the source a sample is zero, and its mask is not looked at. Between the border and one pixel
//             outside, `padded` interpolates with zeros; else the last pixel's value goes on beyond it. An offset that
//             is no number is outside. A coordinate is the sum of its offset and the rest, rounded once to f32. A
//             corner without a share is not read, so an infinity there does no harm.
// Aliasing: none. Threads: any ranges of positions.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

// Channels [0, count) of a run: where they are from a pixel's first, and in a row of columns.
struct DeformSegment {
  int64_t src, column, count;
};

struct DeformArgs {
  const float* src = nullptr;
  const float* offsets = nullptr;
  const float* mask = nullptr;
  float* columns = nullptr;
  const DeformSegment* segments = nullptr;
  const int64_t* first_segment = nullptr;  // of each deformable group, and the end
  int64_t groups = 1;                      // deformable ones
  int64_t pixel = 1;
  int64_t row_stride = 0, tap_stride = 0;  // of columns
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1};
  int64_t stride[2] = {1, 1}, dilation[2] = {1, 1}, pad[2] = {0, 0};
  bool padded = false;
};

struct DeformKernels {
  // Fills the rows of output positions [begin, begin + count); the first of them is row 0.
  void (*sample)(const DeformArgs& args, int64_t begin, int64_t count);
};

const DeformKernels& deform_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
