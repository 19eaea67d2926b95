// What: as transforming_pass.hpp, for F(4x4,3x3) with stride 2: one row of sums x up to four tiles, of an image of 2x2
// tiles or neighbours in a row of them, of one output block, with weights that are transformed in registers. A row of
// sums takes two rows of products, or one.
// Formula: m[b][r][o] = sum over the row's products (i, j) of sum b, i of v[(i, j)][a][r][i] * u[i][j][i][o].
// Cost: per input channel 27 additions and multiply-adds to transform the weights, and up to 324 products.
// Memory: an input block's weights and sources stay in L1 while all rows pass over them.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv_wino/transforming_pass.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

struct StridedTransformingPass {
  const float* v;     // the row's first product
  const float* taps;  // [ic][tap][lane]
  int64_t channels;
  float at;  // of a row at a point that is neither zero nor infinity
  float* m;
  int64_t m_point;
  const float* prefetch;   // weights of the next input block: prefetch_lines cache lines per channel, to L2, or in the
  int64_t prefetch_lines;  // last two rows, to L1
  bool load;               // continue the sums found in `m`
};

// Of R tiles, Infinite of them with a last sum, row Row of sums; those between the first and the last are alike.
template <int R, int Infinite, int Row>
void strided_transforming_pass(const StridedTransformingPass& t) noexcept {
  using W = StridedWino<4>;
  constexpr int kRows = W::products(Row);
  const auto tiles = [](int sum) { return sum == W::kLast ? Infinite : R; };
  V acc[W::kSums][R];
#pragma GCC unroll 9
  for (int s = 0; s < W::kSums; ++s)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
      if (r < tiles(s)) acc[s][r] = t.load ? loadu(t.m + s * t.m_point + r * kBlock) : zero();

  const V at(t.at), a(W::a), b(W::b);
  const float *taps = t.taps, *prefetch = t.prefetch, *v = t.v;
  // The next row's sources, a share per channel.
  constexpr int kNextLines = (kRows * W::kAlpha * kSpanPoint / 16 + kBlock - 1) / kBlock;
  const float* next = v + kRows * W::kAlpha * kSpanPoint;
  for (int64_t i = t.channels; i > 0; --i, ++v, taps += kTaps * kBlock) {
    for (int64_t line = t.prefetch_lines; line > 0; --line, prefetch += 16)
      __builtin_prefetch(prefetch, 0, Row < W::kSums - 2 ? 2 : 3);
#pragma GCC unroll 9
    for (int line = 0; line < kNextLines; ++line, next += 16) __builtin_prefetch(next);
#pragma GCC unroll 2
    for (int row = 0; row < kRows; ++row) {
      V g[3];
      // In the order of the row's products; see StridedPoints.
      const bool odd = row == (Row == W::kLast ? 0 : 1);
#pragma GCC unroll 4
      for (int x = 0; x < 3; ++x) {
        const float* const column = taps + x * kBlock;
        if (odd) {
          g[x] = loadu(column + 3 * kBlock);
        } else if (Row == W::kLast) {
          g[x] = loadu(column + 6 * kBlock);
        } else {
          g[x] = Row == 0 ? loadu(column) : fma(at, loadu(column + 6 * kBlock), loadu(column));
        }
      }
      const auto add = [&](int sum, int product, V u) {
        const float* const from = v + (kRows * W::first(sum) + row * W::products(sum) + product) * kSpanPoint;
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
          if (r < tiles(sum)) acc[sum][r] = fma(broadcast(from + r * kBlock), u, acc[sum][r]);
      };
      add(0, 0, g[0]);
      add(0, 1, g[1]);
      add(1, 0, fma(a, g[2], g[0]));
      add(1, 1, g[1]);
      add(2, 0, fnma(a, g[2], g[0]));
      add(2, 1, g[1]);
      add(3, 0, fma(b, g[2], g[0]));
      add(4, 0, g[1]);
      add(4, 1, g[2]);
    }
  }
#pragma GCC unroll 9
  for (int s = 0; s < W::kSums; ++s)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
      if (r < tiles(s)) storeu(t.m + s * t.m_point + r * kBlock, acc[s][r]);
}

using StridedTransformingFn = void (*)(const StridedTransformingPass&) noexcept;

// Tiles of a pass; two are those of the last row of sums of an image of 2x2 tiles.
constexpr int kLeastStridedTiles = 2, kMostStridedTiles = 4;

// cost.cpp knows what is there.
struct StridedTransformingRow {
  StridedTransformingFn fn[kMostStridedTiles - kLeastStridedTiles + 1][2];  // [tiles][whether all have a last sum]
};

template <int Row>
constexpr StridedTransformingRow strided_transforming_row() {
  if constexpr (kRegisters != 32) {
    return {};
  } else if constexpr (Row == StridedWino<4>::kLast) {
    return {{{&strided_transforming_pass<2, 1, Row>, &strided_transforming_pass<2, 2, Row>},
             {nullptr, &strided_transforming_pass<3, 3, Row>},
             {&strided_transforming_pass<4, 2, Row>, &strided_transforming_pass<4, 4, Row>}}};
  } else {
    return {{{nullptr, nullptr},
             {nullptr, &strided_transforming_pass<3, 3, Row>},
             {&strided_transforming_pass<4, 2, Row>, &strided_transforming_pass<4, 4, Row>}}};
  }
}

// By row of sums; rows 1 and 2 are alike.
constexpr StridedTransformingRow kStridedTransforming[StridedWino<4>::kSums] = {
    strided_transforming_row<0>(), strided_transforming_row<1>(), strided_transforming_row<1>(),
    strided_transforming_row<3>(), strided_transforming_row<4>()};

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
