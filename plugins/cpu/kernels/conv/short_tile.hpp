// What: the register tile of pointwise kernels with short reductions, where what happens between two tiles counts. The
// last source indices go position by position, and each position is stored when its sums are complete: stores that wait
// for products of the last few cycles soon hold up all products behind them, and those of a whole tile in a row take as
// long as a tenth of the products. Between the blocks of channels there is one loop in the place of four.
// Formula, order of summation, layouts, aliasing: those of tile_pass.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/tile_pass.hpp"
#include "plugins/cpu/simd/activations.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

#if defined(__AVX512F__)
constexpr bool kHasShortTiles = true;

// So many that there are registers for their weights, beside the sums, a source and the limits.
constexpr int last_indices(int blocks) { return blocks < 4 ? 4 : 2; }

template <int R, int B>
TERROIR_INLINE void finish_sums(const TilePass& p, const float* s, const float* k, int64_t to, V (&acc)[R][B]) {
  constexpr int kLast = last_indices(B);
  V weight[kLast][B];
#pragma GCC unroll 4
  for (int u = 0; u < kLast; ++u)
#pragma GCC unroll 4
    for (int b = 0; b < B; ++b) weight[u][b] = loadu(k + (u * B + b) * kLanes);
  const V lo(p.low), hi(p.high);
  const int64_t out_step = p.out_step, out_block = p.out_block;
  float* out = p.out + to;
  int clamp = p.clamp;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r, out += out_step) {
#pragma GCC unroll 4
    for (int u = 0; u < kLast; ++u) {
      const V x = broadcast(s + r * kBlock + u);
#pragma GCC unroll 4
      for (int b = 0; b < B; ++b) add_product(acc[r][b], x, weight[u][b]);
    }
    __asm__("" : "+r"(clamp));  // else compilers write the rest twice
    if (__builtin_expect(clamp, 1)) {
#pragma GCC unroll 4
      for (int b = 0; b < B; ++b) acc[r][b] = min(hi, max(lo, acc[r][b]));
    } else if (p.hswish) {
#pragma GCC unroll 4
      for (int b = 0; b < B; ++b) acc[r][b] = hswish(acc[r][b]);
    }
#pragma GCC unroll 4
    for (int b = 0; b < B; ++b) storeu(out + b * out_block, acc[r][b]);
    __asm__("" ::: "memory");  // the stores stay where they are
  }
}

// Even numbers of channels in all blocks; as many as last_indices at least in the last one.
template <int R, int B>
void short_pass(const TilePass& p) noexcept {
  constexpr int kLast = last_indices(B);
  static_assert((R + kLast) * B + 3 <= kRegisters);
  const int64_t blocks = p.n.a * p.n.w, src_block = p.n.a > 1 ? p.src_stride.a : p.src_stride.w;
  const float *src = p.src, *prefetch = p.prefetch;
  int64_t to = 0;
  for (int64_t more = p.more_tiles;; --more) {
    V acc[R][B];
    begin_sums<1, R, B>(p, p.bias, to, acc);
    const float *next = src, *k = p.wei, *s;
    for (int64_t block = blocks;; --block) {
      s = next;
      prefetch = fetch_ahead(p, prefetch);
      next = block > 1 ? next + src_block : src + p.tile_src;
      if (p.fetch_sources && block + more > 1) {
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) __builtin_prefetch(next + r * kBlock);
      }
      for (int64_t n = block > 1 ? p.n_i : p.n_i_last - kLast; n > 0; n -= 2, s += 2, k += 2 * B * kBlock) {
        tile_step<1, R, B, 0, R, true>(s, s, k, kBlock, acc);
        tile_step<1, R, B, 0, R, true>(s + 1, s + 1, k + B * kBlock, kBlock, acc);
      }
      if (block == 1) break;
    }
    finish_sums<R, B>(p, s, k, to, acc);
    if (more == 0) break;
    src += p.tile_src;
    to += p.tile_out;
  }
}

template <int B, int R>
constexpr PassFn short_entry() {
  if constexpr (has_short_tile(B, R)) {
    return &short_pass<R, B>;
  } else {
    return pass_entry<1, R, B, kBlock, false>();
  }
}

template <int B, int... R>
constexpr PassRow short_row(std::integer_sequence<int, R...>) {
  return {{short_entry<B, R + 1>()...}};
}

using ShortPositions = std::make_integer_sequence<int, kMaxPositions>;
constexpr PassTable kPassShort = {{{short_row<1>(ShortPositions{}), short_row<2>(ShortPositions{}),
                                    short_row<3>(ShortPositions{}), short_row<4>(ShortPositions{})},
                                   {}}};
#else
constexpr bool kHasShortTiles = false;
constexpr PassTable kPassShort = {};
#endif

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
