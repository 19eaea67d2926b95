// Processors without AVX-512 that have AVX_VNNI: four products of bytes for a lane in one instruction. It is the one
// that is written out; all else is of the bucket.
#include "plugins/cpu/simd/avx2.hpp"

#include "plugins/cpu/kernels/conv_bytes/rows_avx2.hpp"

namespace terroir::cpu::avx2 {
namespace {

constexpr int kQuads = 3;  // twelve sums

// Processors with AVX-512 have the same in a longer form.
TERROIR_INLINE void add_dot(VI& sum, VI u, VI s) {
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.data) : "x"(u.data), "x"(s.data));
}
TERROIR_INLINE VI broadcast_word(const uint8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, sizeof(word));
  return VI(word);
}
TERROIR_INLINE VI shift_left_by(VI x, VI bits) { return VI(_mm256_sllv_epi32(x, bits)); }
TERROIR_INLINE VI shift_right_by(VI x, VI bits) { return VI(_mm256_srlv_epi32(x, bits)); }

}  // namespace
}  // namespace terroir::cpu::avx2

#include "plugins/cpu/kernels/conv_bytes/depthwise_words.hpp"
#include "plugins/cpu/kernels/conv_bytes/tile_rows_avx2.hpp"

namespace terroir::cpu::avx2 {

void vnni_row(const ByteConvRow& row);
void vnni_row(const ByteConvRow& row) { row_of_tiles(row); }

void vnni_depthwise_rows(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& taps, int8_t* room);
void vnni_depthwise_rows(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& taps, int8_t* room) {
  shifted_rows(row, rows, taps, room);
}

void vnni_depthwise_words(const ByteRows& rows, uint8_t* dst);
void vnni_depthwise_words(const ByteRows& rows, uint8_t* dst) {
  // Of two positions side by side, each channel of the first beside that of the second.
  const __m256i beside =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
  const __m256i order = _mm256_setr_epi64x(0, 1, 2, 3);
  const auto from = [&](int64_t position) TERROIR_INLINE_LAMBDA {  // those of a word that are not before one
    return _mm256_cmpgt_epi64(order, _mm256_set1_epi64x(position - 1));
  };
  for (int64_t word = 0; word < rows.words; ++word) {
    const int64_t first = word * 4 - rows.left;
    const __m256i there = _mm256_andnot_si256(from(rows.positions - first), from(-first));
    const uint8_t* src = rows.src + first * kLanes;
    uint8_t* to = dst + word * kWord;
    for (int64_t r = 0; r < rows.rows; ++r, src += rows.src_step, to += rows.words * kWord) {
      const __m256i x = _mm256_maskload_epi64(reinterpret_cast<const long long*>(src), there);
      const __m256i pairs = _mm256_shuffle_epi8(x, beside);
      const __m128i low = _mm256_castsi256_si128(pairs), high = _mm256_extracti128_si256(pairs, 1);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi16(low, high));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + kWord / 2), _mm_unpackhi_epi16(low, high));
    }
  }
}

}  // namespace terroir::cpu::avx2
