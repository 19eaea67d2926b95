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

// Point classes: a point at infinity along w is in an odd one, along h in 2 or 3. Tiles with fewer than Tile outputs
// along an axis have no point at infinity there.
constexpr int kPointClasses = 4;

// Where a tile's points are: point k of class c at at[c] + k * stride; null where the tile has none of the class.
template <typename Float>
struct TilePoints {
  Float* at[kPointClasses];
  int64_t stride;
};

// The first elements of a tile's rows.
template <int Tile>
struct TileRows {
  const float* at[Wino<Tile>::kAlpha];
};

// Half of the points of one vector of channels: those of one half of the rows.
template <int Tile, bool Border, int Part>
TERROIR_INLINE void input_half(const TileRows<Tile>& src, const TileWindow& w, const Tail (&rows)[Wino<Tile>::kAlpha],
                               const TilePoints<float>& v, int64_t lane) {
  constexpr int A = Wino<Tile>::kAlpha, H = A / 2;
  V half[H][A];
#pragma GCC unroll 8
  for (int j = 0; j < A; ++j) {
    V column[A], out[H];
    if (!Border || (j >= w.col0 && j < w.col1)) {
#pragma GCC unroll 8
      for (int i = 0; i < A; ++i) {
        const float* at = src.at[i] + j * kBlock + lane;
        column[i] = Border ? load_tail(at, rows[i]) : loadu(at);
      }
      Wino<Tile>::template input<Part>(column, out);
    } else {
#pragma GCC unroll 8
      for (int i = 0; i < H; ++i) out[i] = zero();
    }
#pragma GCC unroll 8
    for (int i = 0; i < H; ++i) half[i][j] = out[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < H; ++i) {
    const int row_class = Part * H + i == A - 1 ? 2 : 0;
    float* const finite = v.at[row_class];
    float* const infinite = v.at[row_class + 1];
    if (row_class != 0 && !finite) break;
    V out[A];
    transform_row<Tile>(half[i], out);
    const int64_t first = (Part * H + i) * A;
#pragma GCC unroll 8
    for (int j = 0; j < A - 1; ++j) storeu(finite + (first + j) * v.stride + lane, out[j]);
    if (infinite) storeu(infinite + (first + A - 1) * v.stride + lane, out[A - 1]);
  }
}

template <int Tile, bool Border>
TERROIR_INLINE void input_tile(const TileRows<Tile>& src, const TileWindow& w, const TilePoints<float>& v) {
  constexpr int A = Wino<Tile>::kAlpha;
  Tail rows[A];
  if (Border) {
#pragma GCC unroll 8
    for (int i = 0; i < A; ++i) rows[i] = tail(i >= w.row0 && i < w.row1 ? kLanes : 0);
  }
  for (int64_t part = 0; part < kBlock; part += kLanes) {
    input_half<Tile, Border, 0>(src, w, rows, v, part);
    input_half<Tile, Border, 1>(src, w, rows, v, part);
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
template <int Tile, bool Border, int Part>
TERROIR_INLINE void output_half(const OutputTile& t, int64_t lane, int64_t rows, int64_t cols) {
  constexpr int A = Wino<Tile>::kAlpha, H = Tile / 2;
  V half[H][A];
#pragma GCC unroll 8
  for (int j = 0; j < A; ++j) {
    V column[A], out[H];
#pragma GCC unroll 8
    for (int i = 0; i < A; ++i) {
      const float* const m = t.m.at[(i == A - 1 ? 2 : 0) + (j == A - 1 ? 1 : 0)];
      column[i] = Border && !m ? zero() : loadu(m + (i * A + j) * t.m.stride + lane);
    }
    Wino<Tile>::template output<Part>(column, out);
#pragma GCC unroll 8
    for (int i = 0; i < H; ++i) half[i][j] = out[i];
  }
  const V bias = loadu(t.bias + lane), low(t.low), high(t.high);
#pragma GCC unroll 8
  for (int i = 0; i < H; ++i) {
    const int y = 2 * i + Part;
    if (Border && y >= rows) break;
    V even[H], odd[H];
    Wino<Tile>::template output<0>(half[i], even);
    Wino<Tile>::template output<1>(half[i], odd);
#pragma GCC unroll 8
    for (int x = 0; x < Tile; ++x) {
      if (Border && x >= cols) break;
      const int64_t at = y * t.row + x * kBlock + lane;
      V sum = (x % 2 == 0 ? even : odd)[x / 2] + bias;
      if (t.residual) sum = sum + loadu(t.residual + at);
      if (t.clamp) sum = min(high, max(low, sum));
      storeu(t.dst + at, sum);
    }
  }
}

// The first `rows` x `cols` outputs of the tile.
template <int Tile, bool Border>
TERROIR_INLINE void output_tile(const OutputTile& t, int64_t rows, int64_t cols) {
  for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
    output_half<Tile, Border, 0>(t, lane, rows, cols);
    output_half<Tile, Border, 1>(t, lane, rows, cols);
  }
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
