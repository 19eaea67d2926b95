// What: 3x3 convolution of stride 2 over few input channels with 25 products per four outputs and channel, not 36.
// Formula: two outputs of a row read x0..x4. With a = (x0-x2) g0 + x1 g1, b = x2 (g0+g2), c = -(x2-x4) g2 + x3 g1 they
//   are a+b and b+c; likewise for rows of these. It is Winograd's F(2,2) of the taps of even index and F(2,1) of the
//   odd one, at the points zero, one and infinity.
// Work: strips of neighbouring tiles of 2x2 outputs. Sources are transformed in vectors of columns, to where products
//   find them; all units of output channels share them. A sum begins with the one that it shares with its neighbour,
//   so that the output transform is two additions per row of a tile.
// Order of summation: b before a and c, of rows as of columns; in each of these row of taps, channel, column. It
//   depends on nothing but the problem.
// Include one bucket header first; after conv/epilogue.hpp.
#pragma once

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_2x2_types.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

namespace p2 = polyphase_2x2;

// Sources of a strip: for each slot of the rows and each channel the columns, every even one less its second next, and
// behind them x2 of each tile. Vectors of columns, in pairs, and floats of such a row.
constexpr int vectors_of(int64_t tiles) {
  return static_cast<int>((tiles * p2::kTileStep + 2 * kLanes) / (2 * kLanes)) * 2;
}
constexpr int64_t row_of(int vectors) { return vectors * kLanes + (vectors * kLanes / 4 + 15) / 16 * 16; }

// Where a strip lies: tiles [tile, tile + plan.w_tile / kTile) of a row of tiles of one image.
struct Strip2x2 {
  int64_t n, row, tile;
};

template <int Vectors>
void transform_sources(const ConvPlan& plan, const ConvArgs& args, const Strip2x2& at, float* to) {
  constexpr int64_t kRow = row_of(Vectors);
  const ConvProblem& p = plan.exec;
  const int64_t x = at.tile * p2::kTileStep - p.w.pad, y = at.row * p2::kTileStep - p.h.pad;
  Tail inside_row[Vectors];
  for (int v = 0; v < Vectors; ++v) {
    const Range lanes = inside(x + v * kLanes, 1, p.w.in, kLanes);
    inside_row[v] = without(tail(lanes.end), tail(lanes.begin));
  }
  const float* from = args.src + at.n * plan.src.n + y * plan.src.h + x;
  for (int64_t c = 0; c < p.ic; ++c, from += plan.src.c, to += kRow) {
    V d[p2::kSlots][Vectors];
#pragma GCC unroll 8
    for (int64_t r = 0; r < p2::kSlots; ++r) {
      const bool there = y + r >= 0 && y + r < p.h.in;
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        d[r][v] = load_tail(from + r * plan.src.h + v * kLanes, there ? inside_row[v] : tail(0));
    }
    // What the tiles below read beyond these rows.
    for (int64_t r = p2::kSlots; r < p2::kSlots + p2::kTileStep; ++r)
      for (int v = 0; v < Vectors; ++v) __builtin_prefetch(from + r * plan.src.h + v * kLanes);
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      d[0][v] = d[0][v] - d[2][v];
      d[4][v] = d[2][v] - d[4][v];
    }
#pragma GCC unroll 8
    for (int64_t r = 0; r < p2::kSlots; ++r) {
      float* const out = to + r * p.ic * kRow;
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        store(out + v * kLanes, subtract_even(d[r][v], shifted_by_2(d[r][v], v + 1 < Vectors ? d[r][v + 1] : zero())));
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; v += 2) store_third_of_4(out + Vectors * kLanes + v * 4, d[r][v], d[r][v + 1]);
    }
  }
}

// One source index: of each tile one value, `step` apart.
template <int T, int B>
TERROIR_INLINE void add_index(const float* s, int64_t step, const float* k, V (&sum)[T][B]) {
  V weight[B];
#pragma GCC unroll 2
  for (int b = 0; b < B; ++b) weight[b] = loadu(k + b * kBlock);
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t) {
    if constexpr (B == 1) {
      add_product(sum[t][0], s + t * step, weight[0]);
    } else {
      const V x = broadcast(s + t * step);
#pragma GCC unroll 2
      for (int b = 0; b < B; ++b) add_product(sum[t][b], x, weight[b]);
    }
  }
}

struct Outputs2x2 {
  float* at;
  int64_t block, row;
  int64_t tiles[p2::kTile][2];  // to be written, of each row their first and their last outputs
  bool clamp;                   // to [low, high]; NaN passes
  float low, high;
};

using Unit2x2Fn = const float* (*)(const float* sources, int64_t channels, const float* weights, const float* bias,
                                   const Outputs2x2& to);

// T tiles of a row, B blocks of output channels. Gives the weights behind its own.
template <int T, int B>
const float* run_unit_2x2(const float* sources, int64_t channels, const float* weights, const float* bias,
                          const Outputs2x2& to) {
  constexpr int kVectors = vectors_of(T);
  constexpr int64_t kRow = row_of(kVectors);
  alignas(64) float both[2][T][B][kBlock];  // sums that both rows of outputs take
  const V low(to.low), high(to.high);
  for (int g = 0; g < p2::kGroups; ++g) {
    const float* const begin = sources + p2::kFirstSlot[g] * channels * kRow;
    const int64_t count = p2::kGroupSlots[g] * channels;
    V shared[T][B];
#pragma GCC unroll 16
    for (int t = 0; t < T; ++t)
#pragma GCC unroll 2
      for (int b = 0; b < B; ++b) shared[t][b] = g == 0 ? loadu(bias + b * kBlock) : zero();
    const float* s = begin + kVectors * kLanes;
    for (int64_t i = count; i > 0; --i, s += kRow, weights += B * kBlock) add_index(s, 1, weights, shared);
    for (int side = 0; side < 2; ++side) {
      V sum[T][B];
#pragma GCC unroll 16
      for (int t = 0; t < T; ++t)
#pragma GCC unroll 2
        for (int b = 0; b < B; ++b) sum[t][b] = g == 0 ? shared[t][b] : shared[t][b] + load(both[side][t][b]);
      s = begin + 2 * side;
      for (int64_t i = count; i > 0; --i, s += kRow, weights += 2 * B * kBlock) {
        add_index(s, p2::kTileStep, weights, sum);
        add_index(s + 1, p2::kTileStep, weights + B * kBlock, sum);
      }
      if (g == 0) {
#pragma GCC unroll 16
        for (int t = 0; t < T; ++t)
#pragma GCC unroll 2
          for (int b = 0; b < B; ++b) store(both[side][t][b], sum[t][b]);
        continue;
      }
      if (to.clamp) {
#pragma GCC unroll 16
        for (int t = 0; t < T; ++t)
#pragma GCC unroll 2
          for (int b = 0; b < B; ++b) sum[t][b] = min(high, max(low, sum[t][b]));
      }
      // Copies: stores of vectors might change fields of `to`, for all that the compiler knows.
      const int64_t tiles = to.tiles[g - 1][side], block = to.block;
      float* const out = to.at + (g - 1) * to.row + side * kBlock;
#pragma GCC unroll 16
      for (int t = 0; t < T; ++t) {
        if (t >= tiles) break;
#pragma GCC unroll 2
        for (int b = 0; b < B; ++b) storeu(out + b * block + p2::kTile * t * kBlock, sum[t][b]);
      }
    }
  }
  return weights;
}

constexpr int64_t kMaxSources = p2::kSlots * p2::kMaxChannels * row_of(vectors_of(p2::strip_tiles(1)));
constexpr int64_t kMaxCopy = 2 * p2::kTile * p2::strip_tiles(2) * p2::kTile * kBlock;
static_assert(p2::strip_tiles(1) == 2 * p2::strip_tiles(2));

void run_strip_2x2(const ConvPlan& plan, const ConvArgs& args, const Epilogue& e, const Strip2x2& at, float* sources) {
  const ConvProblem& p = plan.exec;
  const int64_t blocks = (p.oc + kBlock - 1) / kBlock, unit = p2::unit_blocks(blocks);
  const Unit2x2Fn run_unit = unit == 2 ? &run_unit_2x2<p2::strip_tiles(2), 2> : &run_unit_2x2<p2::strip_tiles(1), 1>;
  if (unit == 2)
    transform_sources<vectors_of(p2::strip_tiles(2))>(plan, args, at, sources);
  else
    transform_sources<vectors_of(p2::strip_tiles(1))>(plan, args, at, sources);
  alignas(64) float copy[kMaxCopy];
  const int64_t h = at.row * p2::kTile, w = at.tile * p2::kTile;
  const int64_t height = p.h.out - h < p2::kTile ? 1 : p2::kTile;
  const int64_t width = p.w.out - w < plan.w_tile ? p.w.out - w : plan.w_tile;
  const float* weights = args.packed + blocks * kBlock;
  Outputs2x2 out{nullptr, plan.dst.c, plan.dst.h, {{(width + 1) / 2, width / 2}, {0, 0}}, e.clamp, e.low, e.high};
  for (int64_t side = 0; height > 1 && side < 2; ++side) out.tiles[1][side] = out.tiles[0][side];
  for (int64_t first = 0; first < blocks; first += unit) {
    const int64_t offset = at.n * plan.dst.n + first * plan.dst.c + h * plan.dst.h + w * kBlock;
    out.at = args.dst + offset;
    if (e.rest_count > 0) {
      out.at = copy;
      out.row = plan.w_tile * kBlock;
      out.block = p2::kTile * out.row;
    }
    weights = run_unit(sources, p.ic, weights, args.packed + first * kBlock, out);
    if (e.activate) e.activate({out.at, unit, plan.dst.c, height, plan.dst.h, width, kBlock}, e.alpha);
    for (int64_t b = 0; b < unit && (e.rest_count > 0 || e.activate); ++b) {
      const int64_t channel = (first + b) * kBlock, to = offset + b * plan.dst.c;
      const int64_t channels = p.oc - channel < kBlock ? p.oc - channel : kBlock;
      for (int64_t r = 0; r < height; ++r) {
        if (e.rest_count > 0) {
          apply_epilogue(e, copy + b * out.block + r * out.row, args.dst, to + r * plan.dst.h, kBlock, width, channel,
                         channels);
        } else {
          clear_tail(args.dst + to + r * plan.dst.h, kBlock, width, channels);
        }
      }
    }
  }
}

}  // namespace

void wino_run_polyphase_2x2(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  // An addition to the start value goes the long way: it is rare behind a first layer.
  const bool adds = args.post_op_count > 0 && args.post_ops[0].kind == PostOpKind::add;
  const Epilogue epilogue = make_epilogue(args.post_ops, args.post_op_count, plan.exec.oc % kBlock != 0, adds);
  alignas(64) float sources[kMaxSources];
  for (int64_t n = box.n0; n < box.n1; ++n)
    for (int64_t unit = box.sp0; unit < box.sp1; ++unit)
      run_strip_2x2(plan, args, epilogue, {n, unit / plan.chunks, unit % plan.chunks * plan.w_tile / p2::kTile},
                    sources);
}

}  // namespace terroir::cpu::TERROIR_ISA
