// What: convolution of blocked sources to a few plain output channels, also transposed: walks a box of the work grid
// and cuts each output row into tiles of as many columns as a vector has lanes; of a transposed row the columns of one
// tile are `stride` apart, because those have the same taps. The lanes of a product are input channels; what they hold
// is added up across lanes for a tile at a time, which leaves the columns of one output in a vector.
// Of a single output up to three neighbouring columns with the same sources take the places of as many outputs.
// Borders: taps that miss some columns of a tile leave them out.
// Layouts: source blocked, lanes behind the last channel never read; destination plain.
// Order of summation, the same for every column: lane by lane over d, h, w, channel block, then across lanes as
//   lane_sums.hpp says, then bias and operand.
// Cost: per tap, block and column one load for an FMA per output; per tile and output two shuffles for each column;
//   columns that are not neighbours are stored one by one.
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

// Columns of one group of outputs that have the same taps; or of one output, and so many classes of columns whose taps
// are others of the same sources. Both are outputs here.
struct FewPass {
  const float *src, *wei;              // first tap; of the first column
  int64_t src_step;                    // from column to column
  TapLoops n, src_stride, wei_stride;  // n.a: whole blocks of channels
  int64_t wei_out;                     // from output to output
  int64_t ragged;                      // channels of the block behind them; 0: none
  bool pointwise;                      // one tap, whole blocks, columns that are neighbours
  // Source columns: of the first column and tap, from column to column, from tap to tap, how many there are; all taps
  // reach those in [low, high).
  int64_t x, x_step, tap_step, in, low, high;
  int64_t columns;
  float* out;             // of the first column; likewise:
  const float* residual;  // or null
  int64_t out_step;       // from column to column, of both
  int64_t plane;          // from output to output, of both
  const float* bias;
  int64_t bias_step;
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

// One block of channels at one tap.
template <int O, typename Load>
TERROIR_INLINE void add_block(const float* s, int64_t step, const float* k, int64_t wei_out, FewSums<O>& acc,
                              Load load) {
  V weight[O];
#pragma GCC unroll 3
  for (int o = 0; o < O; ++o) weight[o] = loadu(k + o * wei_out);
  const int64_t three = 3 * step;
#pragma GCC unroll 8
  for (int i = 0; i < kHalfTile; ++i) {
    if (i == 4) {
      s += 4 * step;
      // Else compilers compute all addresses beforehand, and find no registers for them.
      __asm__("" : "+r"(s));
    }
    const V x = load(i % 4 == 3 ? s + three : s + i % 4 * step);
#pragma GCC unroll 3
    for (int o = 0; o < O; ++o) add_product(acc[o][i], x, weight[o]);
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
  const int64_t step = p.src_step, block = p.src_stride.a, wei_out = p.wei_out, wei_block = p.wei_stride.a;
  const Tail kept = tail(p.ragged);
  for (int64_t d = 0; d < p.n.d; ++d) {
    for (int64_t h = 0; h < p.n.h; ++h) {
      const float* tap = src + d * p.src_stride.d + h * p.src_stride.h;
      const float* wei = p.wei + d * p.wei_stride.d + h * p.wei_stride.h;
      for (int64_t w = p.n.w; w > 0; --w, tap += p.src_stride.w, wei += p.wei_stride.w) {
        const float *s = tap, *k = wei;
        for (int64_t a = p.n.a; a > 0; --a, s += block, k += wei_block)
          add_block<O>(s, step, k, wei_out, acc, [](const float* at) TERROIR_INLINE_LAMBDA { return loadu(at); });
        if (p.ragged > 0)
          add_block<O>(s, step, k, wei_out, acc,
                       [kept](const float* at) TERROIR_INLINE_LAMBDA { return load_tail(at, kept); });
      }
    }
  }
  add_across<O>(acc, sums);
}

template <int O>
TERROIR_INLINE void sum_pointwise_half(const FewPass& p, const float* src, V (&sums)[O]) {
  FewSums<O> acc;
  clear<O>(acc);
  const float *s = src, *k = p.wei;
  for (int64_t a = p.n.a; a > 0; --a, s += p.src_stride.a, k += p.wei_stride.a)
    add_block<O>(s, kBlock, k, p.wei_out, acc, [](const float* at) TERROIR_INLINE_LAMBDA { return loadu(at); });
  add_across<O>(acc, sums);
}

// Output o, half a tile whose first source column is `x`. Products as in sum_half(), in the same order.
TERROIR_NOINLINE V sum_border_half(const FewPass& p, const float* src, int64_t x, int64_t o) noexcept {
  FewSums<1> acc;
  clear<1>(acc);
  const int64_t blocks = p.n.a + (p.ragged > 0 ? 1 : 0);
  for (int64_t d = 0; d < p.n.d; ++d) {
    for (int64_t h = 0; h < p.n.h; ++h) {
      for (int64_t w = 0; w < p.n.w; ++w) {
        const float* s = src + d * p.src_stride.d + h * p.src_stride.h + w * p.src_stride.w;
        const float* k = p.wei + d * p.wei_stride.d + h * p.wei_stride.h + w * p.wei_stride.w + o * p.wei_out;
        const Range columns = steps_inside(x + w * p.tap_step, p.x_step, p.in, kHalfTile);
        const bool all = columns.end - columns.begin == kHalfTile;
        for (int64_t a = 0; a < blocks; ++a, s += p.src_stride.a, k += p.wei_stride.a) {
          const Tail kept = tail(a < p.n.a ? kBlock : p.ragged);
          const V weight = loadu(k);
          if (all) {
#pragma GCC unroll 8
            for (int i = 0; i < kHalfTile; ++i) add_product(acc[0][i], load_tail(s + i * p.src_step, kept), weight);
            continue;
          }
#pragma GCC unroll 8
          for (int i = 0; i < kHalfTile; ++i)
            if (i >= columns.begin && i < columns.end)
              add_product(acc[0][i], load_tail(s + i * p.src_step, kept), weight);
        }
      }
    }
  }
  V sums[1];
  add_across<1>(acc, sums);
  return sums[0];
}

// Some columns of output o, `to` floats behind the first one.
TERROIR_NOINLINE void store_columns(const FewPass& p, int64_t o, int64_t to, int64_t columns, V sums) noexcept {
  float* out = p.out + o * p.plane + to;
  const float* const residual = p.residual ? p.residual + o * p.plane + to : nullptr;
  if (p.out_step == 1) {
    store_n(out, residual ? sums + load_n(residual, columns) : sums, columns);
    return;
  }
  float all[kLanes];
  storeu(all, sums);
  // Compilers would make several loops of it for the case that they do not overlap.
#pragma GCC unroll 1
  for (int64_t i = 0; i < columns; ++i, out += p.out_step) *out = residual ? all[i] + residual[i * p.out_step] : all[i];
}

template <int O>
void few_columns(const FewPass& p) noexcept {
  const float* src = p.src;
  int64_t x = p.x, to = 0;
  const int64_t half_src = kHalfTile * p.src_step, half_x = kHalfTile * p.x_step;
  int64_t least_whole = p.out_step == 1 && !p.residual ? kLanes : INT64_MAX;
  for (int64_t left = p.columns; left > 0; left -= kLanes, to += kLanes * p.out_step) {
    V half[2][O];
    for (V(&sums)[O] : half) {
      if (x < p.low || x + half_x - p.x_step >= p.high) {
#pragma GCC unroll 1
        for (int o = 0; o < O; ++o) sums[o] = sum_border_half(p, src, x, o);
      } else if (p.pointwise) {
        sum_pointwise_half<O>(p, src, sums);
      } else {
        sum_half<O>(p, src, sums);
      }
      src += half_src;
      x += half_x;
    }
    // Else compilers write the loop twice.
    __asm__("" : "+r"(least_whole));
#pragma GCC unroll 3
    for (int o = 0; o < O; ++o) {
      const V v = join_sums(half[0][o], half[1][o]) + V(p.bias[o * p.bias_step]);
      if (left >= least_whole)
        storeu(p.out + o * p.plane + to, v);
      else
        store_columns(p, o, to, left < kLanes ? left : kLanes, v);
    }
  }
}

using FewColumnsFn = void (*)(const FewPass& p) noexcept;
constexpr FewColumnsFn kFewColumns[kMostOutputsAtOnce] = {&few_columns<1>, &few_columns<2>, &few_columns<3>};

struct FewContext {
  const ConvPlan& plan;
  const ConvArgs& args;
  const float* residual;  // added to the sums, or null
  const PostOp* rest;     // run over what a row has stored, in L1
  int64_t rest_count;
  const TapClass* columns;
};

// Of one row: the kernel slices and rows that it meets, and where its source and its results begin.
struct FewRow {
  int64_t n_d, n_h;
  int64_t tap_d, tap_h;            // of the kernel, the first ones
  int64_t tap_step_d, tap_step_h;  // and from one to the next
  int64_t src_d, src_h;
  const float* src;  // of column 0 and the first kernel row
  int64_t dst_offset;
};

// Columns [begin, end) of a class, and of a single output the same ones of the `classes` that begin with it.
TERROIR_NOINLINE void run_few_class(const FewContext& ctx, const FewRow& row, const TapClass& c, int64_t classes,
                                    int64_t begin, int64_t end) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  FewPass p;
  p.src_step = c.sj * plan.src.w;
  p.n = {e.ic / kBlock, row.n_d, row.n_h, c.taps};
  p.src_stride = {plan.src.c, row.src_d, row.src_h, c.st * plan.src.w};
  p.ragged = e.ic % kBlock;
  p.pointwise = p.ragged == 0 && p.n.d * p.n.h * p.n.w == 1 && c.sj == 1;
  p.x = c.x0 + begin * c.sj;
  p.x_step = c.sj;
  p.tap_step = c.st;
  p.in = e.w.in;
  const int64_t reach = c.taps > 0 ? (c.taps - 1) * c.st : 0;
  p.low = reach < 0 ? -reach : 0;
  p.high = e.w.in - (reach > 0 ? reach : 0);
  p.src = row.src + p.x * plan.src.w;
  p.columns = end - begin;
  p.plane = plan.dst.c;
  p.out_step = c.step;
  const float* wei = ctx.args.packed + few_bias_floats(e.oc);
  const int64_t groups = few_groups(e.oc), inputs = (e.ic + kBlock - 1) / kBlock * kBlock;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = few_group_begin(e.oc, g), outputs = few_group_begin(e.oc, g + 1) - first;
    const int64_t tap = outputs * inputs, kernel_row = e.w.kernel * tap, slice = e.h.kernel * kernel_row;
    p.wei_stride = {outputs * kBlock, row.tap_step_d * slice, row.tap_step_h * kernel_row, c.tap_step * tap};
    p.wei = wei + row.tap_d * slice + row.tap_h * kernel_row + c.tap0 * tap;
    wei += e.d.kernel * slice;
    const int64_t at = row.dst_offset + first * p.plane + c.first + begin * c.step;
    p.wei_out = kBlock;
    p.bias_step = 1;
    p.out = ctx.args.dst + at;
    p.residual = ctx.residual ? ctx.residual + at : nullptr;
    p.bias = ctx.args.packed + first;
    if (classes == 1) {
      kFewColumns[outputs - 1](p);
    } else {
      const TapClass& next = (&c)[1];
      p.wei_out = (next.tap0 - c.tap0) * tap;
      p.plane = next.first - c.first;
      p.bias_step = 0;
      kFewColumns[classes - 1](p);
    }
  }
}

// Whether columns of `b` read the same sources as those of `a` do, by the next taps.
TERROIR_INLINE bool is_beside(const TapClass& a, const TapClass& b) {
  return a.taps == b.taps && a.x0 == b.x0 && a.st == b.st && a.tap_step == b.tap_step && b.tap0 == a.tap0 + 1;
}

// Columns [begin, end) of a row.
TERROIR_NOINLINE void run_few_row(const FewContext& ctx, const FewRow& row, int64_t begin, int64_t end) {
  const ConvProblem& e = ctx.plan.exec;
  const int64_t count = tap_class_count(e.w, e.transposed);
  const auto columns_before = [](int64_t column, const TapClass& c) {
    return column <= c.first ? 0 : (column - c.first + c.step - 1) / c.step;
  };
  for (int64_t k = 0, classes; k < count; k += classes) {
    const TapClass& c = ctx.columns[k];
    const int64_t first = columns_before(begin, c), last = columns_before(end, c);
    int64_t alike = 1;
    while (e.oc == 1 && k + alike < count && is_beside(ctx.columns[k + alike - 1], ctx.columns[k + alike]) &&
           columns_before(begin, ctx.columns[k + alike]) == first &&
           columns_before(end, ctx.columns[k + alike]) == last)
      ++alike;
    classes = few_group_begin(alike, 1);
    run_few_class(ctx, row, c, classes, first, last);
  }
  if (ctx.rest_count == 0) return;
  const int64_t offset = row.dst_offset + begin, plane = ctx.plan.dst.c;
  float* const out = ctx.args.dst + offset;
  run_post_ops({out, out, e.oc, end - begin, plane, plane, offset, plane, 0, ChannelAxis::rows}, ctx.rest,
               ctx.rest_count);
}

}  // namespace

void conv_few(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  const ConvProblem& e = plan.exec;
  TapClass columns[kMostColumnClasses];
  for (int64_t k = 0; k < tap_class_count(e.w, e.transposed); ++k) columns[k] = tap_class(e.w, e.transposed, k);
  FewContext ctx{plan, args, nullptr, args.post_ops, args.post_op_count, columns};
  if (ctx.rest_count > 0 && ctx.rest->kind == PostOpKind::add && ctx.rest->mode == OperandMode::tensor) {
    ctx.residual = ctx.rest->operand;
    ++ctx.rest;
    --ctx.rest_count;
  }
  for (int64_t n = box.n0; n < box.n1; ++n) {
    for (int64_t sp = box.sp0; sp < box.sp1; ++sp) {
      const int64_t oh = sp / plan.chunks % e.h.out, od = sp / plan.chunks / e.h.out;
      const TapClass cd = tap_class(e.d, e.transposed, e.transposed ? od % e.d.stride : 0);
      const TapClass ch = tap_class(e.h, e.transposed, e.transposed ? oh % e.h.stride : 0);
      const int64_t z = cd.x0 + (e.transposed ? od / e.d.stride : od) * cd.sj;
      const int64_t y = ch.x0 + (e.transposed ? oh / e.h.stride : oh) * ch.sj;
      const Range d = steps_inside(z, cd.st, e.d.in, cd.taps), h = steps_inside(y, ch.st, e.h.in, ch.taps);
      FewRow row;
      row.n_d = d.end - d.begin;
      row.n_h = h.end - h.begin;
      row.tap_d = cd.tap0 + d.begin * cd.tap_step;
      row.tap_h = ch.tap0 + h.begin * ch.tap_step;
      row.tap_step_d = cd.tap_step;
      row.tap_step_h = ch.tap_step;
      row.src_d = cd.st * plan.src.d;
      row.src_h = ch.st * plan.src.h;
      row.src = args.src + n * plan.src.n + (z + d.begin * cd.st) * plan.src.d + (y + h.begin * ch.st) * plan.src.h;
      row.dst_offset = n * plan.dst.n + od * plan.dst.d + oh * plan.dst.h;
      const int64_t begin = sp % plan.chunks * plan.w_tile, end = begin + plan.w_tile;
      run_few_row(ctx, row, begin, end < e.w.out ? end : e.w.out);
    }
  }
}

}  // namespace terroir::cpu::TERROIR_ISA
