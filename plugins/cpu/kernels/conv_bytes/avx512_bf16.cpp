// Rows of numbers of bf16 where there are no tiles: two products for a lane in one instruction.
#include "plugins/cpu/simd/avx512_bf16.hpp"

#include "plugins/cpu/kernels/conv_bytes/finish_bf16.hpp"

namespace terroir::cpu::avx512_bf16 {
namespace {

// Positions of a register tile: with four blocks of outputs, 28 sums, four vectors of weights leave no register idle.
constexpr int kTile = 7;
constexpr int64_t kLine = 64;
static_assert(kTile <= kMostPositions);

TERROIR_INLINE V broadcast_word(const uint8_t* p) {
  float word;
  __builtin_memcpy(&word, p, sizeof(word));
  return V(word);
}

// T positions from `src` on by B blocks of outputs: sums [B][T][16].
template <int T, int B>
void add_up(const ByteConvRow& row, const uint8_t* src, const int8_t* ahead, int64_t line, float* sums) {
  V acc[T][B];
  unroll<T>([&](auto t)
                TERROIR_INLINE_LAMBDA { unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA { acc[t][b] = zero(); }); });
  const int64_t step = row.src_step, block = row.depth * kLine;
  const int8_t* weights = row.weights;
  for (int64_t k = 0; k < row.depth; ++k, weights += kLine) {
    const uint8_t* const x = src + row.offsets[k];
    _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
    ahead += line;
    V w[B];
    unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA { w[b] = load(reinterpret_cast<const float*>(weights + b * block)); });
    unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA {
      const V numbers = broadcast_word(x + t * step);
      unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA { add_dot(acc[t][b], numbers, w[b]); });
    });
  }
  unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA {
    unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA { store(sums + (b * T + t) * kLanes, acc[t][b]); });
  });
}

using AddUp = void (*)(const ByteConvRow& row, const uint8_t* src, const int8_t* ahead, int64_t line, float* sums);
template <int B>
constexpr AddUp kByWidth[kTile] = {&add_up<1, B>, &add_up<2, B>, &add_up<3, B>, &add_up<4, B>,
                                   &add_up<5, B>, &add_up<6, B>, &add_up<7, B>};

}  // namespace

void bf16_conv_rows(const ByteConvRow& row, const ByteConvRows& rows);
void bf16_conv_rows(const ByteConvRow& row, const ByteConvRows& rows) {
  constexpr const AddUp* kByBlocks[kByteBlocksMost] = {kByWidth<1>, kByWidth<2>, kByWidth<3>, kByWidth<4>};
  // Tiles of one width, of which the last one of a row may begin before the one before ends.
  const int64_t tiles = (row.positions + kTile - 1) / kTile, width = (row.positions + tiles - 1) / tiles;
  const AddUp add = kByBlocks[row.blocks - 1][width - 1];
  alignas(64) float sums[kByteBlocksMost * kTile * kLanes];
  int64_t fetched = 0;
  for (int64_t r = 0; r < rows.count; ++r)
    for (int64_t i = 0; i < tiles; ++i, fetched += row.depth) {
      const int64_t begin = i * width, last = row.positions - width, first = begin < last ? begin : last;
      // Hints may name anything; the weights are near.
      const bool fetches = fetched < row.ahead_lines;
      add(row, row.src + r * rows.src_step + first * row.src_step, fetches ? row.ahead + fetched * kLine : row.weights,
          fetches ? kLine : 0, sums);
      finish_bf16_in_row(row, rows, r, {reinterpret_cast<const int32_t*>(sums), width, width, first, begin - first});
    }
}

}  // namespace terroir::cpu::avx512_bf16
