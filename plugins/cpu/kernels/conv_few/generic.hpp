// What: convolution of blocked sources to a few plain output channels: walks a box of the work grid and cuts each
// output row into tiles of as many columns as a vector has lanes. The lanes of a product are input channels; what they
// hold is added up across lanes for a tile at a time, which leaves neighbouring columns of one output in a vector.
// Borders: columns whose windows reach outside are taken one by one, with the taps that they have.
// Layouts: source blocked, lanes behind the last channel never read; destination plain.
// Order of summation, the same for every column: lane by lane over channel block, d, h, w, then across lanes as
//   lane_sums.hpp says, then bias and operand.
// Cost: per tap, block and column one load for an FMA per output; per tile and output two shuffles for each column.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv/entry_points.hpp"
#include "plugins/cpu/kernels/conv_few/few_groups.hpp"
#include "plugins/cpu/simd/lane_sums.hpp"
#include "plugins/cpu/simd/post_ops.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr int kHalfTile = static_cast<int>(kLanes) / 2;

// Out of line: once a row, and long.
TERROIR_NOINLINE Range steps_inside(int64_t x, int64_t step, int64_t extent, int64_t n) {
  return inside(x, step, extent, n);
}

// Some tiles of one group of outputs.
struct FewPass {
  const float *src, *wei;  // first tap; of the first column
  int64_t src_step;        // from column to column
  TapLoops n, src_stride, wei_stride;
  int64_t in_last;  // channels of the last round of loop a
  bool pointwise;   // whole blocks of channels: loop w runs over them, and there is no other
  int64_t tiles;
  float* out;             // of the first column that is stored; likewise:
  const float* residual;  // or null
  int64_t plane;          // from output to output, of both
  const float* bias;
  int64_t skipped, stored;  // columns of each tile
};

// Half a tile, lane by lane: acc[o][i] of column i.
template <int O>
using FewSums = V[O][kHalfTile];

template <int O>
TERROIR_INLINE void clear(FewSums<O>& acc) {
#pragma GCC unroll 3
  for (int o = 0; o < O; ++o)
#pragma GCC unroll 8
    for (int i = 0; i < kHalfTile; ++i) acc[o][i] = zero();
}

// Loop w, whatever it runs over.
template <int O, typename Load>
TERROIR_INLINE void add_columns(const FewPass& p, const float* s, const float* k, FewSums<O>& acc, Load load) {
  const int64_t step = p.src_step;
  for (int64_t w = p.n.w; w > 0; --w, s += p.src_stride.w, k += O * kBlock) {
    V weight[O];
#pragma GCC unroll 3
    for (int o = 0; o < O; ++o) weight[o] = loadu(k + o * kBlock);
#pragma GCC unroll 8
    for (int i = 0; i < kHalfTile; ++i) {
      const V x = load(s + i * step);
#pragma GCC unroll 3
      for (int o = 0; o < O; ++o) add_product(acc[o][i], x, weight[o]);
    }
  }
}

template <int O>
TERROIR_INLINE void add_across(const FewSums<O>& acc, V (&sums)[O]) {
#pragma GCC unroll 3
  for (int o = 0; o < O; ++o) sums[o] = half_sums(acc[o]);
}

// Called twice a tile: inlined it would be there twice.
template <int O>
TERROIR_NOINLINE void sum_half(const FewPass& p, const float* src, V (&sums)[O]) noexcept {
  FewSums<O> acc;
  clear<O>(acc);
  for (int64_t a = 0; a < p.n.a; ++a) {
    const int64_t channels = a + 1 < p.n.a ? kBlock : p.in_last;
    // Where masks cost nothing, one loop serves whole blocks and others.
    const Tail kept = tail(channels);
    for (int64_t d = 0; d < p.n.d; ++d) {
      for (int64_t h = 0; h < p.n.h; ++h) {
        const float* const s = src + a * p.src_stride.a + d * p.src_stride.d + h * p.src_stride.h;
        const float* const k = p.wei + a * p.wei_stride.a + d * p.wei_stride.d + h * p.wei_stride.h;
        if (kLanes < 16 && channels == kBlock) {
          add_columns<O>(p, s, k, acc, [](const float* at) TERROIR_INLINE_LAMBDA { return loadu(at); });
        } else {
          add_columns<O>(p, s, k, acc, [kept](const float* at) TERROIR_INLINE_LAMBDA { return load_tail(at, kept); });
        }
      }
    }
  }
  add_across<O>(acc, sums);
}

// Where only loop w is left.
template <int O>
TERROIR_INLINE void sum_pointwise_half(const FewPass& p, const float* src, V (&sums)[O]) {
  FewSums<O> acc;
  clear<O>(acc);
  add_columns<O>(p, src, p.wei, acc, [](const float* at) TERROIR_INLINE_LAMBDA { return loadu(at); });
  add_across<O>(acc, sums);
}

template <int O>
TERROIR_INLINE void store_tile(const FewPass& p, int64_t to, const V (&half)[2][O]) {
#pragma GCC unroll 3
  for (int o = 0; o < O; ++o) {
    const int64_t at = o * p.plane + to;
    V v = join_sums(half[0][o], half[1][o]) + V(p.bias[o]);
    if (p.stored == kLanes) {
      if (p.residual) v = v + loadu(p.residual + at);
      storeu(p.out + at, v);
      continue;
    }
    float all[kLanes];
    storeu(all, v);
    v = load_n(all + p.skipped, p.stored);
    if (p.residual) v = v + load_n(p.residual + at, p.stored);
    store_n(p.out + at, v, p.stored);
  }
}

template <int O>
void few_tiles(const FewPass& p) noexcept {
  const float* src = p.src;
  const int64_t half_src = kHalfTile * p.src_step;
  for (int64_t to = 0; to < p.tiles * kLanes; to += kLanes, src += 2 * half_src) {
    V half[2][O];
    if (p.pointwise) {
      sum_pointwise_half<O>(p, src, half[0]);
      sum_pointwise_half<O>(p, src + half_src, half[1]);
    } else {
      sum_half<O>(p, src, half[0]);
      sum_half<O>(p, src + half_src, half[1]);
    }
    store_tile<O>(p, to, half);
  }
}

using FewTilesFn = void (*)(const FewPass& p) noexcept;
constexpr FewTilesFn kFewTiles[kMostOutputsAtOnce] = {&few_tiles<1>, &few_tiles<2>, &few_tiles<3>};

struct FewContext {
  const ConvPlan& plan;
  const ConvArgs& args;
  bool pointwise;         // with whole blocks of channels
  const float* residual;  // added to the sums, or null
  const PostOp* rest;     // run over what a row has stored, in L1
  int64_t rest_count;
};

// Of one row: the kernel rows that it meets, and where its source and its results begin.
struct FewRow {
  Range d, h;
  const float* src;  // of column 0 and the first kernel row, before padding
  int64_t dst_offset;
};

// What is computed together: one column, or so many tiles from `first` on; of one tile only [begin, end) may be stored.
struct FewColumns {
  int64_t tiles;  // 0: one column
  int64_t first, begin, end;
  Range taps;  // columns of the kernel
};

TERROIR_NOINLINE void run_few_columns(const FewContext& ctx, const FewRow& row, const FewColumns& columns) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  const bool one = columns.tiles == 0;
  FewPass p;
  p.src_step = one ? 0 : e.w.stride * plan.src.w;
  p.n = {(e.ic + kBlock - 1) / kBlock, row.d.end - row.d.begin, row.h.end - row.h.begin,
         columns.taps.end - columns.taps.begin};
  p.src_stride = {plan.src.c, e.d.dilation * plan.src.d, e.h.dilation * plan.src.h, e.w.dilation * plan.src.w};
  p.in_last = e.ic - (p.n.a - 1) * kBlock;
  p.pointwise = ctx.pointwise && p.n.d * p.n.h * p.n.w > 0;
  if (p.pointwise) {
    p.n.w = p.n.a;
    p.src_stride.w = plan.src.c;
  }
  p.src = row.src + (columns.first * e.w.stride - e.w.pad + columns.taps.begin * e.w.dilation) * plan.src.w;
  p.tiles = one ? 1 : columns.tiles;
  p.plane = plan.dst.c;
  p.skipped = columns.begin - columns.first;
  p.stored = columns.tiles > 1 ? kLanes : columns.end - columns.begin;
  const float* wei = ctx.args.packed + few_bias_floats(e.oc);
  const int64_t groups = few_groups(e.oc);
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = few_group_begin(e.oc, g), outputs = few_group_begin(e.oc, g + 1) - first;
    const int64_t tap = outputs * kBlock, kernel_row = e.w.kernel * tap, slice = e.h.kernel * kernel_row;
    p.wei_stride = {e.d.kernel * slice, slice, kernel_row, tap};
    p.wei = wei + row.d.begin * slice + row.h.begin * kernel_row + columns.taps.begin * tap;
    wei += (e.ic + kBlock - 1) / kBlock * p.wei_stride.a;
    const int64_t at = row.dst_offset + first * p.plane + columns.begin;
    p.out = ctx.args.dst + at;
    p.residual = ctx.residual ? ctx.residual + at : nullptr;
    p.bias = ctx.args.packed + first;
    kFewTiles[outputs - 1](p);
  }
}

// Columns [begin, end) of a row.
TERROIR_NOINLINE void run_few_row(const FewContext& ctx, const FewRow& row, int64_t begin, int64_t end) {
  const ConvAxis& axis = ctx.plan.exec.w;
  // Those whose windows lie inside; at least as many as a vector has lanes, else the problem had been rejected.
  const int64_t first = steps_inside(-axis.pad, axis.stride, axis.in, axis.out).begin;
  const int64_t last = steps_inside((axis.kernel - 1) * axis.dilation - axis.pad, axis.stride, axis.in, axis.out).end;
  for (int64_t column = begin; column < end;) {
    FewColumns columns{0, column, column, column + 1, {0, axis.kernel}};
    if (column < first || column >= last) {
      columns.taps = steps_inside(column * axis.stride - axis.pad, axis.dilation, axis.in, axis.kernel);
    } else {
      const int64_t all = end < last ? end : last;
      columns.tiles = (all - column) / kLanes;
      columns.end = column + columns.tiles * kLanes;
      if (columns.tiles == 0) {
        columns.tiles = 1;
        columns.end = all;
        // Where fewer are left, the tile begins with columns that are not stored.
        if (column + kLanes > last) columns.first = last - kLanes;
      }
    }
    run_few_columns(ctx, row, columns);
    column = columns.end;
  }
  if (ctx.rest_count == 0) return;
  const int64_t offset = row.dst_offset + begin, plane = ctx.plan.dst.c;
  float* const out = ctx.args.dst + offset;
  run_post_ops({out, out, ctx.plan.exec.oc, end - begin, plane, plane, offset, plane, 0, ChannelAxis::rows}, ctx.rest,
               ctx.rest_count);
}

}  // namespace

void conv_few(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  const ConvProblem& e = plan.exec;
  const bool pointwise = e.d.kernel * e.h.kernel * e.w.kernel == 1 && e.ic % kBlock == 0;
  FewContext ctx{plan, args, pointwise, nullptr, args.post_ops, args.post_op_count};
  if (ctx.rest_count > 0 && ctx.rest->kind == PostOpKind::add && ctx.rest->mode == OperandMode::tensor) {
    ctx.residual = ctx.rest->operand;
    ++ctx.rest;
    --ctx.rest_count;
  }
  for (int64_t n = box.n0; n < box.n1; ++n) {
    for (int64_t sp = box.sp0; sp < box.sp1; ++sp) {
      const int64_t oh = sp / plan.chunks % e.h.out, od = sp / plan.chunks / e.h.out;
      const int64_t y = oh * e.h.stride - e.h.pad, z = od * e.d.stride - e.d.pad;
      FewRow row;
      row.d = steps_inside(z, e.d.dilation, e.d.in, e.d.kernel);
      row.h = steps_inside(y, e.h.dilation, e.h.in, e.h.kernel);
      row.src = args.src + n * plan.src.n + (z + row.d.begin * e.d.dilation) * plan.src.d +
                (y + row.h.begin * e.h.dilation) * plan.src.h;
      row.dst_offset = n * plan.dst.n + od * plan.dst.d + oh * plan.dst.h;
      const int64_t begin = sp % plan.chunks * plan.w_tile, end = begin + plan.w_tile;
      run_few_row(ctx, row, begin, end < e.w.out ? end : e.w.out);
    }
  }
}

}  // namespace terroir::cpu::TERROIR_ISA
