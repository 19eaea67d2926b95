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

// `src`: the first element of the tile, `row` floats between rows. Point k goes to v + k * point.
template <int Tile, bool Border>
TERROIR_INLINE void input_tile(const float* src, int64_t row, const TileWindow& w, float* v, int64_t point) {
  constexpr int A = Wino<Tile>::kAlpha;
  Tail rows[A];
  if (Border) {
#pragma GCC unroll 8
    for (int i = 0; i < A; ++i) rows[i] = tail(i >= w.row0 && i < w.row1 ? kLanes : 0);
  }
  for (int64_t part = 0; part < kVectorsPerBlock; ++part, src += kLanes, v += kLanes) {
    V half[A][A];
#pragma GCC unroll 8
    for (int j = 0; j < A; ++j) {
      V column[A];
      if (!Border || (j >= w.col0 && j < w.col1)) {
#pragma GCC unroll 8
        for (int i = 0; i < A; ++i) {
          const float* at = src + i * row + j * kBlock;
          column[i] = Border ? load_tail(at, rows[i]) : loadu(at);
        }
        V out[A];
        Wino<Tile>::input(column, out);
#pragma GCC unroll 8
        for (int i = 0; i < A; ++i) half[i][j] = out[i];
      } else {
#pragma GCC unroll 8
        for (int i = 0; i < A; ++i) half[i][j] = zero();
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < A; ++i) {
      V out[A];
      Wino<Tile>::input(half[i], out);
#pragma GCC unroll 8
      for (int j = 0; j < A; ++j) storeu(v + (i * A + j) * point, out[j]);
    }
  }
}

struct OutputTile {
  const float* m;  // point k at m + k * point
  int64_t point;
  const float* bias;
  const float* residual;  // or null; strides of dst
  float* dst;
  int64_t row;  // floats between rows of dst; columns are a block apart
  bool clamp;   // limit to [low, high]; NaN passes
  float low, high;
};

template <int Tile, bool Border>
TERROIR_INLINE void output_tile(const OutputTile& t, int64_t rows, int64_t cols) {
  constexpr int A = Wino<Tile>::kAlpha;
  for (int64_t part = 0; part < kBlock; part += kLanes) {
    V half[Tile][A];
#pragma GCC unroll 8
    for (int j = 0; j < A; ++j) {
      V column[A], out[Tile];
#pragma GCC unroll 8
      for (int i = 0; i < A; ++i) column[i] = loadu(t.m + (i * A + j) * t.point + part);
      Wino<Tile>::output(column, out);
#pragma GCC unroll 8
      for (int i = 0; i < Tile; ++i) half[i][j] = out[i];
    }
    const V bias = loadu(t.bias + part), low(t.low), high(t.high);
#pragma GCC unroll 8
    for (int i = 0; i < Tile; ++i) {
      if (Border && i >= rows) break;
      V out[Tile];
      Wino<Tile>::output(half[i], out);
      float* dst = t.dst + i * t.row + part;
#pragma GCC unroll 8
      for (int j = 0; j < Tile; ++j) {
        if (Border && j >= cols) break;
        V y = out[j] + bias;
        if (t.residual) y = y + loadu(t.residual + i * t.row + j * kBlock + part);
        if (t.clamp) y = min(high, max(low, y));
        storeu(dst + j * kBlock, y);
      }
    }
  }
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
