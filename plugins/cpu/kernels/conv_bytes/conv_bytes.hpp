// What: rows of a convolution (or of a matrix product) of unsigned bytes with signed ones: sums in 32 bits, exact, then
// in f32 the bias, an operand, a clamp and further post-ops, and at the store f32 or, quantised again, bytes. Or of
// numbers of bf16, two bytes each: sums in f32, pair by pair in the order of the steps, stored as f32 or bf16.
// Formula: f = f32(sum) * scale[c] + bias[c], through first_ops, rounded, + residual, clamped to [low, high], through
//          post_ops; a byte is round_half_even(clamp((f - low[c]) * steps[c], 0, most)) of its levels, 0 for NaN.
//          Rounded: round_half_even(clamp(f, low, high) * alpha + beta) * scale + shift. A residual in bytes: its
//          bytes * scale + shift.
// Layouts: the sum of a position is that over k in [0, depth) of the four bytes at src + offsets[k] with those of
//          weights[k]: where channels, taps and padding lie is the caller's business. Weights are
//          [depth][blocks][16][4], for wide rows [blocks][depth][16][4]. Results are 16 channels in a row: nChw16c,
//          halves of nChw32c, or rows of a matrix. Floats as pairs of numbers of bf16, `rests` bytes apart: those that
//          are nearest, and what is left of them; of weights [blocks][2][depth][16][4]. All products of these are
//          summed but that of two rests, which is 2^-16 of the whole at most. Depthwise, rows of the source are words
//          of four positions, [words][16][4], the weights [spans][steps][16][4] of as many spans of taps that follow
//          each other, at offsets[span * steps]. With AVX2 a block has 8 channels, where it has 16 here.
//          Kernels that `widen` multiply numbers of 16 bits, two to a step, for 8 outputs: a block has 8 channels, the
//          sum of a position is that of the two numbers at src + offsets[k] with those of weights
//          [depth][blocks][8][2]. Depthwise, rows of the source are [positions][8][2], each position with the one
//          behind it, the weights [spans][steps][8][2].
// Edge cases: the last `lanes` of the last block are the ones that exist. With `pads`, the others are stored as zero;
//          without, no byte behind them is touched.
// Aliasing: none, but for the residual.
// Threads: any rows and blocks; results do not depend on who computes what.
#pragma once

#include <cstdint>

namespace terroir::cpu {

struct PostOp;

// Of the channels of a block, of 16 values each; in a row, of the first output, 16 to a block.
struct ByteLevels {
  const float *low, *steps;
  float most;
};

struct ByteRounding {
  float low, high, alpha, beta, scale, shift;
};

inline constexpr int64_t kByteBlock = 16;  // outputs of a block, at most
inline constexpr int64_t kBf16Block = 32;  // channels of a block of a tensor of bf16

// Where blocks of 16 channels lie, in elements: from position to position, and from block to block of the tensor, each
// of which is one of them or two `halves`. `first`: which of them the first one is.
struct ByteBlocks {
  int64_t step, block, halves = 1, first = 0;
  // Of block `b`, beside the first one.
  constexpr int64_t at(int64_t b) const {
    if (halves == 1) return b * block;
    return (first + b) / 2 * block + ((first + b) % 2 - first) * kByteBlock;
  }
};

struct ByteConvRow {
  // Of position 0: the positions of the row are `src_step` bytes apart.
  const uint8_t* src;
  int64_t src_step;
  int64_t positions;
  int64_t depth;
  const int32_t* offsets;
  int64_t rests = 0;  // 0: numbers of bf16 stand for themselves
  int64_t blocks;     // of 16 outputs, 1 to 4
  const int8_t* weights;
  const float* scale;           // of the first output; 16 to a block
  const float* bias;            // likewise, of the first position
  const int32_t* bias_offsets;  // by position, in floats from `bias`; null: zeros
  // One of the three, or the first two. The residual may be null, or `dst`; in bytes it lies as the results do.
  float* dst;
  uint8_t* dst_bytes;
  uint16_t* dst_bf16;
  const float* residual;
  const uint16_t* residual_bf16;  // or null
  const uint8_t* residual_bytes;  // or null
  float residual_scale, residual_shift;
  ByteBlocks results, residuals, operands;
  int64_t lanes;
  bool pads;
  bool is_residual_late;         // of bf16: added behind the steps
  bool pads_half;                // there is no other half to the last block, which is a first one: it is stored as zero
  const ByteRounding* rounding;  // or null
  float low, high;
  // Steps in front of the rounding, and behind the clamp; their operands lie as results of floats would, of which the
  // first is at `place`.
  const PostOp *first_ops, *post_ops;
  int64_t first_op_count, post_op_count;
  int64_t place, channel;
  ByteLevels levels;  // there, whether bytes are stored or not
  // What is read next, so many cache lines, of which as many are fetched meanwhile as the row has time for.
  const int8_t* ahead;
  int64_t ahead_lines;
};

// Output rows, of which the fields of ByteConvRow name the first.
struct ByteConvRows {
  int64_t count;
  int64_t src_step;     // from row to row, in bytes
  int64_t dst_step;     // in elements; of bytes of the residual, too
  const int32_t* bias;  // by row, in floats from that of the first
  int64_t residual_step = 0, operand_step = 0;
};

// Depthwise, the taps of a span, and the source positions from output to output.
struct ByteTaps {
  int64_t count, stride;
  // That an output reads for a span, at most.
  constexpr int64_t words() const {
    const int64_t most_in_front = stride % 4 == 0 ? 0 : stride % 2 == 0 ? 2 : 3;  // of the first tap, in its word
    return (most_in_front + count - 1) / 4 + 1;
  }
  // Words of a source row that are read, whatever lies in those behind the last tap.
  constexpr int64_t words_read(int64_t positions) const {
    return ((positions + 3) / 4 - 1) * stride + 3 * stride / 4 + words();
  }
  // Bytes that the kernel needs for itself.
  constexpr int64_t room(int64_t spans) const { return (spans * words() * (4 * 64 + 4) + 63) / 64 * 64; }
};

// Source rows of a block, `src_step` bytes apart, and of each so many positions, behind `left` zeros of words.
struct ByteRows {
  const uint8_t* src;
  int64_t src_step, rows, positions, left, words;
};

// Floats of 16 outputs at most, distances in elements. Those of a tap: the last input is not past 2^31 / 4 bytes.
struct Bf16Weights {
  const float* at;
  int64_t outputs, output_step, inputs, input_step;
  int64_t rests = 0;  // so many bytes behind the numbers goes what rounding leaves of them; 0: nowhere
};

// Windows of 3x3 of stride 1 by Winograd's F(2x2, 3x3), in numbers of 16 bits and exact: of the transforms of data and
// weights the sums of products are four times those of the windows, in 32 bits, whatever overflows on the way.
// Numbers of a tile of 2x2 outputs: [16][tiles][channels], of the weights [16][channels / 2][blocks][8][2].
struct WinogradTiles {
  int64_t rows, columns;  // of tiles
  int64_t channels;       // in whole blocks
  static constexpr int64_t kNumbers = 16;
  constexpr int64_t count() const { return rows * columns; }
  constexpr int64_t bytes() const { return kNumbers * count() * channels * 2; }
  // That winograd_rows needs for itself.
  static constexpr int64_t kAtOnce = 48;
  static constexpr int64_t kRoom = kNumbers * kAtOnce * 3 * 32;
  // Of sums of so many channels none is beyond 32 bits: 4 * 9 * 255 * 128 for each.
  static constexpr int64_t kMostChannels = 1024;
};

struct ByteConvKernels {
  const char* bucket;                 // as TERROIR_FORCE_ISA has it
  const char* wide_bucket = nullptr;  // of those that take 64 bytes at once
  // Of these, the time of 64 bytes of 16 positions by a block of outputs, about; and whether it is that of all sixteen,
  // however few positions there are.
  double tile_ns = 0;
  bool tiles_are_whole = false;
  int64_t lanes = kByteBlock;  // outputs of a block, channels of one of a tensor of bytes
  int64_t most_blocks = 4;     // of a row
  void (*row)(const ByteConvRow& row);
  // One block; of bytes `src_step` of the row has no meaning. `room` is aligned to 64 bytes.
  void (*depthwise_rows)(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& taps, int8_t* room);
  // To [rows][words][16][4], zero where there is no position. Of numbers of 16 bits a position is a word.
  void (*depthwise_words)(const ByteRows& rows, uint8_t* dst);
  // The same as `row`, faster, where steps come in sixteens whose bytes lie one behind the other; null: there is none.
  void (*wide_rows)(const ByteConvRow& row, const ByteConvRows& rows) = nullptr;
  // Likewise, of numbers of bf16; null: there is none.
  void (*bf16_rows)(const ByteConvRow& row, const ByteConvRows& rows) = nullptr;
  // Of f32: bytes as above, `count` of them; of the channels of a block in turn.
  void (*quantize)(const float* src, uint8_t* dst, int64_t count, const ByteLevels& levels);
  // Of planes of f32, `plane` elements apart: a block of 16 channels, of which so many exist, the others zero.
  void (*quantize_planes)(const float* src, int64_t plane, int64_t channels, uint8_t* dst, int64_t positions,
                          const ByteLevels& levels);
  // Positions of blocks that are `block_step` bytes apart, to positions `dst_step` apart whose channels lie side by
  // side.
  void (*side_by_side)(const uint8_t* src, int64_t block_step, int64_t blocks, int64_t positions, uint8_t* dst,
                       int64_t dst_step);
  // The first 4 or 8 channels of positions of a block.
  void (*few_channels)(const uint8_t* src, int64_t channels, int64_t positions, uint8_t* dst);
  // Bytes to numbers of 16 bits, which all other kernels read and which these have in the place of bytes; null: bytes
  // are what they multiply.
  void (*widen)(const uint8_t* src, int64_t count, uint8_t* dst) = nullptr;
  // Numbers of tiles from those of windows: [channels / 8] blocks of rows of positions, of 8 numbers of 16 bits each,
  // two more of both than outputs; distances in bytes. Null: there is none.
  void (*winograd_tiles)(const uint8_t* src, int64_t block_step, int64_t row_step, const WinogradTiles& tiles,
                         uint8_t* dst) = nullptr;
  // `row`, of which src has the numbers of the tiles, and offsets the steps of one number; of the last row, and the
  // last position, of a tile there may be none. `room` is aligned to 64 bytes.
  void (*winograd_rows)(const ByteConvRow& row, const ByteConvRows& rows, const WinogradTiles& tiles,
                        int8_t* room) = nullptr;
  // Numbers of bf16 from f32 (nearest, ties to even) in blocks of 16, or from bf16 in blocks of 32, null where there is
  // no bf16_rows: the channels of `blocks` blocks of 16 of positions side by side; the first 2 or 4 channels of a
  // block; a row, behind which zeros fill 64 bytes. Of positions that are `step` apart. Distances of the source in
  // elements (block_step: of 16 channels, of halves on average), of `dst` in bytes. Of pairs the rests go so many bytes
  // behind, which others do not look at; there are none of few channels.
  struct Bf16Windows {
    void (*side_by_side)(const void* src, int64_t block_step, int64_t blocks, int64_t positions, int64_t step,
                         uint8_t* dst, int64_t dst_step, int64_t rests);
    void (*few_channels)(const void* src, int64_t channels, int64_t positions, uint8_t* dst);
    void (*row)(const void* src, int64_t count, uint8_t* dst, int64_t rests);
  };
  const Bf16Windows *of_floats = nullptr, *of_bf16 = nullptr, *of_pairs = nullptr;
  // Of planes of f32, `plane` elements apart, of 1 to 4 channels: positions of 2 or 4 numbers, the last ones zero.
  void (*bf16_planes)(const float* src, int64_t plane, int64_t channels, int64_t numbers, int64_t positions,
                      uint8_t* dst) = nullptr;
  // Between positions of a block of 32 numbers of bf16 and two blocks of 16 floats that are `apart`; back of one alone,
  // 0: the other half is zero. Null where there is no bf16_rows.
  void (*floats_of_bf16)(const uint16_t* src, float* dst, int64_t apart, int64_t positions) = nullptr;
  void (*bf16_of_floats)(const float* src, int64_t apart, uint16_t* dst, int64_t positions) = nullptr;
  // Numbers of bf16 as bf16_rows reads them, [pairs of inputs][16][2], zero where there is none.
  void (*pack_bf16)(const Bf16Weights& weights, uint8_t* dst) = nullptr;
  // scale * byte + shift.
  void (*dequantize)(const uint8_t* src, float* dst, int64_t count, float scale, float shift);
};

inline constexpr int64_t kByteBlocksMost = 4;  // at once, of any kernels
inline constexpr int64_t kBytesAtOnce = 4;     // of a step of the sum
inline constexpr int64_t kWideBytes = 64;      // of the steps that `wide_rows` takes at once
inline constexpr int64_t kBf16Bytes = 2;

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class ByteProducts : int32_t;

// Null for none.
const ByteConvKernels* byte_conv_kernels(ByteProducts products) noexcept;

}  // namespace terroir::cpu
