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

#include <utility>

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/simd/broadcasts.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr int max_tile(int blocks) { return max_tile_positions(kRegisters, kFused, blocks * kVectorsPerBlock); }

// One source index of positions [First, Last) of each row; `below`: the second one's.
template <int H, int R, int B, int First, int Last, bool Pinned>
TERROIR_INLINE void tile_step(const float* s, const float* below, const float* k, int64_t step,
                              V (&acc)[H * R][B * kVectorsPerBlock]) {
  constexpr int NV = B * kVectorsPerBlock;
  V weight[NV];
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) weight[v] = loadu(k + v * kLanes);
#pragma GCC unroll 32
  for (int r = 0; r < H * R; ++r) {
    if (r % R < First || r % R >= Last) continue;
    const float* const source = (r < R ? s : below) + (r % R) * step;
    if (Pinned && (NV == 1 || r < rows_broadcast_by_products(kLanes, H * R, NV))) {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) add_product(acc[r][v], source, weight[v]);
      continue;
    }
    const V x = broadcast(source);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      if constexpr (Pinned) {
        add_product(acc[r][v], x, weight[v]);
      } else {
        acc[r][v] = fma(x, weight[v], acc[r][v]);
      }
    }
  }
}

// Hides that neighbouring positions of a plain row share sources from one trip to the next: compilers keep those in
// registers that the accumulators need.
TERROIR_INLINE const float* hidden(const float* p) {
  __asm__("" : "+r"(p));
  return p;
}

// All source indices of one tap.
template <int H, int R, int B, int First, int Last, int Unroll>
TERROIR_INLINE void tile_tap(const TilePass& p, const float* s, const float* k, int64_t n, int64_t step,
                             V (&acc)[H * R][B * kVectorsPerBlock]) {
  constexpr int64_t stride = B * kBlock;
  const float* below = s;
  if constexpr (H > 1) {
    below += p.src_row;
    __asm__("" : "+r"(below));  // else compilers keep an address for every position of the second row
  }
  // Of eight lanes only the usual trip count, known: the others would take as much code again.
  if (Unroll > 1 && (kLanes == 8 ? n == kBlock : n % Unroll == 0)) {
    // The source and weight addresses are displacements.
    for (int64_t i = kLanes == 8 ? kBlock : n; i > 0; i -= Unroll, s += Unroll, below += Unroll, k += Unroll * stride) {
#pragma GCC unroll 16
      for (int u = 0; u < Unroll; ++u)
        tile_step<H, R, B, First, Last, true>(s + u, below + u, k + u * stride, step, acc);
    }
    return;
  }
  for (int64_t i = n; i > 0; --i, ++s, ++below, k += stride) {
    s = hidden(s);
    tile_step<H, R, B, First, Last, B == 1 && kLanes == 16>(s, below, k, step, acc);
  }
}

// `Soon`: the kernel is one of those that look at prefetch_soon.
template <bool Soon = false>
TERROIR_INLINE const float* fetch_ahead(const TilePass& pass, const float* p) {
  if (Soon && pass.prefetch_soon) {
    for (int64_t lines = pass.prefetch_lines; lines > 0; --lines, p += 16) __builtin_prefetch(p, 0, 3);
  } else {
    for (int64_t lines = pass.prefetch_lines; lines > 0; --lines, p += 16) __builtin_prefetch(p, 0, 2);
  }
  return p == pass.prefetch_end ? pass.ahead : p;
}

// To L1, what is read after the block of channels at `s`: the next block, behind the last one the first block of the
// next tile. It lies where prefetchers do not go, often in the cache of another core. Two blocks ahead were no better.
template <int R>
TERROIR_INLINE void fetch_next_sources(const TilePass& p, const float* tile, const float* s, int64_t more_tiles,
                                       int64_t step) {
  const bool last = s == tile + (p.n.w - 1) * p.src_stride.w;
  if (last && more_tiles == 0) return;
  const float* const next = last ? tile + p.tile_src : s + p.src_stride.w;
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) __builtin_prefetch(next + r * step);
}

// What a tile of one row reads of a block of channels, to `to`. These sources are read for the first time, much of them
// from beyond L2: meanwhile come to L2 those of the next row.
template <int R>
TERROIR_INLINE void gather_sources(const TilePass& p, const float* s, int64_t step, float* to) {
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) {
    __builtin_prefetch(s + p.src_row + r * step, 0, 2);
#pragma GCC unroll 8
    for (int v = 0; v < kVectorsPerBlock; ++v) storeu(to + r * kBlock + v * kLanes, loadu(s + r * step + v * kLanes));
  }
}

// The bias and the residual of H rows of R positions, `to` floats behind those of `p`.
template <int H, int R, int B>
TERROIR_INLINE void begin_sums(const TilePass& p, const float* bias_from, int64_t to,
                               V (&acc)[H * R][B * kVectorsPerBlock]) {
  constexpr int NV = B * kVectorsPerBlock;
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) {
    const V bias = loadu(bias_from + v * kLanes);
#pragma GCC unroll 32
    for (int r = 0; r < H * R; ++r) acc[r][v] = bias;
  }
  if (!p.residual) return;
#pragma GCC unroll 32
  for (int r = 0; r < H * R; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v)
      acc[r][v] = acc[r][v] + loadu(p.residual + to + (r / R) * p.residual_row + (r % R) * p.residual_step +
                                    (v / kVectorsPerBlock) * p.residual_block + (v % kVectorsPerBlock) * kLanes);
}

// `Cut`: the last block may have fewer channels than lanes, with those of another group or position behind them.
template <int H, int R, int B, bool Cut = false>
TERROIR_INLINE void store_sums(const TilePass& p, int64_t to, V (&acc)[H * R][B * kVectorsPerBlock]) {
  constexpr int NV = B * kVectorsPerBlock;
  if (p.clamp) {
    const V lo(p.low), hi(p.high);
#pragma GCC unroll 32
    for (int r = 0; r < H * R; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[r][v] = min(hi, max(lo, acc[r][v]));
  }
  // Copies: stores of vectors might change fields of `p`, for all that the compiler knows.
  const int64_t out_step = p.out_step, out_row = p.out_row, out_block = p.out_block;
  const bool cut = Cut && p.channels_in_last < kBlock;
  const Tail last = tail(cut ? p.channels_in_last : 0);
  float* block = p.out + to;
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b, block += out_block) {
    float* row = block;
#pragma GCC unroll 2
    for (int h = 0; h < H; ++h, row += out_row) {
      float* out = row;
      if (cut && b == B - 1) {
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r, out += out_step) store_tail(out, acc[h * R + r][b], last);
        continue;
      }
#pragma GCC unroll 32
      for (int r = 0; r < R; ++r, out += out_step)
#pragma GCC unroll 8
        for (int v = 0; v < kVectorsPerBlock; ++v) storeu(out + v * kLanes, acc[h * R + r][b * kVectorsPerBlock + v]);
    }
  }
}

// To L1, what tiles of a plain row read two kernel rows further down: what the rows of the next output row bring along.
// Of one block of outputs every source serves one vector, and one that comes from L2 or behind it holds up the rest.
template <int R, int Step>
TERROIR_INLINE void fetch_rows_below(const TilePass& p, const float* s) {
  constexpr int kLine = 16;
  const float* const below = s + 2 * p.src_stride.h;
#pragma GCC unroll 8
  for (int c = 0; c <= R * Step; c += kLine) __builtin_prefetch(below + c);
}

// Makes room in L1 for sums of the next tile, to `end`, of two positions at a time: results of first layers are large,
// and few products lie between the stores of one tile and those of the next.
TERROIR_INLINE void fetch_outputs(const float*& out, const float* end, int64_t block) {
  if (out >= end) return;
#pragma GCC unroll 2
  for (int r = 0; r < 2; ++r, out += kBlock) {
    __builtin_prefetch(out, 1);
    __builtin_prefetch(out + block, 1);
  }
}

// Of eight lanes, the tile that most of a row of a first layer is cut into has code for its usual kernel: what happens
// between two rows of three taps takes a quarter of the time.
template <int H, int R, int B>
constexpr bool kHasThreeByThree = kLanes == 8 && H == 1 && B == 2 && R == max_tile(B);
template <int H, int R, int B, int Step>
TERROIR_INLINE void add_three_by_three(const TilePass& p, const float* s, const float* k, const float*& prefetch,
                                       V (&acc)[H * R][B * kVectorsPerBlock]) {
#pragma GCC unroll 3
  for (int h = 0; h < 3; ++h, s += p.src_stride.h, k += p.wei_stride.h) {
    prefetch = fetch_ahead(p, prefetch);
#pragma GCC unroll 3
    for (int w = 0; w < 3; ++w) {
      const float* const at = hidden(s + w);
      tile_step<H, R, B, 0, R, true>(at, at, k + w * B * kBlock, Step, acc);
    }
  }
}

// The sums over all taps. One loop over kernel rows in the place of three: with few taps to a row the bookkeeping
// shows. `next_out`: where the next tile lies.
template <int H, int R, int B, int Step>
TERROIR_INLINE void add_plain_rows(const TilePass& p, const float* s, const float* next_out, const float*& prefetch,
                                   V (&acc)[H * R][B * kVectorsPerBlock]) {
  const float* k = p.wei;
  // Rows are cut into tiles as long as these.
  constexpr bool kFetchesOutputs = kLanes == 16 && B == 2 && Step == 1 && R >= 12;
  const float* const outputs_end = next_out + R * kBlock;
  if constexpr (kHasThreeByThree<H, R, B>) {
    if (p.n_i == 3 && p.n.h == 3 && p.n.d == 1) {
      for (int64_t a = p.n.a; a > 0; --a, s += p.src_stride.a, k += p.wei_stride.a)
        add_three_by_three<H, R, B, Step>(p, s, k, prefetch, acc);
      return;
    }
  }
  int64_t h = p.n.h, d = p.n.d;
  for (int64_t rows = p.n.a * d * h; rows > 0; --rows) {
    prefetch = fetch_ahead(p, prefetch);
    if constexpr (kFetchesOutputs) fetch_outputs(next_out, outputs_end, p.out_block);
    if constexpr (B == 1 && Step == 2 && kLanes == 16) fetch_rows_below<R, Step>(p, s);
    tile_tap<H, R, B, 0, R, 1>(p, s, k, p.n_i, Step, acc);
    s += p.src_stride.h;
    k += p.wei_stride.h;
    if (--h > 0) continue;
    h = p.n.h;
    s += p.src_stride.d - h * p.src_stride.h;
    k += p.wei_stride.d - h * p.wei_stride.h;
    if (--d > 0) continue;
    d = p.n.d;
    s += p.src_stride.a - d * p.src_stride.d;
    k += p.wei_stride.a - d * p.wei_stride.d;
  }
}

// Calls column(source, weights, trips, kind) for every kernel column of every kernel row; of edge kernels the first and
// the last column are kinds of their own.
enum class Column { first_short, whole, last_short };
template <bool Edge, typename F>
TERROIR_INLINE void for_each_column(const TilePass& p, const float* src, const float* wei, const F& column) {
  const float* src_a = src;
  const float* wei_a = wei;
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
        if (Edge && p.first_tap_short) {
          column.template operator()<Column::first_short>(src_w, wei_w, n_i);
          src_w += p.src_stride.w;
          wei_w += p.wei_stride.w;
        }
        for (int64_t w = p.n.w; w > 0; --w, src_w += p.src_stride.w, wei_w += p.wei_stride.w)
          column.template operator()<Column::whole>(src_w, wei_w, n_i);
        if (Edge && p.last_tap_short) column.template operator()<Column::last_short>(src_w, wei_w, n_i);
      }
    }
  }
}

// Whether kernels of any step store blocks that are cut.
constexpr bool kCutsBlocks = kLanes == 16;

// Which kernels go from one tile to the next by themselves: those of many tiles in a row, and large ones of one block,
// which may be whole rows of a small image.
constexpr bool repeats_tiles(int64_t rows, int64_t columns, int64_t blocks, bool edge) {
  constexpr int64_t kLarge = 14;
  return edge ? kLanes == 16 && blocks == 1 && rows * columns >= kLarge : rows == 1;
}

template <int H, int R, int B, int Step, bool Edge>
void tile_pass(const TilePass& p) noexcept {
  constexpr int kUnroll = Step < kBlock ? 1 : kLanes == 8 ? 4 : kLanes == 16 && !Edge ? 2 : 1;
  constexpr bool kPointwise = Step >= kBlock && H == 1 && !Edge, kRepeats = repeats_tiles(H, R, B, Edge);
  constexpr bool kFetchesSoon = kRepeats && Edge, kGathers = kPointwise && gathers_sources(kLanes, Step / kBlock);
  const int64_t step = Step == 0 ? p.src_step : Step;
  V acc[H * R][B * kVectorsPerBlock];
  const float *src = p.src, *prefetch = p.prefetch;
  int64_t to = 0;
  for (int64_t more = p.more_tiles;; --more) {
    [[maybe_unused]] float* gathered = nullptr;
    if (kGathers && p.gathered) gathered = p.gathered + (p.more_tiles - more) * R * kBlock;
    begin_sums<H, R, B>(p, p.bias, to, acc);
    if constexpr (Step > 0 && Step < kBlock) {
      add_plain_rows<H, R, B, Step>(p, src, p.out + to + p.tile_out, prefetch, acc);
    } else {
      for_each_column<Edge>(
          p, src, p.wei, [&]<Column Kind>(const float* s, const float* k, int64_t n) TERROIR_INLINE_LAMBDA {
            constexpr int kFirst = Kind == Column::first_short ? 1 : 0, kLast = Kind == Column::last_short ? R - 1 : R;
            // Of eight lanes more is no faster, and half as much code again.
            constexpr int kUnrollHere = kLanes == 8 && Kind != Column::whole ? 1 : kUnroll;
            prefetch = fetch_ahead<kFetchesSoon>(p, prefetch);
            if (kPointwise && p.fetch_sources) fetch_next_sources<R>(p, src, s, more, step);
            if (kGathers && gathered) {
              gather_sources<R>(p, s, step, gathered);
              gathered += p.gathered_block;
            }
            tile_tap<H, R, B, kFirst, kLast, kUnrollHere>(p, s, k, n, step, acc);
          });
    }
    store_sums<H, R, B, Step == 0 && kCutsBlocks>(p, to, acc);
    if (!kRepeats || more == 0) break;
    src += p.tile_src;
    to += p.tile_out;
  }
}

// Where the image has one position only. One sum per vector would wait for itself with every addition: each of several
// takes every kSums-th source index of a column. Further tiles are further units of output channels.
template <int B>
void point_pass(const TilePass& p) noexcept {
  constexpr int NV = B * kVectorsPerBlock, kSums = NV * 8 > kRegisters ? 2 : 4;
  constexpr int64_t stride = B * kBlock;
  V acc[kSums][1][NV];
  const float *prefetch = p.prefetch, *bias = p.bias, *wei = p.wei;
  int64_t to = 0;
  for (int64_t more = p.more_tiles;; --more) {
    begin_sums<1, 1, B>(p, bias, to, acc[0]);
#pragma GCC unroll 4
    for (int u = 1; u < kSums; ++u)
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[u][0][v] = zero();
    for_each_column<false>(p, p.src, wei, [&]<Column>(const float* s, const float* k, int64_t n) TERROIR_INLINE_LAMBDA {
      prefetch = fetch_ahead(p, prefetch);
      int64_t i = n;
      for (; i >= kSums; i -= kSums, s += kSums, k += kSums * stride) {
#pragma GCC unroll 4
        for (int u = 0; u < kSums; ++u) {
          const V x = broadcast(s + u);
#pragma GCC unroll 8
          for (int v = 0; v < NV; ++v) acc[u][0][v] = fma(x, loadu(k + u * stride + v * kLanes), acc[u][0][v]);
        }
      }
      for (; i > 0; --i, ++s, k += stride) {
        const V x = broadcast(s);
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) acc[0][0][v] = fma(x, loadu(k + v * kLanes), acc[0][0][v]);
      }
    });
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      if constexpr (kSums == 4) acc[2][0][v] = acc[2][0][v] + acc[3][0][v];
      acc[0][0][v] = acc[0][0][v] + acc[1][0][v];
      if constexpr (kSums == 4) acc[0][0][v] = acc[0][0][v] + acc[2][0][v];
    }
    store_sums<1, 1, B>(p, to, acc[0]);
    if (more == 0) break;  // then the distances to a next tile may not be there
    bias += stride;
    wei += p.tile_wei;
    to += p.tile_out;
  }
}

using PassFn = void (*)(const TilePass&) noexcept;

constexpr int kMaxPositions = max_tile(1);
constexpr int kMaxBlocks = 4;
alignas(64) constexpr float kNoBias[kMaxBlocks * kBlock] = {};

struct PassRow {
  PassFn fn[kMaxPositions];
};

template <int H, int R, int B, int Step, bool Edge>
constexpr PassFn pass_entry() {
  constexpr bool kPlainRow = Step > 0 && Step < kBlock;
  constexpr bool kWide = H == 2 && R == kTwoRowColumns && B == 1 && Step == 2 * kBlock;
  constexpr bool kLong = Step == kBlock || (kPlainRow && B == 1) || kWide;
  // One position has no step: one kernel for all that store alike.
  constexpr int kStep = R == 1 && !kPlainRow && !(Step == 0 && kCutsBlocks) ? kBlock : Step;
  // A tap that the first or the last of several positions misses; of a single one it is no tap.
  constexpr bool kAnyEdge = !Edge || R > 1;
  if constexpr (H * R <= max_tile(B) && (kLong || H * R <= kMaxAnyStepPositions) && kAnyEdge) {
    return &tile_pass<H, R, B, kStep, Edge>;
  } else {
    return nullptr;
  }
}

template <int H, int B, int Step, bool Edge, int... R>
constexpr PassRow pass_row(std::integer_sequence<int, R...>) {
  return {{pass_entry<H, R + 1, B, Step, Edge>()...}};
}

template <int H, int B, int Step, bool Edge = false>
constexpr PassRow kPassRow = pass_row<H, B, Step, Edge>(std::make_integer_sequence<int, kMaxPositions>{});

struct PassTable {
  PassRow row[2][kMaxBlocks];
};

// Steps with kernels of their own: the next position of a block of channels, or of every second one; likewise of a
// plain row. Anything else takes the step at run time, which costs address registers. plan_dense.cpp knows what is
// there. Two-row tiles serve narrow blocked tensors, where a one-row tile would stream the weights too often.
constexpr PassTable kPassBlock = {
    {{kPassRow<1, 1, kBlock>, kPassRow<1, 2, kBlock>, kPassRow<1, 3, kBlock>, kPassRow<1, 4, kBlock>},
     {kPassRow<2, 1, kBlock>, kPassRow<2, 2, kBlock>, {}, {}}}};
constexpr PassTable kPassBlock2 = {
    {{kPassRow<1, 1, 2 * kBlock>, kPassRow<1, 2, 2 * kBlock>, kPassRow<1, 3, 2 * kBlock>, kPassRow<1, 4, 2 * kBlock>},
     {kPassRow<2, 1, 2 * kBlock>, kPassRow<2, 2, 2 * kBlock>, {}, {}}}};
constexpr PassRow any_step_units_of_three() {
  if constexpr (has_any_step_units_of_three(kLanes)) {
    return kPassRow<1, 3, 0>;
  } else {
    return {};
  }
}
constexpr PassTable kPassAnyStep = {{{kPassRow<1, 1, 0>, kPassRow<1, 2, 0>, any_step_units_of_three(), {}}, {}}};
constexpr PassTable kPassColumn = {{{kPassRow<1, 1, 1>, kPassRow<1, 2, 1>, {}, {}}, {}}};
constexpr PassTable kPassColumn2 = {{{kPassRow<1, 1, 2>, kPassRow<1, 2, 2>, {}, {}}, {}}};
constexpr PassTable kPassBlockEdge = {
    {{kPassRow<1, 1, kBlock, true>, kPassRow<1, 2, kBlock, true>, kPassRow<1, 3, kBlock, true>, {}},
     {kPassRow<2, 1, kBlock, true>, kPassRow<2, 2, kBlock, true>, {}, {}}}};
constexpr PassTable kPassBlock2Edge = {{{kPassRow<1, 1, 2 * kBlock, true>, kPassRow<1, 2, 2 * kBlock, true>,
                                         kPassRow<1, 3, 2 * kBlock, true>, kPassRow<1, 4, 2 * kBlock, true>},
                                        {kPassRow<2, 1, 2 * kBlock, true>, kPassRow<2, 2, 2 * kBlock, true>, {}, {}}}};

constexpr PassTable kPassPoint = {
    {{{{&point_pass<1>}}, {{&point_pass<2>}}, {{&point_pass<3>}}, {{&point_pass<4>}}}, {}}};

// `plain_row`: the innermost loop runs over the columns of a plain source.
const PassTable& passes_for_step(int64_t step, bool plain_row) {
  if (plain_row) return step == 1 ? kPassColumn : step == 2 ? kPassColumn2 : kPassAnyStep;
  return step == kBlock ? kPassBlock : step == 2 * kBlock ? kPassBlock2 : kPassAnyStep;
}

const PassTable* edge_passes_for_step(int64_t step) {
  return step == kBlock ? &kPassBlockEdge : step == 2 * kBlock ? &kPassBlock2Edge : nullptr;
}

}  // namespace

}  // namespace terroir::cpu::TERROIR_ISA
