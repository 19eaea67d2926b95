// Depthwise rows of bytes. A word of a channel holds four source positions. Shuffles to words cost as much as all else,
// so that the source is shuffled once, as it is copied, and its words serve all outputs: instead of the data the
// weights are shifted, to where in a word the window of an output begins.
#include "plugins/cpu/kernels/conv_bytes/finish.hpp"
#include "plugins/cpu/simd/avx512_vnni.hpp"

namespace terroir::cpu::avx512_vnni {
namespace {

constexpr int kQuads = 4;    // at once, of outputs that follow each other
constexpr int kOutputs = 4;  // of a quad
constexpr int64_t kWord = 64;

struct Spans {
  int64_t count, words;       // words: of a span, but the last where only some outputs read it
  const int32_t* offsets;     // of all words
  const int8_t* weights;      // of all words, of the outputs of a quad
  int64_t word_of[kOutputs];  // bytes
};

struct Quads {
  const uint8_t* src[kQuads];
  int32_t* sums[kQuads];
};

// Which outputs of a quad read the last word of a span, where not all do; others begin in front.
constexpr unsigned last_readers(int64_t stride) { return stride == 1 ? 0b1100 : 0b1010; }

// Stride 0: any. Half: the last word of each span is read by two outputs alone.
template <int Stride, bool Half>
void add_up(const Spans& spans, const Quads& quads) {
  VI acc[kQuads][kOutputs];
  unroll<kQuads>([&](auto q) TERROIR_INLINE_LAMBDA {
    unroll<kOutputs>([&](auto j) TERROIR_INLINE_LAMBDA { acc[q][j] = VI(0); });
  });
  const int8_t* weights = spans.weights;
  const int32_t* offsets = spans.offsets;
  const auto multiply = [&](auto readers) TERROIR_INLINE_LAMBDA {
    constexpr int kReaders = decltype(readers)::value;
    const int64_t offset = *offsets++;
    VI w[kOutputs];
    unroll<kOutputs>([&](auto j) TERROIR_INLINE_LAMBDA {
      if constexpr ((kReaders >> decltype(j)::value & 1) != 0) {
        w[j] = VI(_mm512_load_si512(weights));
        weights += kWord;
      }
    });
    unroll<kQuads>([&](auto q) TERROIR_INLINE_LAMBDA {
      unroll<kOutputs>([&](auto j) TERROIR_INLINE_LAMBDA {
        if constexpr ((kReaders >> decltype(j)::value & 1) != 0) {
          const int64_t word = Stride ? j * Stride / 4 * kWord : spans.word_of[j];
          add_dot(acc[q][j], VI(_mm512_loadu_si512(quads.src[q] + offset + word)), w[j]);
        }
      });
    });
  };
  int64_t span = spans.count;
  do {
    int64_t word = spans.words;
    do {
      multiply(Index<0b1111>{});
    } while (--word > 0);
    if constexpr (Half) multiply(Index<last_readers(Stride)>{});
  } while (--span > 0);
  // In order: the first sums of a row lie where the row before had more than its positions.
  unroll<kQuads>([&](auto q) TERROIR_INLINE_LAMBDA {
    unroll<kOutputs>([&](auto j) TERROIR_INLINE_LAMBDA { store_int(quads.sums[q] + j * kLanes, acc[q][j]); });
  });
}

// The weights of each word for the outputs that read it, and behind them the offsets of the words.
Spans shift_weights(const ByteConvRow& row, const ByteTaps& taps, bool half, int8_t* room) {
  const int64_t steps = (taps.count + 3) / 4, words = taps.words(), count = row.depth / steps;
  auto* offset = reinterpret_cast<int32_t*>(room + count * words * kOutputs * kWord);
  Spans spans{count, words - (half ? 1 : 0), offset, room, {}};
  __m512i bits[kOutputs], others[kOutputs];
  for (int64_t j = 0; j < kOutputs; ++j) {
    spans.word_of[j] = j * taps.stride / 4 * kWord;
    bits[j] = _mm512_set1_epi32(static_cast<int>(j * taps.stride % 4 * 8));
    others[j] = _mm512_sub_epi32(_mm512_set1_epi32(32), bits[j]);
  }
  const int8_t* at = row.weights;
  for (int64_t span = 0; span < count; ++span, at += (steps - words) * kWord)
    for (int64_t word = 0; word < words; ++word, at += kWord) {
      *offset++ = row.offsets[span * steps] + static_cast<int32_t>(word * kWord);
      const __m512i here = _mm512_maskz_loadu_epi32(word < steps ? 0xffff : 0, at);
      const __m512i before = _mm512_maskz_loadu_epi32(word > 0 ? 0xffff : 0, at - kWord);
      const unsigned readers = half && word + 1 == words ? last_readers(taps.stride) : 0b1111;
#pragma GCC unroll 1
      for (int j = 0; j < kOutputs; ++j) {
        if (!(readers >> j & 1)) continue;
        const __m512i high = _mm512_sllv_epi32(here, bits[j]), low = _mm512_srlv_epi32(before, others[j]);
        _mm512_store_si512(room, _mm512_or_si512(high, low));
        room += kWord;
      }
    }
  return spans;
}

}  // namespace

void depthwise_rows(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& taps, int8_t* room);
void depthwise_rows(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& taps, int8_t* room) {
  const bool half = (taps.stride == 1 && taps.count % 4 >= 2) || (taps.stride == 2 && (taps.count + 1) % 4 <= 1);
  const Spans spans = shift_weights(row, taps, half, room);
  const auto add = taps.stride == 1   ? half ? &add_up<1, true> : &add_up<1, false>
                     : taps.stride == 2 ? half ? &add_up<2, true> : &add_up<2, false>
                                        : &add_up<0, false>;
  // Rows of which each goes on where the one before ends are one to what is done at the store.
  const bool together = !row.bias_offsets && !rows.bias && rows.dst_step == row.positions * row.results.step;
  const int64_t all = rows.count * row.positions, in_row = together ? all : row.positions;
  alignas(64) int32_t sums[kMostPositions * kLanes];
  Quads quads{};
  // Of the row that is added up; of the row that is stored.
  const uint8_t *next = row.src, *src = next;
  int64_t left = 0, r = 0, first = 0;
  for (int64_t done = 0; done < all;) {
    int64_t filled = 0;
    while (filled <= kMostPositions - kQuads * kOutputs && done + filled < all) {
      for (int q = 0; q < kQuads; ++q) {
        // The last quads may be the same.
        if (done + filled < all || q == 0) {
          if (left == 0) {
            left = row.positions;
            src = next;
            next += rows.src_step;
          }
          quads.src[q] = src;
          quads.sums[q] = sums + filled * kLanes;
          const int64_t n = left < kOutputs ? left : kOutputs;
          src += taps.stride * kWord;
          left -= n;
          filled += n;
        } else {
          quads.src[q] = quads.src[q - 1];
          quads.sums[q] = quads.sums[q - 1];
        }
      }
      add(spans, quads);
    }
    done += filled;
    for (int64_t at = 0; at < filled;) {
      const int64_t n = in_row - first < filled - at ? in_row - first : filled - at;
      finish_in_row(row, rows, r, {sums + at * kLanes, kMostPositions, n, first, 0});
      at += n;
      first += n;
      if (first < in_row) break;
      first = 0;
      ++r;
    }
  }
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
