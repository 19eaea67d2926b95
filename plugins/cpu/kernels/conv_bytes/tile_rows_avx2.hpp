// What: rows in register tiles, by the words that tile_sums.hpp asks for. Include the bucket's header first, and define
// these.
#pragma once

#include "plugins/cpu/kernels/conv_bytes/rows_avx2.hpp"
#include "plugins/cpu/kernels/conv_bytes/tile_sums.hpp"

namespace terroir::cpu::avx2 {
namespace {

// Of so many blocks, positions of a register tile: twelve sums, and what is multiplied.
constexpr int64_t most_in_tile(int64_t blocks) { return blocks == 3 ? 4 : 6; }

using Tile = void (*)(const ByteConvRow& row, int64_t first, Ahead ahead, int32_t* sums, int64_t stride);
template <int T, int B>
void tile(const ByteConvRow& row, int64_t first, Ahead ahead, int32_t* sums, int64_t stride) {
  add_up<T, B>(row, first, ahead, sums, stride);
}
template <int B>
constexpr Tile kTiles[] = {&tile<1, B>, &tile<2, B>, &tile<3, B>, &tile<4, B>, &tile<5, B>, &tile<6, B>};
template <>
constexpr Tile kTiles<3>[] = {&tile<1, 3>, &tile<2, 3>, &tile<3, 3>, &tile<4, 3>};

// add_up_row of rows_avx2.hpp: tiles as wide as can be, of nearly one width.
int64_t add_up_tiles(const ByteConvRow& row, int64_t first, int64_t end, int64_t lines, int32_t* sums, int64_t stride) {
  constexpr int64_t kLine = 64;
  constexpr const Tile* kByBlocks[kMostBlocks] = {kTiles<1>, kTiles<2>, kTiles<3>};
  const Tile* const by_width = kByBlocks[row.blocks - 1];
  const int64_t most = most_in_tile(row.blocks);
  for (int64_t tiles = (end - first + most - 1) / most; tiles > 0; --tiles) {
    const int64_t width = (end - first + tiles - 1) / tiles;
    // Hints may name anything; the weights are near.
    const Ahead ahead = lines < row.ahead_lines ? Ahead{row.ahead + lines * kLine, kLine} : Ahead{row.weights, 0};
    by_width[width - 1](row, first, ahead, sums, stride);
    lines += row.depth;
    first += width;
    sums += width * kLanes;
  }
  return lines;
}

// What some tiles add up is finished at once.
void row_of_tiles(const ByteConvRow& row) {
  alignas(64) int32_t sums[kMostBlocks * kMostPositions * kLanes];
  const int64_t parts = (row.positions + kMostPositions - 1) / kMostPositions;
  for (int64_t part = 0, done = 0, lines = 0; part < parts; ++part) {
    const int64_t end = row.positions * (part + 1) / parts;
    lines = add_up_tiles(row, done, end, lines, sums, kMostPositions);
    finish(row, {sums, kMostPositions, end - done, done, 0});
    done = end;
  }
}

}  // namespace
}  // namespace terroir::cpu::avx2
