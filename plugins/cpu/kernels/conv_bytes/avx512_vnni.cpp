#include "plugins/cpu/simd/avx512_vnni.hpp"

#include "plugins/cpu/kernels/conv_bytes/finish.hpp"
#include "plugins/cpu/kernels/conv_bytes/tile_sums.hpp"

namespace terroir::cpu::avx512_vnni {

void depthwise_rows(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& taps, int8_t* room);
void depthwise_words(const ByteRows& rows, uint8_t* dst);

namespace {

// Positions of a register tile: with four blocks of outputs, 28 sums, four vectors of weights leave no register idle.
constexpr int kTile = 7;
static_assert(kTile <= kMostPositions);

// T positions from `first` on by B blocks of outputs.
template <int T, int B>
void tile(const ByteConvRow& row, int64_t first, int64_t done, Ahead ahead) {
  alignas(64) int32_t sums[B * T * kLanes];
  add_up<T, B>(row, first, ahead, sums, T);
  finish(row, {sums, T, T, first, done});
}

// Positions [first + done, first + T).
using Tile = void (*)(const ByteConvRow& row, int64_t first, int64_t done, Ahead ahead);
template <int B>
constexpr Tile kTiles[kTile] = {&tile<1, B>, &tile<2, B>, &tile<3, B>, &tile<4, B>,
                                &tile<5, B>, &tile<6, B>, &tile<7, B>};

constexpr int64_t kLine = 64;

TERROIR_INLINE int64_t tiles_of(int64_t positions) { return (positions + kTile - 1) / kTile; }

// Tiles of one width, of which the last one may begin before the one before ends.
TERROIR_INLINE void cut(const ByteConvRow& row, const Tile* by_width) {
  const int64_t tiles = tiles_of(row.positions), width = (row.positions + tiles - 1) / tiles;
  const Tile tile = by_width[width - 1];
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t begin = i * width, last = row.positions - width, first = begin < last ? begin : last;
    const int64_t fetched = i * row.depth;
    // Hints may name anything; the weights are near.
    const Ahead ahead = fetched < row.ahead_lines ? Ahead{row.ahead + fetched * kLine, kLine} : Ahead{row.weights, 0};
    tile(row, first, begin - first, ahead);
  }
}

void row(const ByteConvRow& row) {
  constexpr const Tile* kByBlocks[] = {kTiles<1>, kTiles<2>, kTiles<3>, kTiles<4>};
  cut(row, kByBlocks[row.blocks - 1]);
}

struct FourLines {
  __m512i line[4];
};
// Quarter j of line i becomes quarter i of line j.
TERROIR_INLINE FourLines transpose_quarters(const FourLines& x) {
  const __m512i even0 = _mm512_shuffle_i32x4(x.line[0], x.line[1], 0x44);
  const __m512i even1 = _mm512_shuffle_i32x4(x.line[2], x.line[3], 0x44);
  const __m512i odd0 = _mm512_shuffle_i32x4(x.line[0], x.line[1], 0xee);
  const __m512i odd1 = _mm512_shuffle_i32x4(x.line[2], x.line[3], 0xee);
  return {{_mm512_shuffle_i32x4(even0, even1, 0x88), _mm512_shuffle_i32x4(even0, even1, 0xdd),
           _mm512_shuffle_i32x4(odd0, odd1, 0x88), _mm512_shuffle_i32x4(odd0, odd1, 0xdd)}};
}

// Of the first `n` quarters of a line.
TERROIR_INLINE __mmask16 quarters(int64_t n) { return static_cast<__mmask16>(n >= 4 ? 0xffff : (1u << (4 * n)) - 1); }

// Of one to four blocks.
TERROIR_INLINE void join_blocks(const uint8_t* src, int64_t block_step, int64_t blocks, int64_t positions, uint8_t* dst,
                                int64_t dst_step) {
  const __mmask16 stored = quarters(blocks);
  for (int64_t p = 0; p < positions; p += 4, src += 4 * kByteBlock, dst += 4 * dst_step) {
    const int64_t n = positions - p < 4 ? positions - p : 4;
    FourLines x;
    for (int64_t i = 0; i < 4; ++i)
      x.line[i] = _mm512_maskz_loadu_epi32(quarters(i < blocks ? n : 0), src + i * block_step);
    x = transpose_quarters(x);
    for (int64_t i = 0; i < n; ++i) _mm512_mask_storeu_epi32(dst + i * dst_step, stored, x.line[i]);
  }
}

void side_by_side(const uint8_t* src, int64_t block_step, int64_t blocks, int64_t positions, uint8_t* dst,
                  int64_t dst_step) {
  // Few streams at a time, which processors notice and read ahead.
  constexpr int64_t kAtOnce = 64;
  for (int64_t first = 0; first < positions; first += kAtOnce) {
    const int64_t n = positions - first < kAtOnce ? positions - first : kAtOnce;
    for (int64_t b = 0; b < blocks; b += 4)
      join_blocks(src + b * block_step + first * kByteBlock, block_step, blocks - b < 4 ? blocks - b : 4, n,
                  dst + first * dst_step + b * kByteBlock, dst_step);
  }
}

// The first channels of a block.
void few_channels(const uint8_t* src, int64_t channels, int64_t positions, uint8_t* dst) {
  const __mmask16 kept = channels == 4 ? 0x1111 : 0x3333;
  for (int64_t p = 0; p < positions; p += 4) {
    const int64_t n = positions - p < 4 ? positions - p : 4;
    const __m512i few = _mm512_maskz_compress_epi32(kept, _mm512_maskz_loadu_epi32(quarters(n), src + p * kByteBlock));
    _mm512_mask_storeu_epi32(dst + p * channels, static_cast<__mmask16>((1u << (n * channels / 4)) - 1), few);
  }
}

// Words of four channels by position, of 16 positions, to positions of 16 channels, the first `n`.
TERROIR_INLINE void store_positions(uint8_t* dst, const VI* words, int64_t n) {
  const __m512i low0 = _mm512_unpacklo_epi32(words[0], words[1]), high0 = _mm512_unpackhi_epi32(words[0], words[1]);
  const __m512i low1 = _mm512_unpacklo_epi32(words[2], words[3]), high1 = _mm512_unpackhi_epi32(words[2], words[3]);
  // Of every fourth position, one to a quarter.
  const __m512i at0 = _mm512_unpacklo_epi64(low0, low1), at1 = _mm512_unpackhi_epi64(low0, low1);
  const __m512i at2 = _mm512_unpacklo_epi64(high0, high1), at3 = _mm512_unpackhi_epi64(high0, high1);
  const FourLines lines = transpose_quarters({{at0, at1, at2, at3}});
  for (int64_t i = 0; i < 4; ++i)
    _mm512_mask_storeu_epi32(dst + i * 4 * kByteBlock, quarters(n > 4 * i ? n - 4 * i : 0), lines.line[i]);
}

}  // namespace
}  // namespace terroir::cpu::avx512_vnni

// Behind store_positions.
#include "plugins/cpu/kernels/conv_bytes/to_bytes.hpp"

namespace terroir::cpu::avx512_vnni {

const ByteConvKernels& byte_conv_table();
const ByteConvKernels& byte_conv_table() {
  static constexpr ByteConvKernels kTable = {.bucket = "avx512_vnni",
                                             .row = &row,
                                             .depthwise_rows = &depthwise_rows,
                                             .depthwise_words = &depthwise_words,
                                             .quantize = &quantize,
                                             .quantize_planes = &quantize_planes,
                                             .side_by_side = &side_by_side,
                                             .few_channels = &few_channels,
                                             .dequantize = &dequantize};
  return kTable;
}

}  // namespace terroir::cpu::avx512_vnni
