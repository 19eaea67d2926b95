// What: register tiles for depthwise kernels over narrow images: two whole rows of positions. Those of one row are too
// few to hide how long an addition takes.
// Formula and order of summation: those of lane_pass, row by row. Kernel rows that reach one of the two rows only are
// summed there alone.
// Include one bucket header first.
#pragma once

#include <utility>

#include "plugins/cpu/kernels/conv_dw/lane_tile.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

template <int First, int R, int N>
TERROIR_INLINE void lane_pair_taps(const LanePass& p, int64_t second, const float* src, const float* wei, int64_t n_h,
                                   V (&acc)[N]) {
  for (; n_h > 0; --n_h, src += p.src_h, wei += p.wei_h) {
    const float* s = src;
    const float* k = wei;
    for (int64_t w = p.n_w; w > 0; --w, s += p.src_w, k += kBlock) {
      const V weight = loadu(k);
#pragma GCC unroll 32
      for (int r = First; r < First + R; ++r) {
        const float* const row = r < N / 2 ? s : s + second;
        acc[r] = fma(loadu(row + r % (N / 2) * kBlock), weight, acc[r]);
      }
    }
  }
}

template <int Columns>
void lane_pair(const LanePass& p, const LanePair& q) noexcept {
  V acc[2 * Columns];
  lane_begin<2 * Columns>(p, acc);
  lane_pair_taps<Columns, Columns>(p, q.second, p.src - q.before * p.src_h, p.wei - q.before * p.wei_h, q.before, acc);
  lane_pair_taps<0, 2 * Columns>(p, q.second, p.src, p.wei, p.n_h, acc);
  lane_pair_taps<0, Columns>(p, q.second, p.src + p.n_h * p.src_h, p.wei + p.n_h * p.wei_h, q.after, acc);
  lane_end<2 * Columns>(p, acc);
}

// Of a vector a block, and registers enough.
constexpr bool kHasLanePairs = kVectorsPerBlock == 1 && kRegisters == 32;
constexpr int kLeastPairColumns = 4, kMostPairColumns = 10;

using LanePairFn = void (*)(const LanePass&, const LanePair&) noexcept;
struct LanePairTable {
  LanePairFn fn[kMostPairColumns - kLeastPairColumns + 1];
};

template <int... C>
constexpr LanePairTable lane_pair_table(std::integer_sequence<int, C...>) {
  if constexpr (kHasLanePairs) {
    return {{&lane_pair<kLeastPairColumns + C>...}};
  } else {
    return {};
  }
}

constexpr LanePairTable kLanePairs =
    lane_pair_table(std::make_integer_sequence<int, kMostPairColumns - kLeastPairColumns + 1>{});

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
