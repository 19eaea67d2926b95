#include "plugins/cpu/simd/avx512_vnni.hpp"

namespace terroir::cpu::avx512_vnni {
namespace {

constexpr int kQuads = 4;

TERROIR_INLINE VI shift_left_by(VI x, VI bits) { return VI(_mm512_sllv_epi32(x, bits)); }
TERROIR_INLINE VI shift_right_by(VI x, VI bits) { return VI(_mm512_srlv_epi32(x, bits)); }

}  // namespace
}  // namespace terroir::cpu::avx512_vnni

#include "plugins/cpu/kernels/conv_bytes/depthwise_words.hpp"

namespace terroir::cpu::avx512_vnni {

void depthwise_rows(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& taps, int8_t* room);
void depthwise_rows(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& taps, int8_t* room) {
  shifted_rows(row, rows, taps, room);
}

void depthwise_words(const ByteRows& rows, uint8_t* dst);
void depthwise_words(const ByteRows& rows, uint8_t* dst) {
  const __m512i lanes = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  // Of the positions of a word those before one.
  const auto before = [](int64_t position) TERROIR_INLINE_LAMBDA {
    return position <= 0 ? 0u : position >= 4 ? 0xffffu : (1u << (4 * position)) - 1;
  };
  for (int64_t word = 0; word < rows.words; ++word) {
    const int64_t first = word * 4 - rows.left;
    const auto there = static_cast<__mmask16>(before(rows.positions - first) & ~before(-first));
    const uint8_t* src = rows.src + first * kByteBlock;
    uint8_t* to = dst + word * kWord;
    for (int64_t r = 0; r < rows.rows; ++r, src += rows.src_step, to += rows.words * kWord) {
      const __m512i x = _mm512_permutexvar_epi32(lanes, _mm512_maskz_loadu_epi32(there, src));
      _mm512_storeu_si512(to, _mm512_shuffle_epi8(x, bytes));
    }
  }
}

}  // namespace terroir::cpu::avx512_vnni
