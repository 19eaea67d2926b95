// What: one tile of one channel block into the transformed domain and back.
// Borders: what lies outside the source is zero and is not read; what lies outside the destination is not written.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv_wino/transforms.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// The rows and columns of a tile that exist.
struct TileWindow {
  int64_t row0, row1, col0, col1;
};

// Point classes: a sum at the last point along w, which only a tile's last output wants, is in an odd one, along h in 2
// or 3. Tiles with fewer than W::kTile outputs along an axis have none there.
constexpr int kPointClasses = 4;

// Where a tile's points are: point k of class c at at[c] + k * stride; null where the tile has none of the class.
template <typename Float>
struct TilePoints {
  Float* at[kPointClasses];
  int64_t stride;
};

// The first elements of a tile's rows.
template <typename W>
struct TileRows {
  const float* at[W::kAlpha];
};

// Some of the points of one vector of channels: those of one part of the rows.
template <typename W, bool Border, int Part>
TERROIR_INLINE void input_part(const TileRows<W>& src, const TileWindow& w, const Tail (&rows)[W::kAlpha],
                               const TilePoints<float>& v, int64_t lane) {
  constexpr int A = W::kAlpha, H = A / W::kInputParts;
  V half[H][A];
#pragma GCC unroll 9
  for (int j = 0; j < A; ++j) {
    V column[A], out[H];
    if (!Border || (j >= w.col0 && j < w.col1)) {
#pragma GCC unroll 9
      for (int i = 0; i < A; ++i) {
        const float* at = src.at[i] + j * kBlock + lane;
        column[i] = Border ? load_tail(at, rows[i]) : loadu(at);
      }
      W::template input<Part>(column, out);
    } else {
#pragma GCC unroll 9
      for (int i = 0; i < H; ++i) out[i] = zero();
    }
#pragma GCC unroll 9
    for (int i = 0; i < H; ++i) half[i][j] = out[i];
  }
#pragma GCC unroll 9
  for (int i = 0; i < H; ++i) {
    const int row_class = W::sum_of(Part * H + i) == W::kSums - 1 ? 2 : 0;
    float* const finite = v.at[row_class];
    float* const infinite = v.at[row_class + 1];
    if (row_class != 0 && !finite) break;
    V out[A];
    transform_row<W>(half[i], out);
    constexpr int kFinite = W::first(W::kSums - 1);
#pragma GCC unroll 9
    for (int j = 0; j < kFinite; ++j) storeu(finite + slot_at<W>(Part * H + i, j) * v.stride + lane, out[j]);
    if (!infinite) continue;
#pragma GCC unroll 9
    for (int j = kFinite; j < A; ++j) storeu(infinite + slot_at<W>(Part * H + i, j) * v.stride + lane, out[j]);
  }
  if constexpr (Part + 1 < W::kInputParts) input_part<W, Border, Part + 1>(src, w, rows, v, lane);
}

template <typename W, bool Border>
TERROIR_INLINE void input_tile(const TileRows<W>& src, const TileWindow& w, const TilePoints<float>& v) {
  constexpr int A = W::kAlpha;
  Tail rows[A];
  if (Border) {
#pragma GCC unroll 9
    for (int i = 0; i < A; ++i) rows[i] = tail(i >= w.row0 && i < w.row1 ? kLanes : 0);
  }
  for (int64_t lane = 0; lane < kBlock; lane += kLanes) input_part<W, Border, 0>(src, w, rows, v, lane);
}

// A copy of a tile, with zeros for what does not exist, in the place of the tile, whose columns are `column` floats
// apart.
template <typename W>
TERROIR_NOINLINE void copy_tile(TileRows<W>& src, int64_t column, const TileWindow& w, float* to) {
  constexpr int A = W::kAlpha;
  for (int i = 0; i < A; ++i) {
    const float* const from = src.at[i];
    src.at[i] = to;
    for (int j = 0; j < A; ++j, to += kBlock) {
      const bool exists = i >= w.row0 && i < w.row1 && j >= w.col0 && j < w.col1;
      for (int64_t lane = 0; lane < kBlock; lane += kLanes)
        storeu(to + lane, exists ? loadu(from + j * column + lane) : zero());
    }
  }
}

struct OutputTile {
  TilePoints<const float> m;
  const float* bias;
  const float* residual;  // or null; strides of dst
  float* dst;
  int64_t row;  // floats between rows of dst; columns are a block apart
  bool clamp;   // limit to [low, high]; NaN passes
  float low, high;
};

// Every second row, from row Part on, of the vector of channels at `lane`.
template <typename W, bool Border, int Part>
TERROIR_INLINE void output_half(const OutputTile& t, int64_t lane, int64_t rows, int64_t cols) {
  constexpr int A = W::kSums, H = W::kTile / 2;
  V half[H][A];
#pragma GCC unroll 9
  for (int j = 0; j < A; ++j) {
    V column[A], out[H];
#pragma GCC unroll 9
    for (int i = 0; i < A; ++i) {
      const float* const m = t.m.at[(i == A - 1 ? 2 : 0) + (j == A - 1 ? 1 : 0)];
      column[i] = Border && !m ? zero() : loadu(m + (i * A + j) * t.m.stride + lane);
    }
    W::template output<Part>(column, out);
#pragma GCC unroll 9
    for (int i = 0; i < H; ++i) half[i][j] = out[i];
  }
  const V bias = loadu(t.bias + lane), low(t.low), high(t.high);
#pragma GCC unroll 9
  for (int i = 0; i < H; ++i) {
    const int y = 2 * i + Part;
    if (Border && y >= rows) break;
    V even[H], odd[H];
    W::template output<0>(half[i], even);
    W::template output<1>(half[i], odd);
#pragma GCC unroll 9
    for (int x = 0; x < W::kTile; ++x) {
      if (Border && x >= cols) break;
      const int64_t at = y * t.row + x * kBlock + lane;
      V sum = (x % 2 == 0 ? even : odd)[x / 2] + bias;
      if (t.residual) sum = sum + loadu(t.residual + at);
      if (t.clamp) sum = min(high, max(low, sum));
      storeu(t.dst + at, sum);
    }
  }
}

// The first `rows` x `cols` outputs of a tile. Not inlined: it is large, and its callers are several.
template <typename W>
TERROIR_NOINLINE void output_border_tile(const OutputTile& t, int64_t rows, int64_t cols) {
  for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
    output_half<W, true, 0>(t, lane, rows, cols);
    output_half<W, true, 1>(t, lane, rows, cols);
  }
}

template <typename W>
TERROIR_INLINE void output_tile(const OutputTile& t) {
  for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
    output_half<W, false, 0>(t, lane, W::kTile, W::kTile);
    output_half<W, false, 1>(t, lane, W::kTile, W::kTile);
  }
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
