// What: the register tile of the products in the transformed domain: R tiles x B output blocks of one point, all input
// channels and kernel slices (stride 2: products of the sum), in registers from the first product to the last.
// Formula: m[b][r][o] = sum over d, a, i of v[d*v_depth + a*v_block + r*block + i] * u[d, a][i][b][o]
// Cost: per i, R*B FMAs for R broadcasts and B loads.
// Include one bucket header first.
#pragma once

#include <utility>

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/simd/broadcasts.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

struct GemmPass {
  const float* v;
  int64_t v_block, v_depth;
  const float* u;               // [kernel slice][input block][channel][output channel], blocks u_block apart
  int64_t u_block, u_depth[2];  // u_depth: to the next slice, where an even number of them is left, and an odd one
  int64_t depth, blocks, last;  // kernel slices, input blocks, channels of the last input block
  float* m;
  int64_t m_block;
  bool load;              // continue the sums found in `m`
  const float* prefetch;  // weights of the next unit: prefetch_lines cache lines per input block
  int64_t prefetch_lines;
};

template <int R, int B>
TERROIR_INLINE void gemm_step(const float* v, const float* u, V (&acc)[R][B * kVectorsPerBlock]) {
  constexpr int NV = B * kVectorsPerBlock;
  V weight[NV];
#pragma GCC unroll 8
  for (int c = 0; c < NV; ++c) weight[c] = loadu(u + c * kLanes);
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) {
    const float* const source = v + r * kBlock;
    if (r < rows_broadcast_by_products(kLanes, R, NV)) {
#pragma GCC unroll 8
      for (int c = 0; c < NV; ++c) add_product(acc[r][c], source, weight[c]);
      continue;
    }
    const V x = broadcast(source);
#pragma GCC unroll 8
    for (int c = 0; c < NV; ++c) add_product(acc[r][c], x, weight[c]);
  }
}

// Vector `c` of the sums of tile `r`.
TERROIR_INLINE float* product(const GemmPass& g, int r, int c) {
  return g.m + (c / kVectorsPerBlock) * g.m_block + r * kBlock + (c % kVectorsPerBlock) * kLanes;
}

template <int R, int B>
void gemm_pass(const GemmPass& g) noexcept {
  constexpr int NV = B * kVectorsPerBlock;
  constexpr int64_t kStride = B * kBlock;
  constexpr int64_t kUnroll = kLanes == 8 ? 4 : kLanes == 16 && B > 2 ? 2 : 1;
  V acc[R][NV];
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < NV; ++c) acc[r][c] = g.load ? loadu(product(g, r, c)) : zero();
  const float* u_depth = g.u;
  const float* prefetch = g.prefetch;
  const float* v_depth = g.v;
  for (int64_t d = g.depth; d > 0; u_depth += g.u_depth[d & 1], v_depth += g.v_depth, --d) {
    const float* v_block = v_depth;
    const float* u_block = u_depth;
    for (int64_t a = g.blocks; a > 0; --a, v_block += g.v_block, u_block += g.u_block) {
      for (int64_t line = g.prefetch_lines; line > 0; --line, prefetch += 16) __builtin_prefetch(prefetch, 0, 2);
      const float* v = v_block;
      const float* u = u_block;
      const int64_t n = a == 1 ? g.last : kBlock;
      if (kUnroll > 1 && n == kBlock) {
        for (int64_t i = 0; i < kBlock; i += kUnroll, v += kUnroll, u += kUnroll * kStride) {
#pragma GCC unroll 4
          for (int k = 0; k < kUnroll; ++k) gemm_step<R, B>(v + k, u + k * kStride, acc);
        }
        continue;
      }
      for (int64_t i = n; i > 0; --i, ++v, u += kStride) gemm_step<R, B>(v, u, acc);
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < NV; ++c) storeu(product(g, r, c), acc[r][c]);
}

using GemmFn = void (*)(const GemmPass&) noexcept;

constexpr int kMaxGemmTiles = max_tile_positions(kRegisters, kFused, kVectorsPerBlock);
constexpr int kMaxGemmBlocks = 4;

struct GemmRow {
  GemmFn fn[kMaxGemmTiles];
};

template <int R, int B>
constexpr GemmFn gemm_entry() {
  if constexpr (R <= max_tile_positions(kRegisters, kFused, B * kVectorsPerBlock)) {
    return &gemm_pass<R, B>;
  } else {
    return nullptr;
  }
}

template <int B, int... R>
constexpr GemmRow gemm_row(std::integer_sequence<int, R...>) {
  return {{gemm_entry<R + 1, B>()...}};
}

// [output blocks - 1].fn[tiles - 1]; plan.cpp knows what is there.
constexpr GemmRow kGemm[kMaxGemmBlocks] = {gemm_row<1>(std::make_integer_sequence<int, kMaxGemmTiles>{}),
                                           gemm_row<2>(std::make_integer_sequence<int, kMaxGemmTiles>{}),
                                           gemm_row<3>(std::make_integer_sequence<int, kMaxGemmTiles>{}),
                                           gemm_row<4>(std::make_integer_sequence<int, kMaxGemmTiles>{})};

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
