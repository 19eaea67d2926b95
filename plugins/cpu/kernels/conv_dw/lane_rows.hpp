// What: register tiles of two output rows for depthwise kernels of 3x3 or 5x5 dense taps with equal strides: a source
// row serves both output rows while it is in registers, and the cost of starting a tile is shared.
// Formula: acc[q][r] += sum over h, w of src[(q*S + h) row][r*S + w] * wei[h][w]
// Order of summation: per element kernel rows, then columns: that of lane_window.
// Registers: 2R sums, two kernel rows of weights, one source; hence for 32 registers only.
// Include one bucket header first.
#pragma once

#include <utility>

#include "plugins/cpu/kernels/conv_dw/lane_tile.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// p.src is the first window element of source row 0, which may lie outside the tensor; rows [row_begin, row_end) of
// the window lie inside. p.wei is kernel row 0.
template <int R, int K, int S>
void lane_rows(const LanePass& p) noexcept {
  constexpr int W = (R - 1) * S + K, Y = S + K;
  V acc[2][R];
  const V bias = loadu(p.bias);
#pragma GCC unroll 2
  for (int q = 0; q < 2; ++q) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) acc[q][r] = bias;
  }
  if (p.residual) {
#pragma GCC unroll 2
    for (int q = 0; q < 2; ++q) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) acc[q][r] = acc[q][r] + loadu(p.residual + q * p.residual_row + r * p.residual_step);
    }
  }
  for (int64_t d = 0; d < p.n_d; ++d) {
    const float* row = p.src + d * p.src_d;
    const float* wei = p.wei + d * p.wei_d;
#pragma GCC unroll 8
    for (int y = 0; y < Y; ++y, row += p.src_h) {
      if (y < p.row_begin || y >= p.row_end) continue;
      const int q0 = y < K ? 0 : 1, q1 = y >= S ? 2 : 1;
      V weight[2][K];
#pragma GCC unroll 2
      for (int q = q0; q < q1; ++q) {
#pragma GCC unroll 8
        for (int w = 0; w < K; ++w) weight[q][w] = loadu(wei + ((y - q * S) * K + w) * kBlock);
      }
      const float* s = row;
#pragma GCC unroll 64
      for (int e = 0; e < W; ++e, s += p.src_step) {
        const float* at = s;
        if (e < K - 1 || e > W - K) at = e >= p.inside_begin && e < p.inside_end ? s : kZeroBlock;
        const V x = in_register(loadu(at));
#pragma GCC unroll 2
        for (int q = q0; q < q1; ++q) {
#pragma GCC unroll 8
          for (int w = 0; w < K; ++w) {
            const int r = (e - w) / S;
            if (e >= w && (e - w) % S == 0 && r < R) acc[q][r] = fma(x, weight[q][w], acc[q][r]);
          }
        }
      }
    }
  }
  float* out = p.out;
  const int64_t step = p.out_step;
#pragma GCC unroll 2
  for (int q = 0; q < 2; ++q, out += p.out_row) lane_store<R>(p, acc[q], out, step);
}

constexpr bool kTwoRows = kRegisters == 32;
constexpr int kMaxRowsPositions3 = 12, kMaxRowsPositions5 = 10;

struct LaneRowsTable {
  LaneFn fn[kMaxRowsPositions3];
};

template <int K, int S, int... R>
constexpr LaneRowsTable lane_rows_table(std::integer_sequence<int, R...>) {
  if constexpr (kTwoRows) {
    return {{&lane_rows<R + 1, K, S>...}};
  } else {
    return {};
  }
}

// [stride - 1]
constexpr LaneRowsTable kRows3[2] = {lane_rows_table<3, 1>(std::make_integer_sequence<int, kMaxRowsPositions3>{}),
                                     lane_rows_table<3, 2>(std::make_integer_sequence<int, kMaxRowsPositions3>{})};
constexpr LaneRowsTable kRows5[2] = {lane_rows_table<5, 1>(std::make_integer_sequence<int, kMaxRowsPositions5>{}),
                                     lane_rows_table<5, 2>(std::make_integer_sequence<int, kMaxRowsPositions5>{})};

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
