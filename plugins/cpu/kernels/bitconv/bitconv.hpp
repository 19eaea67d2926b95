// What: convolution of zeros and ones with bits, by counting the agreeing ones.
// Formula: dst[o] = 2 * (number of taps and channels where src agrees with the weight) - their number.
// Layouts: src and dst are blocked by `block` channels, of one image. Its bits are [row][column][2][words], rows and
//          columns those of the padded image, channel c in bit c % 64 of word c / 64: first which values are one, then
//          which are zero, so that any other value agrees with no weight. Weights are [outputs / counters][tap][word]
//          [counters], bits of channels that do not exist set; these are zero in both halves of the image's last word,
//          or zeros of the padding of a block, so they never agree.
// Edge cases: outside the image stands pad_value. Outputs that do not exist, in the last block, are zero.
// Aliasing: none. Threads: any ranges of rows; sums of integers do not depend on them.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct BitConvArgs {
  const float* src = nullptr;
  uint64_t* bits = nullptr;
  const uint64_t* weights = nullptr;
  float* dst = nullptr;
  int64_t channels = 1, outputs = 1, block = 8, words = 1;
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1};
  int64_t stride[2] = {1, 1}, dilation[2] = {1, 1}, pad[2] = {0, 0};
  int64_t padded[2] = {1, 1};  // extents of the bits: what the last window reaches
  float pad_value = 0.0f;
};

struct BitConvKernels {
  int64_t counters;  // outputs counted at once; divides the channel block of the bucket
  // Rows of the padded image.
  void (*pack)(const BitConvArgs& args, int64_t row_begin, int64_t row_end);
  // Rows of dst, and groups of `counters` outputs.
  void (*count)(const BitConvArgs& args, int64_t row_begin, int64_t row_end, int64_t group_begin, int64_t group_end);
};

const BitConvKernels& bitconv_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
