// What: the register tile of the products in the transformed domain for an image of 2x2 tiles of F(4x4,3x3): the points
// of one row x four tiles (two, in the row at infinity) of one output block, with weights that are transformed in
// registers, after they were loaded and before they are multiplied.
// Formula: m[j][r][o] = s_row * s_j * sum over a, i of v[j][a][r][i] * u[j][i][o], u = row `row` of G' g G'^T, where G'
//   is G without its scales s: products take them on at the end.
// Cost: per input channel 12 multiply-adds to transform the weights, 6 of the rows at zero and at infinity, and up to
//   24 products.
// Memory: a run of input channels stays in L1, weights and sources, while all rows pass over it.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv_wino/transforms.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// The sums need the registers.
constexpr bool kTransforms = kRegisters == 32;

// Sources of a block of channels lie together, [point][tile][channel], so many floats to a point, of which the last
// ones are not used where it has fewer tiles.
constexpr int64_t kSpanPoint = kMostSpanTiles * kBlock;

// Input blocks per run of channels.
constexpr int64_t kTransformedBlocks = 2;

struct TransformingPass {
  const float* v;        // the row's first point
  const float* taps;     // [ic][tap][lane]; from the last row of taps on for the row at infinity
  int64_t blocks, last;  // input blocks, channels of the last one
  float at;              // the row's point, if it has one
  float row_scale;
  float* m;
  int64_t m_point;
  const float* prefetch;  // weights of the next run: prefetch_lines cache lines per channel
  int64_t prefetch_lines;
  bool to_l1;  // or to L2
  bool load;   // continue the sums found in `m`
  bool scale;  // they are complete then
};

// R tiles, Infinite of them with a last point, in a row at a point that is neither zero nor infinity: those take one
// row of the taps as it is.
template <int R, int Infinite, bool Finite>
void transforming_pass(const TransformingPass& t) noexcept {
  using W = Wino<4>;
  constexpr int A = W::kAlpha;
  const auto tiles = [](int j) { return j == A - 1 ? Infinite : R; };
  V acc[A][R];
#pragma GCC unroll 8
  for (int j = 0; j < A; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
      if (r < tiles(j)) acc[j][r] = t.load ? loadu(t.m + j * t.m_point + r * kBlock) : zero();

  const V at(t.at), square(t.at * t.at);
  const V a(W::a), a2(W::a2), b(W::b), b2(W::b2);
  const float* taps = t.taps;
  const float* prefetch = t.prefetch;
  const float* block = t.v;
  for (int64_t left = t.blocks; left > 0; --left, block += A * A * kSpanPoint) {
    const float* v = block;
    for (int64_t i = left == 1 ? t.last : kBlock; i > 0; --i, ++v, taps += kTaps * kBlock) {
      for (int64_t line = t.prefetch_lines; line > 0; --line, prefetch += 16) {
        if (t.to_l1) {
          __builtin_prefetch(prefetch);
        } else {
          __builtin_prefetch(prefetch, 0, 2);
        }
      }
      const auto add = [&](int j, V u) {
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
          if (r < tiles(j)) acc[j][r] = fma(broadcast(v + j * kSpanPoint + r * kBlock), u, acc[j][r]);
      };
      V h[3];
#pragma GCC unroll 4
      for (int y = 0; y < 3; ++y)
        h[y] = Finite ? fma(at, loadu(taps + (3 + y) * kBlock),
                            fma(square, loadu(taps + (6 + y) * kBlock), loadu(taps + y * kBlock)))
                      : loadu(taps + y * kBlock);
      add(0, h[0]);
      add(5, h[2]);
      const V even_a = fma(a2, h[2], h[0]), even_b = fma(b2, h[2], h[0]);
      add(1, fma(a, h[1], even_a));
      add(2, fnma(a, h[1], even_a));
      add(3, fma(b, h[1], even_b));
      add(4, fnma(b, h[1], even_b));
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < A; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
      if (r < tiles(j))
        storeu(t.m + j * t.m_point + r * kBlock, t.scale ? acc[j][r] * V(t.row_scale * W::kScale[j]) : acc[j][r]);
}

using TransformingFn = void (*)(const TransformingPass&) noexcept;

struct TransformingRow {
  TransformingFn fn[3];
};

template <int R, bool Finite>
constexpr TransformingRow transforming_row() {
  if constexpr (kTransforms) {
    return {{&transforming_pass<R, 0, Finite>, &transforming_pass<R, R / 2, Finite>, &transforming_pass<R, R, Finite>}};
  } else {
    return {};
  }
}

// .fn[halves of the tiles that have a last point]
constexpr TransformingRow kTransformingFinite = transforming_row<4, true>();
constexpr TransformingRow kTransforming[2] = {transforming_row<2, false>(),
                                              transforming_row<4, false>()};  // [tiles / 2 - 1]

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
