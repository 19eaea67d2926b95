// What: register tiles for depthwise kernels of 3 or 5 dense columns over channel blocks: some whole rows, or equal
// parts of them, of one block of channels in one call. What lane_window finds out for every tile and element is known
// here before the first row.
// Formula and order of summation: those of lane_window.
// Cost: (R-1)*S+K loads for R*K FMAs; every address is a displacement.
// Include one bucket header first.
#pragma once

#include <utility>

#include "plugins/cpu/kernels/conv_dw/lane_tile.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

template <int R, int K, int S>
void lane_rows(const LaneRowsPass& p) noexcept {
  constexpr int W = (R - 1) * S + K, kEdge = K / 2;
  int64_t y = p.y;
  float* to = p.out;
  for (int64_t rows = p.rows; rows > 0; --rows, y += p.step, to += p.out_h) {
    const int64_t begin = y < 0 ? -y : 0, end = p.in - y < p.n_h ? p.in - y : p.n_h;
    const float* from = p.src + (y + begin) * p.src_h;
    const float* const wei = p.wei + begin * K * kBlock;
    float* out = to;
    int64_t left = p.left;
    for (int64_t tiles = p.tiles; tiles > 0; --tiles, from += R * S * kBlock, out += R * kBlock, left = 0) {
      const int64_t right = tiles == 1 ? p.right : 0;
      const V bias = loadu(p.bias);
      V acc[R];
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) acc[r] = bias;
      const float* s = from;
      const float* k = wei;
      for (int64_t h = end - begin; h > 0; --h, s += p.src_h, k += K * kBlock) {
        V weight[K];
#pragma GCC unroll 8
        for (int w = 0; w < K; ++w) weight[w] = loadu(k + w * kBlock);
#pragma GCC unroll 64
        for (int e = 0; e < W; ++e) {
          const float* at = s + e * kBlock;
          if (e < kEdge || e >= W - kEdge) {
            if (e < kEdge ? e < left : W - e <= right) at = kZeroBlock;
            // Else compilers make two copies of what follows.
            __asm__("" : "+r"(at));
          }
          const V x = in_register(loadu(at));
#pragma GCC unroll 8
          for (int w = 0; w < K; ++w) {
            const int r = (e - w) / S;
            if (e >= w && (e - w) % S == 0 && r < R) acc[r] = fma(x, weight[w], acc[r]);
          }
        }
      }
      if (p.clamp) lane_clamp<R>(p.low, p.high, acc);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) storeu(out + r * kBlock, acc[r]);
    }
  }
}

// Where a block is one vector, and there are registers enough.
constexpr bool kHasLaneRows = kVectorsPerBlock == 1 && kFused;

using LaneRowsFn = void (*)(const LaneRowsPass&) noexcept;
struct LaneRowsTable {
  LaneRowsFn fn[kMaxLanePositions];
};

template <int K, int S, int... R>
constexpr LaneRowsTable lane_rows_table(std::integer_sequence<int, R...>) {
  if constexpr (kHasLaneRows) {
    return {{&lane_rows<R + 1, K, S>...}};
  } else {
    return {};
  }
}

// [stride - 1]
constexpr LaneRowsTable kRows3[2] = {lane_rows_table<3, 1>(LaneSizes{}), lane_rows_table<3, 2>(LaneSizes{})};
constexpr LaneRowsTable kRows5[2] = {lane_rows_table<5, 1>(LaneSizes{}), lane_rows_table<5, 2>(LaneSizes{})};

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
