// What: convolution of 8-bit integers with packed 16-bit weights, 32-bit sums and requantisation to 8 bits.
// Formula: dst = byte(round_half_even(clamp(f32(sum) * multiplier, low, high)) + dst_zero), where
//          sum = bias + sum over taps and channels of (src - src_zero) * weight, exact in 32 bits (the caller sees to
//          it).
// Layouts: plain. src is one image of one group: [channels][in0][in1][in2]; dst is [out_channels][out0][out1][out2] of
// it.
//          Weights have their zero points subtracted and come as pairs of channels, low half first, in blocks of up to
//          kernels.rows output channels: [block][tap][pair][row]; an odd channel's pair is completed by zero. Block b
//          of B covers the outputs from b * (O / B) + min(b, O % B) on.
// How: the samples under a tile of output positions are unfolded into pairs, [tap][pair][tile]; then register tiles of
//      rows x 2 vectors of positions multiply them with weights, two products per lane and instruction. Groups of few
//      outputs, of depthwise convolutions above all, would not pay for that: the source rows under a band of output
//      rows are spread into pairs instead, [pair][kd][row][phase][column], with their padding, those of one stride
//      phase side by side, so that every tap of neighbouring outputs is one load.
// Edge cases: samples outside the source count as src_zero. Signed bytes: src_flip = 0x80 and src_zero + 128, which is
//             the same difference.
// Aliasing: none. Threads: any ranges of positions and blocks; sums of integers do not depend on them.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct QConvArgs {
  const uint8_t* src = nullptr;
  uint8_t* dst = nullptr;
  const int32_t* weights = nullptr;    // of this group
  const int32_t* bias = nullptr;       // by output channel of this group
  const float* multipliers = nullptr;  // by output channel of this group
  int32_t* columns = nullptr;          // taps * pairs * tile, 64-byte aligned
  int64_t tile = 0;                    // positions per tile: a multiple of kernels.step, at most kernels.most_positions
  int64_t channels = 1, out_channels = 1, blocks = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
  int32_t src_flip = 0, src_zero = 0;
  int32_t dst_zero = 0;
  float low = 0, high = 255;  // of the destination type, less dst_zero

  // Of bands; columns then hold pairs * kernel[0] * band_rows * stride[2] * band_columns.
  int64_t band_rows = 0;                 // source rows under a whole band
  int64_t band_columns = 0;              // of one phase: those of the last tap of kernels.most_columns(out[2]) outputs
  const int64_t* tap_offsets = nullptr;  // [tap][pair]: from the element of tap 0 of pair 0 of an output row
};

struct QConvKernels {
  int64_t rows;            // output channels of a block, at most
  int64_t step;            // positions of a register tile
  int64_t most_positions;  // of a tile
  // Fills columns with the samples of output positions [begin, begin + count), count <= tile.
  void (*unfold)(const QConvArgs& args, int64_t begin, int64_t count);
  // Output columns that are computed, some of them in vain, for a row of so many.
  int64_t (*most_columns)(int64_t columns);
  // Fills columns with the source rows of output rows [row_begin, row_end) of output slice d.
  void (*spread)(const QConvArgs& args, int64_t d, int64_t row_begin, int64_t row_end);
  // The outputs of these rows, from columns. One block of weights.
  void (*multiply_band)(const QConvArgs& args, int64_t d, int64_t row_begin, int64_t row_end);
  // The outputs of these positions and of blocks [block_begin, block_end), from columns.
  void (*multiply)(const QConvArgs& args, int64_t begin, int64_t count, int64_t block_begin, int64_t block_end);
};

const QConvKernels& qconv_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
