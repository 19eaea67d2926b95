// Processors without products of bytes that add up in 32 bits multiply numbers of 16: two products for a lane in one
// instruction, exact. (Those of bytes in AVX2 saturate their sums.) The copies of the windows widen the data.
#include "plugins/cpu/simd/avx2.hpp"

#include "plugins/cpu/simd/pairs.hpp"

namespace terroir::cpu::avx2 {
namespace {

TERROIR_INLINE void add_dot(VI& sum, VI a, VI b) { sum = sum + madd_pairs(a, b); }
TERROIR_INLINE VI broadcast_word(const uint8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, sizeof(word));
  return VI(word);
}

// Words of four channels by position, of 8 positions, to positions of 8 channels, the first `n`.
TERROIR_INLINE void store_positions(uint8_t* dst, const VI* words, int64_t n) {
  const __m256i low = _mm256_unpacklo_epi32(words[0], words[1]), high = _mm256_unpackhi_epi32(words[0], words[1]);
  alignas(32) uint8_t all[kLanes * kLanes];
  _mm256_store_si256(reinterpret_cast<__m256i*>(all), _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_store_si256(reinterpret_cast<__m256i*>(all + 32), _mm256_permute2x128_si256(low, high, 0x31));
  __builtin_memcpy(dst, all, static_cast<size_t>(n * kLanes));
}

}  // namespace
}  // namespace terroir::cpu::avx2

#include "plugins/cpu/kernels/conv_bytes/tile_rows_avx2.hpp"
#include "plugins/cpu/kernels/conv_bytes/to_bytes.hpp"

namespace terroir::cpu::avx2 {

int64_t add_up_row(const ByteConvRow& row, int64_t first, int64_t end, int64_t lines, int32_t* sums, int64_t stride) {
  return add_up_tiles(row, first, end, lines, sums, stride);
}

namespace {

// Depthwise: so many outputs that follow each other.
constexpr int64_t kOutputs = 8;
using Outputs = void (*)(const ByteConvRow& row, const uint8_t* src, int32_t* sums);
template <int T>
void add_up_own(const ByteConvRow& row, const uint8_t* src, int32_t* sums) {
  VI acc[T];
  unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA { acc[t] = VI(0); });
  const int8_t* weights = row.weights;
  for (int64_t k = 0; k < row.depth; ++k, weights += kPairBytes) {
    const uint8_t* x = src + row.offsets[k];
    const VI w = VI::load_aligned(reinterpret_cast<const int32_t*>(weights));
    unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA {
      add_dot(acc[t], VI::load_unaligned(reinterpret_cast<const int32_t*>(x)), w);
      x += row.src_step;
    });
  }
  unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA { store_int(sums + t * kLanes, acc[t]); });
}

void depthwise_rows(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& /*taps*/, int8_t* /*room*/) {
  constexpr Outputs kByCount[] = {&add_up_own<1>, &add_up_own<2>, &add_up_own<3>, &add_up_own<4>,
                                  &add_up_own<5>, &add_up_own<6>, &add_up_own<7>, &add_up_own<8>};
  alignas(64) int32_t sums[kMostPositions * kLanes];
  for (int64_t r = 0; r < rows.count; ++r)
    for (int64_t first = 0; first < row.positions; first += kMostPositions) {
      const int64_t left = row.positions - first, count = left < kMostPositions ? left : kMostPositions;
      for (int64_t at = 0; at < count; at += kOutputs) {
        const int64_t n = count - at < kOutputs ? count - at : kOutputs;
        kByCount[n - 1](row, row.src + r * rows.src_step + (first + at) * row.src_step, sums + at * kLanes);
      }
      finish_in_row(row, rows, r, {sums, kMostPositions, count, first, 0});
    }
}

// Channels of a position, each beside that of another one.
TERROIR_INLINE void store_pairs(uint8_t* dst, __m128i both) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), _mm256_cvtepu8_epi16(both));
}

// A position and the one behind it, zeros where there is none.
void depthwise_words(const ByteRows& rows, uint8_t* dst) {
  const auto position = [&](const uint8_t* src, int64_t p) TERROIR_INLINE_LAMBDA {
    return p >= 0 && p < rows.positions ? _mm_loadl_epi64(reinterpret_cast<const __m128i*>(src + p * kLanes))
                                        : _mm_setzero_si128();
  };
  for (int64_t r = 0; r < rows.rows; ++r) {
    const uint8_t* const src = rows.src + r * rows.src_step;
    for (int64_t i = 0; i < rows.words; dst += kPairBytes, ++i) {
      const int64_t p = i - rows.left;
      store_pairs(dst, _mm_unpacklo_epi8(position(src, p), position(src, p + 1)));
      // Where three positions are there, two more at once.
      for (; p >= 0 && i + 2 < rows.words && i + 3 - rows.left < rows.positions; i += 2, dst += 2 * kPairBytes) {
        const uint8_t* const at = src + (i + 1 - rows.left) * kLanes;
        const __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i behind = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + 2 * kLanes));
        const __m128i next = _mm_unpacklo_epi64(_mm_unpackhi_epi64(here, here), behind);
        store_pairs(dst + kPairBytes, _mm_unpacklo_epi8(here, next));
        store_pairs(dst + 2 * kPairBytes, _mm_unpackhi_epi8(here, next));
      }
    }
  }
}

void widen(const uint8_t* src, int64_t count, uint8_t* dst) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + 2 * i), _mm256_cvtepu8_epi16(bytes));
  }
  for (; i < count; ++i) {
    dst[2 * i] = src[i];
    dst[2 * i + 1] = 0;
  }
}

}  // namespace

const ByteConvKernels& byte_conv_table();
const ByteConvKernels& byte_conv_table() {
  static constexpr ByteConvKernels kTable = {.bucket = "avx2",
                                             .lanes = kLanes,
                                             .most_blocks = kMostBlocks,
                                             .row = &row_of_tiles,
                                             .depthwise_rows = &depthwise_rows,
                                             .depthwise_words = &depthwise_words,
                                             .quantize = &quantize,
                                             .quantize_planes = &quantize_planes,
                                             .side_by_side = nullptr,
                                             .few_channels = nullptr,
                                             .widen = &widen,
                                             .winograd_tiles = &winograd_tiles,
                                             .winograd_rows = &winograd_rows,
                                             .dequantize = &dequantize};
  return kTable;
}

}  // namespace terroir::cpu::avx2
