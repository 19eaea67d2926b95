// What: register tiles for convolutions whose lanes do not mix: depthwise (a lane sees its own channel), and groups
// that lie inside one block of channels (a lane sees the few channels of its group, brought to it by a permutation), or
// anywhere (brought by a gather, slowly).
// Formula: acc[r][l] += sum over d, h, i, w of src[r*stride + w][index[i][l]] * wei[d][h][i][w][l]
// Layouts: one vector of channels per position; positions src_step apart, kernel columns and inputs adjacent in wei.
// Cost: lane_window reads each source vector once per kernel row, the others once per tap.
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

// `offset`: of the tile in dst.
template <int R>
TERROIR_INLINE void lane_begin(const LanePass& p, V (&acc)[R], int64_t offset = 0) {
  if (p.load) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) acc[r] = loadu(p.out + offset + r * p.out_step);
    return;
  }
  const V bias = loadu(p.bias);
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) acc[r] = bias;
  if (p.residual) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) acc[r] = acc[r] + loadu(p.residual + offset + r * p.residual_step);
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
TERROIR_INLINE void lane_end(const LanePass& p, V (&acc)[R], int64_t offset = 0) {
  if (p.clamp) lane_clamp<R>(p.low, p.high, acc);
  // Copies: stores of vectors might change fields of `p`, for all that the compiler knows.
  float* out = p.out + offset;
  const int64_t step = p.out_step;
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r, out += step) storeu(out, acc[r]);
}

alignas(64) const float kZeroBlock[16] = {};

constexpr int kPerAddress = 3;  // an index scaled by 1 or 2 reaches the others

// One tap of the positions that `reach` tells of.
template <int R, int Step>
TERROIR_INLINE void lane_some_positions(const float* s, int64_t any_step, V weight, int reach, V (&acc)[R]) {
  const int64_t step = Step == 0 ? any_step : Step;
  // Else compilers compute all addresses beforehand, and find no registers for them.
  const float* at[(kMaxReach + 2) / kPerAddress];
  if constexpr (Step == 0) {
    at[0] = s;
#pragma GCC unroll 8
    for (int i = 1; i * kPerAddress < R; ++i) {
      at[i] = at[i - 1] + kPerAddress * step;
      __asm__("" : "+r"(at[i]));
    }
  }
#define TERROIR_LANE(r)                                                                                \
  if constexpr (r < R) {                                                                               \
    const float* const from = Step == 0 ? at[r / kPerAddress] + r % kPerAddress * step : s + r * step; \
    acc[r] = fma(loadu(from), weight, acc[r]);                                                         \
  }
#define TERROIR_LANE_FROM(r) \
  [[fallthrough]];           \
  case r:                    \
    TERROIR_LANE(r)
#define TERROIR_LANE_DOWN_FROM(r) \
  [[fallthrough]];                \
  case kReachesFirst + r + 1:     \
    TERROIR_LANE(r)
  switch (reach) {
    // clang-format off
    case 0:
      TERROIR_LANE(0)
      TERROIR_LANE_FROM(1) TERROIR_LANE_FROM(2) TERROIR_LANE_FROM(3) TERROIR_LANE_FROM(4) TERROIR_LANE_FROM(5)
      TERROIR_LANE_FROM(6) TERROIR_LANE_FROM(7) TERROIR_LANE_FROM(8) TERROIR_LANE_FROM(9) TERROIR_LANE_FROM(10)
      TERROIR_LANE_FROM(11) TERROIR_LANE_FROM(12) TERROIR_LANE_FROM(13)
      break;
    case kReachesFirst + 13:
      TERROIR_LANE(12)
      TERROIR_LANE_DOWN_FROM(11) TERROIR_LANE_DOWN_FROM(10) TERROIR_LANE_DOWN_FROM(9) TERROIR_LANE_DOWN_FROM(8)
      TERROIR_LANE_DOWN_FROM(7) TERROIR_LANE_DOWN_FROM(6) TERROIR_LANE_DOWN_FROM(5) TERROIR_LANE_DOWN_FROM(4)
      TERROIR_LANE_DOWN_FROM(3) TERROIR_LANE_DOWN_FROM(2) TERROIR_LANE_DOWN_FROM(1) TERROIR_LANE_DOWN_FROM(0)
      break;
    // clang-format on
    default:
      break;
  }
#undef TERROIR_LANE
#undef TERROIR_LANE_FROM
#undef TERROIR_LANE_DOWN_FROM
}

// All taps of one tile, n_h kernel rows from `src` and `wei` on.
template <int R, int Step, Lanes From>
TERROIR_INLINE void lane_taps(const LanePass& p, const float* src, const float* wei, int64_t n_h, V (&acc)[R]) {
  const int64_t step = Step == 0 ? p.src_step : Step;
  const uint8_t* const reaches = p.reaches;
  LaneSource source{VI(0), tail(From == Lanes::own_tail && p.tail < kLanes ? p.tail : kLanes)};
  for (int64_t d = 0; d < p.n_d; ++d) {
    for (int64_t h = 0; h < n_h; ++h) {
      for (int64_t i = 0; i < (is_own(From) ? 1 : p.n_i); ++i) {
        const float* s = src + d * p.src_d + h * p.src_h;
        const float* k = wei + d * p.wei_d + h * p.wei_h + i * p.wei_i;
        if constexpr (!is_own(From)) source.index = load_int(p.index + i * kBlock);
        // Where multiplications take little time a jump for each tap is felt.
        if (From == Lanes::own && (reaches || !kFused)) {
          for (int64_t w = 0; w < p.n_w; ++w, s += p.src_w, k += p.wei_w)
            lane_some_positions<R, Step>(s, step, loadu(k), reaches ? reaches[w] : 0, acc);
          continue;
        }
        for (int64_t w = p.n_w; w > 0; --w, s += p.src_w, k += p.wei_w) {
          const V weight = loadu(k);
          const float* at = s;
#pragma GCC unroll 32
          for (int r = 0; r < R; ++r) {
            if (Step == 0 && r > 0 && r % kPerAddress == 0) {
              at += kPerAddress * step;
              // Else compilers compute all addresses beforehand, and find no registers for them.
              __asm__("" : "+r"(at));
            }
            const float* from = Step == 0 ? at + r % kPerAddress * step : s + r * step;
            acc[r] = fma(fetch<From>(from, source), weight, acc[r]);
          }
        }
      }
    }
  }
}

// Rows of tiles. Kernel rows that lie outside are left out.
template <int R, int Step>
TERROIR_INLINE void lane_strip(const LanePass& p) noexcept {
  int64_t y = p.y, row = 0;  // where the row begins in `out`
  for (int64_t rows = p.rows; rows > 0; --rows, y += p.step, row += p.out_h) {
    int64_t begin = 0, end = p.n_h;
    while (begin < end && y + begin * p.reach < 0) ++begin;
    while (begin < end && y + (end - 1) * p.reach >= p.in) --end;
    const float* src = p.src + (y + begin * p.reach) * p.row_src;
    const float* const wei = p.wei + begin * p.wei_h;
    int64_t offset = row;
    for (int64_t tiles = p.tiles; tiles > 0; --tiles, src += p.tile_src, offset += p.tile_out) {
      V acc[R];
      lane_begin<R>(p, acc, offset);
      lane_taps<R, Step, Lanes::own>(p, src, wei, end - begin, acc);
      lane_end<R>(p, acc, offset);
    }
  }
}

// Any kernel; every tap reaches every position, but for what `reaches` tells.
template <int R, int Step, Lanes From>
void lane_pass(const LanePass& p) noexcept {
  if constexpr (From == Lanes::own) return lane_strip<R, Step>(p);
  V acc[R];
  lane_begin<R>(p, acc);
  lane_taps<R, Step, From>(p, p.src, p.wei, p.n_h, acc);
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

constexpr int kMaxLanePositions = kRegisters == 32 ? kMaxReach : kRegisters == 16 ? 8 : 4;
// Of neighbouring blocks.
constexpr int kMaxPassPositions = kRegisters == 16 && kFused ? 12 : kMaxLanePositions;

struct LanePassTable {
  LaneFn fn[kMaxPassPositions];
};
struct LaneWindowTable {
  LaneFn fn[kMaxLanePositions];
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

using LaneSizes = std::make_integer_sequence<int, kMaxLanePositions>;

constexpr LanePassTable kLaneAnyStep = lane_pass_table<0, Lanes::own>(LaneSizes{});
// Where a position takes more than one multiplication it has time for addresses.
constexpr LanePassTable kLaneBlock = lane_pass_table < kFused ? kBlock : 0,
                        Lanes::own > (std::make_integer_sequence<int, kMaxPassPositions>{});
constexpr LanePassTable kLaneTail = lane_pass_table<0, Lanes::own_tail>(LaneSizes{});
constexpr LanePassTable kLanePermuted = lane_pass_table<0, kPermuted>(LaneSizes{});
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
constexpr LaneWindowTable kWindow3[2] = {lane_window_table<3, 1, Lanes::own>(LaneSizes{}),
                                         lane_window_table<3, 2, Lanes::own>(LaneSizes{})};
constexpr LaneWindowTable kWindow5[2] = {lane_window_table<5, 1, Lanes::own>(LaneSizes{}),
                                         lane_window_table<5, 2, Lanes::own>(LaneSizes{})};
constexpr LaneWindowTable kWindow3Permuted[2] = {lane_window_table<3, 1, kPermuted>(LaneSizes{}),
                                                 lane_window_table<3, 2, kPermuted>(LaneSizes{})};

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
