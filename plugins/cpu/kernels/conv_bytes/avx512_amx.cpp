#include "plugins/cpu/simd/avx512_amx.hpp"

#include "plugins/cpu/kernels/conv_bytes/finish_bf16.hpp"

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

// Tiles of positions, of data that begin at `src`; the sums of the second begin `apart` positions behind the first's.
struct Positions {
  const uint8_t* src[2];
  int64_t apart, count;
};

enum class Numbers { bytes, bf16, pairs };

// The instruction that multiplies two tiles: of bytes, or of numbers of bf16. Its operands are numerals.
#define TERROIR_TILE_PRODUCT(sum, data, weights) \
  do {                                           \
    if (Kind == Numbers::bytes)                  \
      _tile_dpbusd(sum, data, weights);          \
    else                                         \
      _tile_dpbf16ps(sum, data, weights);        \
  } while (false)

// A tiles of positions by B blocks of weights: sums [B][count][16].
template <Numbers Kind, int A, int B>
TERROIR_INLINE void product(const ByteConvRow& row, const Positions& at, const int8_t* weights, int32_t* sums,
                            const int8_t*& ahead, int64_t lines) {
  _tile_zero(0);
  if (A > 1) _tile_zero(1);
  if (B > 1) _tile_zero(2);
  if (A > 1 && B > 1) _tile_zero(3);
  const int64_t data_step = row.src_step;
  const int64_t part = row.depth * kRowBytes;
  const int8_t* const behind = weights + part * (Kind == Numbers::pairs ? 2 : 1);
  for (int64_t k = 0; k < row.depth; k += kStepsAtOnce) {
    const int64_t offset = row.offsets[k];
    _tile_loadd(6, weights + k * kRowBytes, kRowBytes);
    // A pair has its small part first: so the weights' parts are read once each.
    _tile_loadd(4, at.src[0] + (Kind == Numbers::pairs ? row.rests : 0) + offset, data_step);
    TERROIR_TILE_PRODUCT(0, 4, 6);
    if (A > 1) {
      _tile_loadd(5, at.src[1] + (Kind == Numbers::pairs ? row.rests : 0) + offset, data_step);
      TERROIR_TILE_PRODUCT(1, 5, 6);
    }
    for (int64_t i = 0; i < lines; ++i, ahead += kRowBytes)
      _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
    if (B > 1) {
      _tile_loadd(7, behind + k * kRowBytes, kRowBytes);
      TERROIR_TILE_PRODUCT(2, 4, 7);
      if (A > 1) TERROIR_TILE_PRODUCT(3, 5, 7);
    }
    if (Kind != Numbers::pairs) continue;
    _tile_loadd(4, at.src[0] + offset, data_step);
    TERROIR_TILE_PRODUCT(0, 4, 6);
    if (A > 1) {
      _tile_loadd(5, at.src[1] + offset, data_step);
      TERROIR_TILE_PRODUCT(1, 5, 6);
    }
    if (B > 1) {
      TERROIR_TILE_PRODUCT(2, 4, 7);
      if (A > 1) TERROIR_TILE_PRODUCT(3, 5, 7);
    }
    _tile_loadd(6, weights + part + k * kRowBytes, kRowBytes);
    TERROIR_TILE_PRODUCT(0, 4, 6);
    if (A > 1) TERROIR_TILE_PRODUCT(1, 5, 6);
    if (B > 1) {
      _tile_loadd(7, behind + part + k * kRowBytes, kRowBytes);
      TERROIR_TILE_PRODUCT(2, 4, 7);
      if (A > 1) TERROIR_TILE_PRODUCT(3, 5, 7);
    }
  }
  _tile_stored(0, sums, kRowBytes);
  if (A > 1) _tile_stored(1, sums + at.apart * kLanes, kRowBytes);
  if (B > 1) _tile_stored(2, sums + at.count * kLanes, kRowBytes);
  if (A > 1 && B > 1) _tile_stored(3, sums + (at.count + at.apart) * kLanes, kRowBytes);
}

#undef TERROIR_TILE_PRODUCT

// A tile of a row: its first position, and how many of its positions the tile before has stored.
struct Tile {
  int64_t row, first, done;
};

// The time of a product is that of a whole tile, however few positions it has. So rows are cut where tiles end, as one
// row with what lies between them, unless that is too much: `pitch` positions from row to row, or 0.
int64_t pitch_of(const ByteConvRow& row, const ByteConvRows& rows) {
  const int64_t pitch = rows.src_step / row.src_step;
  if (rows.count == 1 || rows.src_step % row.src_step != 0 || pitch < row.positions) return 0;
  const auto tiles_of = [](int64_t positions) { return (positions + kRows - 1) / kRows; };
  return tiles_of((rows.count - 1) * pitch + row.positions) < rows.count * tiles_of(row.positions) ? pitch : 0;
}

template <Numbers Kind>
void multiply_rows(const ByteConvRow& row, const ByteConvRows& rows) {
  const int64_t pitch = pitch_of(row, rows);
  const int64_t row_count = pitch ? 1 : rows.count;
  const int64_t positions = pitch ? (rows.count - 1) * pitch + row.positions : row.positions;
  const int64_t tiles = (positions + kRows - 1) / kRows, height = (positions + tiles - 1) / tiles;
  const TileShapes shapes(height);
  // To g++ the word for it reads a pointer's worth of bytes: the others, too, must be in memory.
  __asm__ volatile("" : : "r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
  const int64_t all = row_count * tiles;
  const int64_t pieces = (all + 1) / 2 * ((row.blocks + 1) / 2) * (row.depth / kStepsAtOnce);
  // More at once would keep the tiles' own reads waiting.
  constexpr int64_t kMostLines = 8;
  int64_t lines = (row.ahead_lines + pieces - 1) / pieces;
  if (lines > kMostLines) lines = kMostLines;
  const int8_t* ahead = row.ahead;
  const auto tile_of = [&](int64_t t) {
    const int64_t i = t % tiles, last = positions - height, first = i * height < last ? i * height : last;
    return Tile{t / tiles, first, i * height - first};
  };
  const auto source = [&](const Tile& tile) { return row.src + tile.row * rows.src_step + tile.first * row.src_step; };
  const auto finish_in_row = [&](int64_t r, const Sums& sums) {
    if (Kind != Numbers::bytes) return avx512_bf16::finish_bf16_in_row(row, rows, r, sums);
    avx512_vnni::finish_in_row(row, rows, r, sums);
  };
  const auto finish_tiles = [&](const Tile& tile, const int32_t* sums, int64_t stride, int64_t count) {
    if (!pitch) return finish_in_row(tile.row, {sums, stride, count, tile.first, tile.done});
    const int64_t end = tile.first + count;
    for (int64_t p = tile.first + tile.done; p < end;) {
      const int64_t r = p / pitch, x = p - r * pitch, left = row.positions - x, n = left < end - p ? left : end - p;
      if (n > 0) finish_in_row(r, {sums + (p - tile.first) * kLanes, stride, n, x, 0});
      p = n == left || n <= 0 ? (r + 1) * pitch : end;
    }
  };
  alignas(64) int32_t sums[kByteBlocksMost * 2 * kRows * kLanes];
  for (int64_t t = 0; t < all; t += 2) {
    const bool two = t + 1 < all;
    const Tile one = tile_of(t), other = tile_of(two ? t + 1 : t);
    // The second tile may begin before the first one ends, and then goes on where it stands.
    const bool in_row = two && other.row == one.row;
    const int64_t apart = in_row ? other.first - one.first : two ? height : 0;
    const Positions at{{source(one), source(other)}, apart, apart + height};
    for (int64_t b = 0; b < row.blocks; b += 2) {
      const int8_t* const weights = row.weights + b * row.depth * (Kind == Numbers::pairs ? 2 : 1) * kRowBytes;
      int32_t* const to = sums + b * at.count * kLanes;
      const bool pair = b + 1 < row.blocks;
      if (two && pair)
        product<Kind, 2, 2>(row, at, weights, to, ahead, lines);
      else if (two)
        product<Kind, 2, 1>(row, at, weights, to, ahead, lines);
      else if (pair)
        product<Kind, 1, 2>(row, at, weights, to, ahead, lines);
      else
        product<Kind, 1, 1>(row, at, weights, to, ahead, lines);
    }
    finish_tiles(one, sums, at.count, in_row ? at.count : height);
    if (two && !in_row) finish_tiles(other, sums + apart * kLanes, at.count, height);
  }
  _tile_release();
}

}  // namespace

void byte_conv_rows(const ByteConvRow& row, const ByteConvRows& rows);
void byte_conv_rows(const ByteConvRow& row, const ByteConvRows& rows) { multiply_rows<Numbers::bytes>(row, rows); }
void bf16_conv_rows(const ByteConvRow& row, const ByteConvRows& rows);
void bf16_conv_rows(const ByteConvRow& row, const ByteConvRows& rows) {
  row.rests > 0 ? multiply_rows<Numbers::pairs>(row, rows) : multiply_rows<Numbers::bf16>(row, rows);
}

}  // namespace terroir::cpu::avx512_amx
