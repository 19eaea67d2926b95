// Winograd's algorithm in integers: Bt d B of bytes has 11 bits, 4 * G g Gt of weights 12, which products of 16 bits
// hold.
#include "plugins/cpu/simd/avx2.hpp"

#include "plugins/cpu/kernels/conv_bytes/rows_avx2.hpp"

namespace terroir::cpu::avx2 {
namespace {

using Numbers = __m128i;  // of 8 channels
constexpr int64_t kNumberBytes = 16;
constexpr int kSide = 4;  // of the window of a tile

TERROIR_INLINE __m256i load_two(const uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
TERROIR_INLINE void store_numbers(uint8_t* p, Numbers x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), x); }

// The window at `src` to the 16 numbers of a tile, `step` bytes apart.
TERROIR_INLINE void transform(const uint8_t* src, int64_t row_step, uint8_t* dst, int64_t step) {
  // Columns 0 and 1, 2 and 3.
  __m256i left[kSide], right[kSide];
  for (int y = 0; y < kSide; ++y) {
    left[y] = load_two(src + y * row_step);
    right[y] = load_two(src + y * row_step + 2 * kNumberBytes);
  }
  const auto down = [](__m256i(&x)[kSide]) TERROIR_INLINE_LAMBDA {
    const __m256i first = _mm256_sub_epi16(x[0], x[2]), last = _mm256_sub_epi16(x[1], x[3]);
    const __m256i sum = _mm256_add_epi16(x[1], x[2]), difference = _mm256_sub_epi16(x[2], x[1]);
    x[0] = first, x[1] = sum, x[2] = difference, x[3] = last;
  };
  down(left);
  down(right);
  for (int y = 0; y < kSide; ++y, dst += kSide * step) {
    const __m256i ends = _mm256_sub_epi16(left[y], right[y]);
    const Numbers second = _mm256_extracti128_si256(left[y], 1), third = _mm256_castsi256_si128(right[y]);
    store_numbers(dst, _mm256_castsi256_si128(ends));
    store_numbers(dst + step, _mm_add_epi16(second, third));
    store_numbers(dst + 2 * step, _mm_sub_epi16(third, second));
    store_numbers(dst + 3 * step, _mm256_extracti128_si256(ends, 1));
  }
}

// At A M A of four rows of four sums each, `step` apart, divided by 4: 2x2 outputs, row by row.
TERROIR_INLINE void outputs_of(const int32_t* sums, int64_t step, VI (&out)[4]) {
  VI upper[kSide], lower[kSide];
  for (int x = 0; x < kSide; ++x) {
    const auto at = [&](int y) TERROIR_INLINE_LAMBDA { return load_int(sums + (y * kSide + x) * step); };
    const VI second = at(1), third = at(2);
    upper[x] = at(0) + second + third;
    lower[x] = second - third - at(3);
  }
  const auto quarter = [](VI x) TERROIR_INLINE_LAMBDA { return VI(_mm256_srai_epi32(x, 2)); };
  out[0] = quarter(upper[0] + upper[1] + upper[2]);
  out[1] = quarter(upper[1] - upper[2] - upper[3]);
  out[2] = quarter(lower[0] + lower[1] + lower[2]);
  out[3] = quarter(lower[1] - lower[2] - lower[3]);
}

}  // namespace

void winograd_tiles(const uint8_t* src, int64_t block_step, int64_t row_step, const WinogradTiles& tiles,
                    uint8_t* dst) {
  const int64_t tile_bytes = tiles.channels * 2, number = tiles.count() * tile_bytes, blocks = tiles.channels / kLanes;
  for (int64_t y = 0; y < tiles.rows; ++y, src += 2 * row_step)
    for (int64_t block = 0; block < blocks; ++block) {
      const uint8_t* from = src + block * block_step;
      uint8_t* to = dst + y * tiles.columns * tile_bytes + block * kNumberBytes;
      for (int64_t x = 0; x < tiles.columns; ++x, from += 2 * kNumberBytes, to += tile_bytes)
        transform(from, row_step, to, number);
    }
}

void winograd_rows(const ByteConvRow& row, const ByteConvRows& rows, const WinogradTiles& tiles, int8_t* room) {
  constexpr int64_t kAtOnce = WinogradTiles::kAtOnce, kOfRow = kMostPositions / 2;
  auto* const sums = reinterpret_cast<int32_t*>(room);
  const int64_t number_bytes = tiles.count() * row.src_step, weight_bytes = row.depth * row.blocks * kPairBytes;
  // Of a tile, from block to block, and of a number.
  constexpr int64_t kBlock = kAtOnce * kLanes;
  const int64_t number = row.blocks * kBlock;
  alignas(64) int32_t results[2][kMostBlocks * kMostPositions * kLanes];
  const int64_t all = tiles.count(), parts = (all + kAtOnce - 1) / kAtOnce;
  for (int64_t part = 0, done = 0; part < parts; ++part) {
    const int64_t end = all * (part + 1) / parts;
    ByteConvRow products = row;
    for (int64_t n = 0; n < WinogradTiles::kNumbers; ++n) {
      products.src = row.src + n * number_bytes;
      products.weights = row.weights + n * weight_bytes;
      add_up_row(products, done, end, row.ahead_lines, sums + n * number, kAtOnce);
    }
    for (int64_t tile = done; tile < end;) {
      const int64_t y = tile / tiles.columns, x = tile % tiles.columns;
      const int64_t left = tiles.columns - x < end - tile ? tiles.columns - x : end - tile;
      const int64_t n = left < kOfRow ? left : kOfRow;
      for (int64_t b = 0; b < row.blocks; ++b)
        for (int64_t i = 0; i < n; ++i) {
          VI out[4];
          outputs_of(sums + b * kBlock + (tile - done + i) * kLanes, number, out);
          const int64_t at = (b * kMostPositions + 2 * i) * kLanes;
          for (int half = 0; half < 2; ++half)
            for (int column = 0; column < 2; ++column)
              store_int(results[half] + at + column * kLanes, out[2 * half + column]);
        }
      const int64_t first = 2 * x, beyond = row.positions - first;
      const int64_t count = 2 * n < beyond ? 2 * n : beyond;
      for (int64_t half = 0; half < 2 && 2 * y + half < rows.count; ++half)
        finish_in_row(row, rows, 2 * y + half, {results[half], kMostPositions, count, first, 0});
      tile += n;
    }
    done = end;
  }
}

}  // namespace terroir::cpu::avx2
