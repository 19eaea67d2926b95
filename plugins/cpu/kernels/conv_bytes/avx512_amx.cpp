#include "plugins/cpu/simd/avx512_amx.hpp"

#include "plugins/cpu/kernels/conv_bytes/finish.hpp"

namespace terroir::cpu::avx512_amx {
namespace {

// Rows and bytes of a row of a tile; sums of a tile: 16 positions of 16 outputs.
constexpr int64_t kRows = 16, kRowBytes = 64;
constexpr int64_t kStepsAtOnce = kRowBytes / kBytesAtOnce;
static_assert(2 * kRows <= kMostPositions);

// Palette 1: sums 0 to 3 and data 4, 5 of so many positions; weights 6, 7 of 16 steps.
struct alignas(64) TileShapes {
  explicit TileShapes(int64_t positions) {
    for (int t = 0; t < 8; ++t) {
      row_bytes[t] = kRowBytes;
      rows[t] = static_cast<uint8_t>(t < 6 ? positions : kRows);
    }
  }
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// A tiles of positions, the second one `apart` positions behind the first, by B blocks of weights: sums [B][count][16].
template <int A, int B>
TERROIR_INLINE void product(const ByteConvRow& row, const uint8_t* src, const int8_t* weights, int64_t apart,
                            int64_t count, int32_t* sums, const int8_t*& ahead, int64_t lines) {
  _tile_zero(0);
  if (A > 1) _tile_zero(1);
  if (B > 1) _tile_zero(2);
  if (A > 1 && B > 1) _tile_zero(3);
  const int64_t weight_step = row.blocks * kRowBytes, data_step = row.src_step;
  for (int64_t k = 0; k < row.depth; k += kStepsAtOnce, weights += kStepsAtOnce * weight_step) {
    const uint8_t* const x = src + row.offsets[k];
    _tile_loadd(6, weights, weight_step);
    _tile_loadd(4, x, data_step);
    _tile_dpbusd(0, 4, 6);
    if (A > 1) {
      _tile_loadd(5, x + apart * data_step, data_step);
      _tile_dpbusd(1, 5, 6);
    }
    for (int64_t i = 0; i < lines; ++i, ahead += kRowBytes)
      _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
    if (B > 1) {
      _tile_loadd(7, weights + kRowBytes, weight_step);
      _tile_dpbusd(2, 4, 7);
      if (A > 1) _tile_dpbusd(3, 5, 7);
    }
  }
  _tile_stored(0, sums, kRowBytes);
  if (A > 1) _tile_stored(1, sums + apart * kLanes, kRowBytes);
  if (B > 1) _tile_stored(2, sums + count * kLanes, kRowBytes);
  if (A > 1 && B > 1) _tile_stored(3, sums + (count + apart) * kLanes, kRowBytes);
}

}  // namespace

void byte_conv_row(const ByteConvRow& row);
void byte_conv_row(const ByteConvRow& row) {
  const int64_t rows = row.positions < kRows ? row.positions : kRows;
  const TileShapes shapes(rows);
  // To g++ the word for it reads a pointer's worth of bytes: the others, too, must be in memory.
  __asm__ volatile("" : : "r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
  const int64_t steps = (row.positions + 2 * rows - 1) / (2 * rows);
  const int64_t pieces = steps * ((row.blocks + 1) / 2) * (row.depth / kStepsAtOnce);
  // More at once would keep the tiles' own reads waiting.
  constexpr int64_t kMostLines = 8;
  int64_t lines = (row.ahead_lines + pieces - 1) / pieces;
  if (lines > kMostLines) lines = kMostLines;
  const int8_t* ahead = row.ahead;
  alignas(64) int32_t sums[kByteBlocksMost * 2 * kRows * kLanes];
  for (int64_t begin = 0; begin < row.positions; begin += 2 * rows) {
    const int64_t left = row.positions - begin;
    const bool two = left > rows;
    // The second tile may begin before the first one ends; a single one before the tile in front of it does.
    const int64_t apart = left < 2 * rows ? left - rows : rows, count = two ? rows + apart : rows;
    const int64_t done = two ? 0 : rows - left, first = begin - done;
    const uint8_t* const src = row.src + first * row.src_step;
    for (int64_t b = 0; b < row.blocks; b += 2) {
      const int8_t* const weights = row.weights + b * kRowBytes;
      int32_t* const at = sums + b * count * kLanes;
      const bool pair = b + 1 < row.blocks;
      if (two && pair)
        product<2, 2>(row, src, weights, apart, count, at, ahead, lines);
      else if (two)
        product<2, 1>(row, src, weights, apart, count, at, ahead, lines);
      else if (pair)
        product<1, 2>(row, src, weights, apart, count, at, ahead, lines);
      else
        product<1, 1>(row, src, weights, apart, count, at, ahead, lines);
    }
    finish(row, {sums, count, first, done});
  }
  _tile_release();
}

}  // namespace terroir::cpu::avx512_amx
