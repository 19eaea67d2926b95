// What: layout changes of one bucket. Contract: reorder.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/reorder/reorder.hpp"
#include "plugins/cpu/simd/streamed.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

TERROIR_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
TERROIR_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
TERROIR_INLINE int64_t chunks(int64_t a, int64_t b) { return (a + b - 1) / b; }

// One kLanes x kLanes piece: `rows` valid rows of the source, `width` columns of it, `padded` lanes stored per column.
template <bool Whole>
TERROIR_INLINE void transpose_piece(const float* src, int64_t src_stride, float* dst, int64_t dst_stride, int64_t rows,
                                    int64_t width, int64_t padded) {
  V r[kLanes];
  if (Whole) {
    unroll<kLanes>([&](auto i) TERROIR_INLINE_LAMBDA { r[i] = loadu(src + i * src_stride); });
    transpose(r);
    unroll<kLanes>([&](auto i) TERROIR_INLINE_LAMBDA { storeu(dst + i * dst_stride, r[i]); });
    return;
  }
  const Tail in = tail(width), out = tail(padded);
  unroll<kLanes>([&](auto i) TERROIR_INLINE_LAMBDA { r[i] = i < rows ? load_tail(src + i * src_stride, in) : zero(); });
  transpose(r);
  unroll<kLanes>([&](auto i) TERROIR_INLINE_LAMBDA {
    if (i < width) store_tail(dst + i * dst_stride, r[i], out);
  });
}

void transpose_2d(const float* src, int64_t src_stride, float* dst, int64_t dst_stride, int64_t rows, int64_t columns,
                  int64_t padded_rows) {
  // Rows far apart are on pages of their own: two pieces of each row while its page is at hand.
  constexpr int64_t kBand = 2 * kLanes;
  // Registers of which most lanes are empty would be transposed for nothing.
  constexpr int64_t kFewRows = 2;
  const int64_t rest = padded_rows == rows && rows % kLanes <= kFewRows ? rows % kLanes : 0;
  for (int64_t band = 0; band < columns; band += kBand) {
    for (int64_t r = rows - rest; r < rows; ++r) {
      for (int64_t c = band; c < least(columns, band + kBand); ++c) dst[c * dst_stride + r] = src[r * src_stride + c];
    }
    for (int64_t r = 0; r < padded_rows - rest; r += kLanes) {
      const int64_t height = most(0, least(kLanes, rows - r)), padded = least(kLanes, padded_rows - r);
      for (int64_t c = band; c < least(columns, band + kBand); c += kLanes) {
        const int64_t width = least(kLanes, columns - c);
        const float* in = height > 0 ? src + r * src_stride + c : src;
        float* out = dst + c * dst_stride + r;
        if (height == kLanes && width == kLanes) {
          transpose_piece<true>(in, src_stride, out, dst_stride, height, width, padded);
        } else {
          transpose_piece<false>(in, src_stride, out, dst_stride, height, width, padded);
        }
      }
    }
  }
}

void copy_2d(const float* src, int64_t src_stride, float* dst, int64_t dst_stride, int64_t rows, int64_t columns,
             int64_t padded_columns) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = src + r * src_stride;
    float* out = dst + r * dst_stride;
    int64_t c = 0;
    for (; c + kLanes <= columns; c += kLanes) storeu(out + c, loadu(in + c));
    for (; c < padded_columns; c += kLanes) {
      const int64_t valid = most(0, least(kLanes, columns - c));
      store_n(out + c, load_n(valid > 0 ? in + c : in, valid), least(kLanes, padded_columns - c));
    }
  }
}

constexpr int64_t kLine = 16;  // floats of a cache line
// Columns that are streamed together: more ask more of the tables of pages that are written.
constexpr int64_t kStreamedPositions = 8 * kLine;

TERROIR_INLINE bool begins_a_line(const float* data) { return reinterpret_cast<uintptr_t>(data) % (4 * kLine) == 0; }

// A square of whole lines, to whole lines.
TERROIR_INLINE void stream_square(const float* src, int64_t src_stride, float* dst, int64_t dst_stride) {
  alignas(64) float square[kLine * kLine];
  for (int64_t r = 0; r < kLine; r += kLanes) {
    for (int64_t c = 0; c < kLine; c += kLanes)
      transpose_piece<true>(src + r * src_stride + c, src_stride, square + c * kLine + r, kLine, kLanes, kLanes,
                            kLanes);
  }
  for (int64_t c = 0; c < kLine; ++c)
    for (int64_t r = 0; r < kLine; r += kLanes) stream(dst + c * dst_stride + r, loadu(square + c * kLine + r));
}

// As transpose_2d, past the caches: for results that would push each other out of them. Columns of dst have to begin
// with a cache line for that.
void stream_2d(const float* src, int64_t src_stride, float* dst, int64_t dst_stride, int64_t rows, int64_t columns,
               int64_t padded_rows) {
  if (dst_stride % kLine != 0 || !begins_a_line(dst) || padded_rows != rows)
    return transpose_2d(src, src_stride, dst, dst_stride, rows, columns, padded_rows);
  // Rows on pages of their own are not fetched ahead by the processor: the next kLine of them are, in turns with the
  // squares.
  constexpr int64_t kBand = kStreamedPositions;
  const int64_t whole_rows = rows / kLine * kLine, whole_columns = columns / kLine * kLine;
  for (int64_t band = 0; band < whole_columns; band += kBand) {
    for (int64_t r = 0; r < whole_rows; r += kLine) {
      const bool last = r + kLine == whole_rows;
      const float* next = src + (last ? kBand : (r + kLine) * src_stride);
      for (int64_t c = band; c < least(whole_columns, band + kBand); c += kLine) {
        if (!last || c + kBand < whole_columns)
          for (int64_t i = 0; i < kLine; ++i) __builtin_prefetch(next + i * src_stride + c);
        stream_square(src + r * src_stride + c, src_stride, dst + c * dst_stride + r, dst_stride);
      }
    }
  }
  end_of_stream();
  transpose_2d(src + whole_columns, src_stride, dst + whole_columns * dst_stride, dst_stride, whole_rows,
               columns - whole_columns, whole_rows);
  transpose_2d(src + whole_rows * src_stride, src_stride, dst + whole_rows, dst_stride, rows - whole_rows, columns,
               rows - whole_rows);
}

// Address of channel c (the first of a block in blocked formats, or inside it) at position s of image n.
TERROIR_INLINE int64_t place(ImageFormat format, int64_t block, const ReorderArgs& a, int64_t n, int64_t c, int64_t s) {
  switch (format) {
    case ImageFormat::plain:
      return (n * a.c + c) * a.s + s;
    case ImageFormat::nhwc:
      return (n * a.s + s) * a.c + c;
    case ImageFormat::blocked:
      return ((n * chunks(a.c, block) + c / block) * a.s + s) * block + c % block;
  }
  return 0;
}

// Past the caches whole pixels are written one after the other, if they are of whole lines.
TERROIR_INLINE bool in_whole_pixels(const ReorderArgs& a) {
  return a.streamed && a.src_format == ImageFormat::plain && a.dst_format == ImageFormat::nhwc && a.c % kLine == 0 &&
         begins_a_line(a.dst);
}

// Positions of one item.
TERROIR_INLINE int64_t position_chunk(const ReorderArgs& a) { return in_whole_pixels(a) ? kStreamedPositions : 1024; }

// Channels of one item: a whole number of blocks on both sides.
TERROIR_INLINE int64_t channel_chunk(const ReorderArgs& a) {
  if (in_whole_pixels(a)) return a.c;
  int64_t chunk = 64;
  if (a.src_format == ImageFormat::blocked) chunk = chunks(chunk, a.src_block) * a.src_block;
  while (a.dst_format == ImageFormat::blocked && chunk % a.dst_block != 0) {
    chunk += a.src_format == ImageFormat::blocked ? a.src_block : 1;
  }
  return chunk;
}

int64_t reorder_items(const ReorderArgs& a) {
  return a.n * chunks(a.c, channel_chunk(a)) * chunks(a.s, position_chunk(a));
}

// Channels [c0, c1) and positions [s0, s1) of image n, c1 possibly in the padding.
void reorder_piece(const ReorderArgs& a, int64_t n, int64_t c0, int64_t c1, int64_t s0, int64_t s1) {
  const int64_t positions = s1 - s0;
  const bool to_blocked = a.dst_format == ImageFormat::blocked, from_blocked = a.src_format == ImageFormat::blocked;
  // The longest run of channels that is contiguous, or evenly strided, on both sides.
  int64_t step = c1 - c0;
  if (to_blocked) step = a.dst_block;
  if (from_blocked) step = to_blocked && a.dst_block < a.src_block ? a.dst_block : a.src_block;
  for (int64_t c = c0; c < c1;) {
    // Blocks of sizes that do not divide each other are cut at both borders.
    int64_t run = least(step, c1 - c);
    if (to_blocked) run = least(run, a.dst_block - c % a.dst_block);
    if (from_blocked) run = least(run, a.src_block - c % a.src_block);
    const int64_t valid = most(0, least(run, a.c - c)), padded = to_blocked ? run : valid;
    const float* src = a.src + (valid > 0 ? place(a.src_format, a.src_block, a, n, c, s0) : 0);
    if (padded == 0) return;
    float* dst = a.dst + place(a.dst_format, a.dst_block, a, n, c, s0);
    const bool plain_in = a.src_format == ImageFormat::plain, plain_out = a.dst_format == ImageFormat::plain;
    const int64_t src_stride = plain_in ? a.s : from_blocked ? a.src_block : a.c;
    const int64_t dst_stride = plain_out ? a.s : to_blocked ? a.dst_block : a.c;
    const auto transposed = a.streamed ? &stream_2d : &transpose_2d;
    if (plain_in && plain_out) {
      copy_2d(src, src_stride, dst, dst_stride, valid, positions, positions);
    } else if (plain_in) {
      transposed(src, src_stride, dst, dst_stride, valid, positions, padded);
    } else if (plain_out) {
      transposed(src, src_stride, dst, dst_stride, positions, valid, positions);
    } else {
      copy_2d(src, src_stride, dst, dst_stride, positions, valid, padded);
    }
    c += run;
  }
}

void reorder(const ReorderArgs& a, int64_t item_begin, int64_t item_end) {
  const int64_t chunk = channel_chunk(a), channel_chunks = chunks(a.c, chunk);
  const int64_t positions = position_chunk(a), position_chunks = chunks(a.s, positions);
  const int64_t padded_c = a.dst_format == ImageFormat::blocked ? chunks(a.c, a.dst_block) * a.dst_block : a.c;
  // Pixels that follow each other are one piece: the next of its bands is fetched ahead.
  const bool joined = in_whole_pixels(a);
  int64_t together = 1;
  for (int64_t item = item_begin; item < item_end; item += together) {
    if (joined) together = least(item_end - item, position_chunks - item % position_chunks);
    const int64_t s0 = item % position_chunks * positions;
    const int64_t c0 = item / position_chunks % channel_chunks * chunk;
    const int64_t n = item / position_chunks / channel_chunks;
    reorder_piece(a, n, c0, least(c0 + chunk, padded_c), s0, least(s0 + together * positions, a.s));
  }
}

}  // namespace

const ReorderKernels& reorder_table() {
  static constexpr ReorderKernels kTable = {&reorder_items, &reorder, &transpose_2d, &stream_2d, &copy_2d};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
