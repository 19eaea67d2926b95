// What: the register tile every dense convolution kernel is made of. One call adds a range of taps to R neighbouring
// output positions (in each of H rows) x B channel blocks, which live in registers from the first tap to the last.
// Formula: acc[q][r][o] += sum over a, d, h, w, i of
//   src[q*src_row + r*src_step + a*sa + d*sd + h*sh + w*sw + i] * wei[a][d][h][w][i][o]
// Layouts: whatever the strides say; source index i is contiguous (channels of a block, or columns of a plain source),
//   as are the B blocks of weights that belong to it.
// Aliasing: `out` may be `residual`; else nothing overlaps. Alignment: any; 64 bytes wanted for speed.
// Cost: per i, H*R*B*kVectorsPerBlock FMAs for H*R broadcasts and B*kVectorsPerBlock loads.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv/conv_tile.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr int max_tile(int blocks) { return max_tile_positions(kRegisters, kFused, blocks * kVectorsPerBlock); }

template <int H, int R, int B, int Step>
void tile_pass(const TilePass& p) noexcept {
  constexpr int N = H * R;
  constexpr int NV = B * kVectorsPerBlock;
  constexpr int64_t L = kLanes;
  const int64_t step = Step == 0 ? p.src_step : Step;
  V acc[N][NV];

  if (p.load) {
#pragma GCC unroll 32
    for (int r = 0; r < N; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v)
        acc[r][v] = loadu(p.out + (r / R) * p.out_row + (r % R) * p.out_step + (v / kVectorsPerBlock) * p.out_block +
                          (v % kVectorsPerBlock) * L);
  } else {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      const V bias = loadu(p.bias + v * L);
#pragma GCC unroll 32
      for (int r = 0; r < N; ++r) acc[r][v] = bias;
    }
    if (p.residual) {
#pragma GCC unroll 32
      for (int r = 0; r < N; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v)
          acc[r][v] = acc[r][v] + loadu(p.residual + (r / R) * p.residual_row + (r % R) * p.residual_step +
                                        (v / kVectorsPerBlock) * p.residual_block + (v % kVectorsPerBlock) * L);
    }
  }

  const float* prefetch = p.prefetch;
  const float* src_a = p.src;
  const float* wei_a = p.wei;
  for (int64_t a = p.n.a; a > 0; --a, src_a += p.src_stride.a, wei_a += p.wei_stride.a) {
    const int64_t n_i = a == 1 ? p.n_i_last : p.n_i;
    const float* src_d = src_a;
    const float* wei_d = wei_a;
    for (int64_t d = p.n.d; d > 0; --d, src_d += p.src_stride.d, wei_d += p.wei_stride.d) {
      const float* src_h = src_d;
      const float* wei_h = wei_d;
      for (int64_t h = p.n.h; h > 0; --h, src_h += p.src_stride.h, wei_h += p.wei_stride.h) {
        const float* src_w = src_h;
        const float* wei_w = wei_h;
        for (int64_t w = p.n.w; w > 0; --w, src_w += p.src_stride.w, wei_w += p.wei_stride.w) {
          const float* s = src_w;
          const float* k = wei_w;
          for (int64_t line = p.prefetch_lines; line > 0; --line, prefetch += 16) __builtin_prefetch(prefetch, 0, 2);
          for (int64_t i = n_i; i > 0; --i, ++s, k += NV * L) {
            // Hides that neighbouring positions of a plain row share sources from one trip to the next: compilers keep
            // those in registers that the accumulators need.
            __asm__("" : "+r"(s));
            V weight[NV];
#pragma GCC unroll 8
            for (int v = 0; v < NV; ++v) weight[v] = loadu(k + v * L);
#pragma GCC unroll 32
            for (int r = 0; r < N; ++r) {
              const V x = broadcast(s + (H == 1 ? 0 : (r / R) * p.src_row) + (r % R) * step);
#pragma GCC unroll 8
              for (int v = 0; v < NV; ++v) acc[r][v] = fma(x, weight[v], acc[r][v]);
            }
          }
        }
      }
    }
  }

  if (p.clamp) {
    const V lo(p.low), hi(p.high);
#pragma GCC unroll 32
    for (int r = 0; r < N; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[r][v] = min(hi, max(lo, acc[r][v]));
  }
#pragma GCC unroll 32
  for (int r = 0; r < N; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v)
      storeu(p.out + (r / R) * p.out_row + (r % R) * p.out_step + (v / kVectorsPerBlock) * p.out_block +
                 (v % kVectorsPerBlock) * L,
             acc[r][v]);
}

using PassFn = void (*)(const TilePass&) noexcept;

constexpr int kMaxPositions = 14;
constexpr int kMaxBlocks = 4;

struct PassRow {
  PassFn fn[kMaxPositions];
};

template <int H, int R, int B, int Step>
constexpr PassFn pass_entry() {
  if constexpr (H * R <= max_tile(B)) {
    return &tile_pass<H, R, B, Step>;
  } else {
    return nullptr;
  }
}

template <int H, int B, int Step>
constexpr PassRow pass_row() {
  return {{pass_entry<H, 1, B, Step>(), pass_entry<H, 2, B, Step>(), pass_entry<H, 3, B, Step>(),
           pass_entry<H, 4, B, Step>(), pass_entry<H, 5, B, Step>(), pass_entry<H, 6, B, Step>(),
           pass_entry<H, 7, B, Step>(), pass_entry<H, 8, B, Step>(), pass_entry<H, 9, B, Step>(),
           pass_entry<H, 10, B, Step>(), pass_entry<H, 11, B, Step>(), pass_entry<H, 12, B, Step>(),
           pass_entry<H, 13, B, Step>(), pass_entry<H, 14, B, Step>()}};
}

struct PassTable {
  PassRow row[2][kMaxBlocks];
};

// Two-row tiles serve narrow blocked tensors only, where a one-row tile would stream the weights too often.
template <int Step>
constexpr PassTable pass_table() {
  if constexpr (Step == 1 || Step == 2) {
    return {{{pass_row<1, 1, Step>(), pass_row<1, 2, Step>(), {}, {}}, {}}};
  } else {
    return {{{pass_row<1, 1, Step>(), pass_row<1, 2, Step>(), pass_row<1, 3, Step>(), pass_row<1, 4, Step>()},
             {pass_row<2, 1, Step>(), pass_row<2, 2, Step>(), {}, {}}}};
  }
}

// Steps with a kernel of their own: the next position of a block of channels, or of every second one; likewise of a
// plain row. Anything else takes the step at run time, which costs address registers.
constexpr PassTable kPassAnyStep = pass_table<0>();
constexpr PassTable kPassBlock = pass_table<kBlock>();
constexpr PassTable kPassBlock2 = pass_table<2 * kBlock>();
constexpr PassTable kPassColumn = pass_table<1>();
constexpr PassTable kPassColumn2 = pass_table<2>();

const PassTable& passes_for_step(int64_t step, bool plain) {
  if (plain) return step == 1 ? kPassColumn : step == 2 ? kPassColumn2 : kPassAnyStep;
  return step == kBlock ? kPassBlock : step == 2 * kBlock ? kPassBlock2 : kPassAnyStep;
}

}  // namespace

}  // namespace terroir::cpu::TERROIR_ISA
