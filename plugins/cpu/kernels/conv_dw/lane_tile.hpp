// What: register tiles for convolutions whose lanes do not mix: depthwise (a lane sees its own channel), and groups
// that lie inside one block of channels (a lane sees the few channels of its group, brought to it by a permutation), or
// anywhere (brought by a gather, slowly).
// Formula: acc[r][l] += sum over d, h, i, w of src[r*stride + w][index[i][l]] * wei[d][h][i][w][l]
// Layouts: one vector of channels per position; positions src_step apart, kernel columns and inputs adjacent in wei.
// Cost: lane_window reads each source vector once per kernel row, lane_pass once per tap.
// Include one bucket header first.
#pragma once

#include <utility>

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv_dw/lane_types.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Where the sources of a vector come from: the same lanes, those of them that exist, other lanes of the same block, or
// anywhere.
enum class Lanes { own, own_tail, block, anywhere };

// Without permutations those of the same block are read one by one, as from anywhere.
constexpr Lanes kPermuted = kLanes >= 8 ? Lanes::block : Lanes::anywhere;

constexpr bool is_own(Lanes from) { return from == Lanes::own || from == Lanes::own_tail; }

// What fetch() needs besides the address.
struct LaneSource {
  VI index;
  Tail tail;
};

template <Lanes From>
TERROIR_INLINE V fetch(const float* p, const LaneSource& source) {
  if constexpr (From == Lanes::own) {
    return loadu(p);
  } else if constexpr (From == Lanes::own_tail) {
    return load_tail(p, source.tail);
  } else if constexpr (From == Lanes::block) {
    return take(p, source.index);
  } else {
    return gather(p, source.index);
  }
}

template <int R>
TERROIR_INLINE void lane_begin(const LanePass& p, V (&acc)[R]) {
  if (p.load) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) acc[r] = loadu(p.out + r * p.out_step);
    return;
  }
  const V bias = loadu(p.bias);
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) acc[r] = bias;
  if (p.residual) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) acc[r] = acc[r] + loadu(p.residual + r * p.residual_step);
  }
}

// Compilers fold a load into each of the multiplications that use it; three loads for one make the load ports the
// limit.
template <typename T>
TERROIR_INLINE T in_register(T x) {
  if constexpr (kFused) __asm__("" : "+v"(x.data));
  return x;
}

template <int R>
TERROIR_INLINE void lane_clamp(float low, float high, V (&acc)[R]) {
  const V lo(low), hi(high);
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) acc[r] = min(hi, max(lo, acc[r]));
}

template <int R>
TERROIR_INLINE void lane_end(const LanePass& p, V (&acc)[R]) {
  if (p.clamp) lane_clamp<R>(p.low, p.high, acc);
  // Copies: stores of vectors might change fields of `p`, for all that the compiler knows.
  float* out = p.out;
  const int64_t step = p.out_step;
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r, out += step) storeu(out, acc[r]);
}

alignas(64) const float kZeroBlock[16] = {};

// Any kernel; every tap reaches every position but for those that LanePass tells of.
template <int R, int Step, Lanes From>
void lane_pass(const LanePass& p) noexcept {
  constexpr bool kEnds = R > 1 && Step == 0 && From == Lanes::own;
  const int64_t first_seen = p.n_w - p.first_misses, last_misses = p.last_misses;  // of trips that are left
  const int64_t step = Step == 0 ? p.src_step : Step;
  V acc[R];
  lane_begin<R>(p, acc);
  LaneSource source{VI(0), tail(From == Lanes::own_tail && p.tail < kLanes ? p.tail : kLanes)};
  for (int64_t d = 0; d < p.n_d; ++d) {
    for (int64_t h = 0; h < p.n_h; ++h) {
      const float* src = p.src + d * p.src_d + h * p.src_h;
      for (int64_t i = 0; i < (is_own(From) ? 1 : p.n_i); ++i) {
        const float* s = src;
        const float* k = p.wei + d * p.wei_d + h * p.wei_h + i * p.wei_i;
        if constexpr (!is_own(From)) source.index = load_int(p.index + i * kBlock);
        for (int64_t w = p.n_w; w > 0; --w, s += p.src_w, k += p.wei_w) {
          const V weight = loadu(k);
          const float* at = s;
#pragma GCC unroll 32
          for (int r = 0; r < R; ++r) {
            constexpr int kPerAddress = 3;  // an index scaled by 1 or 2 reaches the others
            if (Step == 0 && r > 0 && r % kPerAddress == 0) {
              at += kPerAddress * step;
              // Else compilers compute all addresses beforehand, and find no registers for them.
              __asm__("" : "+r"(at));
            }
            const float* from = Step == 0 ? at + r % kPerAddress * step : s + r * step;
            if (kEnds && r == 0 && w > first_seen) from = kZeroBlock;
            if (kEnds && r == R - 1 && w <= last_misses) from = kZeroBlock;
            acc[r] = fma(fetch<From>(from, source), weight, acc[r]);
          }
        }
      }
    }
  }
  lane_end<R>(p, acc);
}

// K kernel columns, dense; stride S. The window of source vectors slides over the tile once per kernel row and input;
// its first and last K-1 elements may lie outside the tensor.
template <int R, int K, int S, Lanes From>
void lane_window(const LanePass& p) noexcept {
  constexpr int W = (R - 1) * S + K;
  V acc[R];
  lane_begin<R>(p, acc);
  LaneSource source{VI(0), tail(From == Lanes::own_tail && p.tail < kLanes ? p.tail : kLanes)};
  for (int64_t d = 0; d < p.n_d; ++d) {
    for (int64_t h = 0; h < p.n_h; ++h) {
      const float* src = p.src + d * p.src_d + h * p.src_h;
      for (int64_t i = 0; i < (is_own(From) ? 1 : p.n_i); ++i) {
        const float* k = p.wei + d * p.wei_d + h * p.wei_h + i * p.wei_i;
        if constexpr (!is_own(From)) source.index = load_int(p.index + i * kBlock);
        V weight[K];
#pragma GCC unroll 8
        for (int w = 0; w < K; ++w) weight[w] = loadu(k + w * kBlock);
        const float* s = src;
#pragma GCC unroll 64
        for (int e = 0; e < W; ++e, s += p.src_step) {
          const float* at = s;
          if (e < K - 1 || e > W - K) at = e >= p.inside_begin && e < p.inside_end ? s : kZeroBlock;
          const V x = in_register(fetch<From>(at, source));
#pragma GCC unroll 8
          for (int w = 0; w < K; ++w) {
            const int r = (e - w) / S;
            if (e >= w && (e - w) % S == 0 && r < R) acc[r] = fma(x, weight[w], acc[r]);
          }
        }
      }
    }
  }
  lane_end<R>(p, acc);
}

using LaneFn = void (*)(const LanePass&) noexcept;

constexpr int kMaxPassPositions = kRegisters == 32 ? 28 : kRegisters == 16 ? 12 : 4;
constexpr int kMaxWindowPositions = kRegisters == 32 ? 14 : kRegisters == 16 ? 8 : 4;

struct LanePassTable {
  LaneFn fn[kMaxPassPositions];
};
struct LaneWindowTable {
  LaneFn fn[kMaxWindowPositions];
};

template <int Step, Lanes From, int... R>
constexpr LanePassTable lane_pass_table(std::integer_sequence<int, R...>) {
  return {{&lane_pass<R + 1, Step, From>...}};
}
// One position has no stride.
constexpr int stride_of(int positions, int stride) { return positions == 1 ? 1 : stride; }
template <int K, int S, Lanes From, int... R>
constexpr LaneWindowTable lane_window_table(std::integer_sequence<int, R...>) {
  return {{&lane_window<R + 1, K, stride_of(R + 1, S), From>...}};
}

using PassSizes = std::make_integer_sequence<int, kMaxPassPositions>;
using WindowSizes = std::make_integer_sequence<int, kMaxWindowPositions>;

constexpr LanePassTable kLaneBlock = lane_pass_table<kBlock, Lanes::own>(PassSizes{});
constexpr LanePassTable kLaneAnyStep = lane_pass_table<0, Lanes::own>(WindowSizes{});
constexpr LanePassTable kLaneTail = lane_pass_table<0, Lanes::own_tail>(WindowSizes{});
constexpr LanePassTable kLanePermuted = lane_pass_table<0, kPermuted>(WindowSizes{});
// A gather takes so long that more positions to one set of weights change nothing.
constexpr int kMaxGatheredPositions = 4;
constexpr LanePassTable kLaneGathered =
    lane_pass_table<0, Lanes::anywhere>(std::make_integer_sequence<int, kMaxGatheredPositions>{});

#ifdef TERROIR_LANES_WITHOUT_WINDOWS
constexpr bool kHasWindows = false;
#else
constexpr bool kHasWindows = true;
#endif
// [stride - 1]
constexpr LaneWindowTable kWindow3[2] = {lane_window_table<3, 1, Lanes::own>(WindowSizes{}),
                                         lane_window_table<3, 2, Lanes::own>(WindowSizes{})};
constexpr LaneWindowTable kWindow5[2] = {lane_window_table<5, 1, Lanes::own>(WindowSizes{}),
                                         lane_window_table<5, 2, Lanes::own>(WindowSizes{})};
constexpr LaneWindowTable kWindow3Permuted[2] = {lane_window_table<3, 1, kPermuted>(WindowSizes{}),
                                                 lane_window_table<3, 2, kPermuted>(WindowSizes{})};

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
