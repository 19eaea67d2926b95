// What: depthwise rows of bytes. A word of a channel holds four source positions. Shuffles to words cost as much as all
// else, so that the source is shuffled once, as it is copied, and its words serve all outputs: instead of the data the
// weights are shifted, to where in a word the window of an output begins.
// By the words of the bucket, of which some are not there: add_dot, and shift_left_by and shift_right_by of each lane
// by its own number of bits, zero from 32 on. Include its header first, and define these, and how many `kQuads` of four
// outputs that follow each other are added up at once.
#pragma once

#include "plugins/cpu/kernels/conv_bytes/finish.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr int kOutputs = 4;  // of a quad
constexpr int64_t kWord = kLanes * kBytesAtOnce;

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
    unroll<kOutputs>([&](auto j) TERROIR_INLINE_LAMBDA {
      if constexpr ((kReaders >> decltype(j)::value & 1) != 0) {
        const VI w = load_int(reinterpret_cast<const int32_t*>(weights));
        weights += kWord;
        const int64_t word = offset + (Stride ? j * Stride / 4 * kWord : spans.word_of[j]);
        unroll<kQuads>([&](auto q) TERROIR_INLINE_LAMBDA {
          add_dot(acc[q][j], VI::load_unaligned(reinterpret_cast<const int32_t*>(quads.src[q] + word)), w);
        });
      }
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
  VI bits[kOutputs], others[kOutputs];
  for (int64_t j = 0; j < kOutputs; ++j) {
    spans.word_of[j] = j * taps.stride / 4 * kWord;
    bits[j] = VI(static_cast<int>(j * taps.stride % 4 * 8));
    others[j] = VI(32) - bits[j];
  }
  const int8_t* at = row.weights;
  for (int64_t span = 0; span < count; ++span, at += (steps - words) * kWord)
    for (int64_t word = 0; word < words; ++word, at += kWord) {
      *offset++ = row.offsets[span * steps] + static_cast<int32_t>(word * kWord);
      const VI here = word < steps ? load_int(reinterpret_cast<const int32_t*>(at)) : VI(0);
      const VI before = word > 0 ? load_int(reinterpret_cast<const int32_t*>(at - kWord)) : VI(0);
      const unsigned readers = half && word + 1 == words ? last_readers(taps.stride) : 0b1111;
#pragma GCC unroll 1
      for (int j = 0; j < kOutputs; ++j) {
        if (!(readers >> j & 1)) continue;
        store_int(reinterpret_cast<int32_t*>(room), shift_left_by(here, bits[j]) | shift_right_by(before, others[j]));
        room += kWord;
      }
    }
  return spans;
}

void shifted_rows(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& taps, int8_t* room) {
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

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
