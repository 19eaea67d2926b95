#include "plugins/cpu/simd/avx512_vnni.hpp"

#include "plugins/cpu/kernels/conv_bytes/finish.hpp"
#include "plugins/cpu/kernels/conv_bytes/levels.hpp"

namespace terroir::cpu::avx512_vnni {

void depthwise_rows(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& taps, int8_t* room);
void depthwise_words(const ByteRows& rows, uint8_t* dst);

namespace {

// Positions of a register tile: with four blocks of outputs, 28 sums, four vectors of weights leave no register idle.
constexpr int kTile = 7;
static_assert(kTile <= kMostPositions);

// What a tile fetches meanwhile, a line at each step; `line` 0: nothing more.
struct Ahead {
  const int8_t* at;
  int64_t line;
};

// T positions from `first` on by B blocks of outputs.
template <int T, int B>
void tile(const ByteConvRow& row, int64_t first, int64_t done, Ahead ahead) {
  VI acc[T][B];
  unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA { unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA { acc[t][b] = VI(0); }); });
  const int64_t step = row.src_step;
  const uint8_t* const src = row.src + first * step;
  const int8_t* weights = row.weights;
  for (int64_t k = 0; k < row.depth; ++k, weights += B * 4 * kLanes) {
    const uint8_t* const x = src + row.offsets[k];
    _mm_prefetch(reinterpret_cast<const char*>(ahead.at), _MM_HINT_T1);
    ahead.at += ahead.line;
    VI w[B];
    unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA { w[b] = VI(_mm512_load_si512(weights + b * 4 * kLanes)); });
    unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA {
      const VI u = broadcast_word(x + t * step);
      unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA { add_dot_bytes(acc[t][b], u, w[b]); });
    });
  }
  alignas(64) int32_t sums[B * T * kLanes];
  unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA {
    unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA { store_int(sums + (b * T + t) * kLanes, acc[t][b]); });
  });
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

void quantize(const float* src, uint8_t* dst, int64_t count, const ByteLevels& of) {
  const Levels levels(of, 0);
  const auto value = [&](int64_t i) TERROIR_INLINE_LAMBDA { return levels_of(loadu(src + i), levels); };
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes)
    store_64(dst + i, value(i), value(i + kLanes), value(i + 2 * kLanes), value(i + 3 * kLanes));
  for (; i + kLanes <= count; i += kLanes) store_16(dst + i, value(i));
  if (i < count) store_bytes(dst + i, levels_of(load_n(src + i, count - i), levels), count - i);
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

void quantize_planes(const float* src, int64_t plane, int64_t channels, uint8_t* dst, int64_t positions,
                     const ByteLevels& of) {
  constexpr int64_t kQuads = kByteBlock / kBytesAtOnce;
  for (int64_t at = 0; at < positions; at += kLanes) {
    const int64_t n = positions - at < kLanes ? positions - at : kLanes;
    VI words[kQuads];
    for (int64_t quad = 0; quad < kQuads; ++quad) {
      VI word(0);
      for (int64_t c = quad * kBytesAtOnce + kBytesAtOnce - 1; c >= quad * kBytesAtOnce; --c) {
        word = shift_left<8>(word);
        if (c >= channels) continue;
        const V level = (load_n(src + c * plane + at, n) - V(of.low[c])) * V(of.steps[c]);
        word = word | to_int(min(max(level, zero()), V(of.most)));
      }
      words[quad] = word;
    }
    store_positions(dst + at * kByteBlock, words, n);
  }
}

void dequantize(const uint8_t* src, float* dst, int64_t count, float scale, float shift) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t n = count - i < kLanes ? count - i : kLanes;
    store_n(dst + i, fma(float_bytes(src + i, n), V(scale), V(shift)), n);
  }
}

}  // namespace

const ByteConvKernels& byte_conv_table();
const ByteConvKernels& byte_conv_table() {
  static constexpr ByteConvKernels kTable = {.row = &row,
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
