// What: the register tile of pointwise kernels for a unit of output channels whose last block is half a one (24
// channels are a block and a half): two positions share a vector, so that no product is made of padding. Formula, order
// of summation, layouts, aliasing: those of tile_pass, with whole units of 16 lanes in `wei` and `bias`;
//   the upper half of the last block is written as zero.
// Cost: per source index and two positions 2B + 1 FMAs and a blend for 2 broadcasts; B + 1 loads.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/tile_pass.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

#if defined(__AVX512F__)
constexpr bool kHasHalfTiles = true;

// R positions of B whole blocks and half a one.
template <int R, int B>
TERROIR_INLINE void begin_half_sums(const TilePass& p, int64_t to, V (&acc)[R][B], V (&pair)[(R + 1) / 2]) {
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b) {
    const V bias = loadu(p.bias + b * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) acc[r][b] = bias;
  }
  const V bias = load_twice(p.bias + B * kLanes);
#pragma GCC unroll 16
  for (int q = 0; q < (R + 1) / 2; ++q) pair[q] = bias;
  if (!p.residual) return;
  const float* from = p.residual + to;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r, from += p.residual_step) {
#pragma GCC unroll 4
    for (int b = 0; b < B; ++b) acc[r][b] = acc[r][b] + loadu(from + b * p.residual_block);
    const float* const half = from + B * p.residual_block;
    if (r % 2 == 0) pair[r / 2] = pair[r / 2] + load_halves(half, half + (r + 1 < R ? p.residual_step : 0));
  }
}

template <int R, int B>
TERROIR_INLINE void store_half_sums(const TilePass& p, int64_t to, V (&acc)[R][B], V (&pair)[(R + 1) / 2]) {
  if (p.clamp) {
    const V lo(p.low), hi(p.high);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int b = 0; b < B; ++b) acc[r][b] = min(hi, max(lo, acc[r][b]));
#pragma GCC unroll 16
    for (int q = 0; q < (R + 1) / 2; ++q) pair[q] = min(hi, max(lo, pair[q]));
  }
  // Copies: stores of vectors might change fields of `p`, for all that the compiler knows.
  const int64_t out_step = p.out_step, out_block = p.out_block;
  float* out = p.out + to;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r, out += out_step) {
#pragma GCC unroll 4
    for (int b = 0; b < B; ++b) storeu(out + b * out_block, acc[r][b]);
    storeu(out + B * out_block, r % 2 == 0 ? lower_half(pair[r / 2]) : upper_half(pair[r / 2]));
  }
}

template <int R, int B>
TERROIR_INLINE void half_step(const float* s, const float* k, V (&acc)[R][B], V (&pair)[(R + 1) / 2]) {
  V weight[B];
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b) weight[b] = loadu(k + b * kLanes);
  const V half = load_twice(k + B * kLanes);
#pragma GCC unroll 16
  for (int r = 0; r < R; r += 2) {
    const V x = broadcast(s + r * kBlock);
    V both = x;
#pragma GCC unroll 4
    for (int b = 0; b < B; ++b) add_product(acc[r][b], x, weight[b]);
    if (r + 1 < R) {
      const V y = broadcast(s + (r + 1) * kBlock);
#pragma GCC unroll 4
      for (int b = 0; b < B; ++b) add_product(acc[r + 1][b], y, weight[b]);
      both = halves(x, y);
    }
    add_product(pair[r / 2], both, half);
  }
}

template <int R, int B>
void half_pass(const TilePass& p) noexcept {
  constexpr int64_t stride = (B + 1) * kBlock;
  V acc[R][B], pair[(R + 1) / 2];
  const float *src = p.src, *prefetch = p.prefetch;
  int64_t to = 0;
  for (int64_t more = p.more_tiles;; --more) {
    begin_half_sums<R, B>(p, to, acc, pair);
    for_each_column<false>(p, src, p.wei, [&]<Column>(const float* s, const float* k, int64_t n) TERROIR_INLINE_LAMBDA {
      prefetch = fetch_ahead(p, prefetch);
      if (p.fetch_sources) fetch_next_sources<R>(p, src, s, more, kBlock);
      for (int64_t i = n; i > 0; --i, ++s, k += stride) half_step<R, B>(s, k, acc, pair);
    });
    store_half_sums<R, B>(p, to, acc, pair);
    if (more == 0) break;
    src += p.tile_src;
    to += p.tile_out;
  }
}

template <int B, int... R>
constexpr PassRow half_row(std::integer_sequence<int, R...>) {
  return {{&half_pass<R + 1, B>...}};
}

constexpr PassTable kPassHalf = {{{{},
                                   half_row<1>(std::make_integer_sequence<int, kMaxHalfPositions2>{}),
                                   half_row<2>(std::make_integer_sequence<int, kMaxHalfPositions3>{}),
                                   {}},
                                  {}}};
#else
constexpr bool kHasHalfTiles = false;
constexpr PassTable kPassHalf = {};
#endif

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
