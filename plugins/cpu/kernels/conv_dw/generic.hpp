// What: depthwise convolution, and grouped convolution with any channels per group: walks a box of the
// work grid (batch, channel blocks, output rows) and cuts each row into register tiles (lane_tile.hpp). Borders:
// kernels of 3 or 5 dense columns read zero for the elements of their window that lie outside; others run the
//   taps that reach the whole tile in one pass and add the few others to the part of the tile they reach.
// Order of summation: depends on the position and the plan, never on the box.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv/entry_points.hpp"
#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv_dw/lane_rows.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

struct LaneContext {
  const ConvPlan& plan;
  const ConvArgs& args;
  Epilogue epilogue;
  const LanePassTable* passes;
  const LaneWindowTable* window;  // or null
  const LaneRowsTable* rows;      // or null
  const int32_t* index;           // or null: depthwise
  int64_t tiles, narrow, wider;   // of a row: the first `wider` tiles have narrow + 1 columns, the others narrow
  float* buffer;                  // one register tile, for post-ops that do not fit the registers
};

struct LaneRow {
  int64_t dst_offset;
  int64_t channel, channels;
};

// Lanes beyond the last channel computed with whatever the source's tail holds.
void finish_lane_tile(const LaneContext& ctx, const LaneRow& row, const float* buffer, int64_t offset, int64_t width) {
  const int64_t step = ctx.plan.dst.w;
  if (ctx.epilogue.rest_count > 0) {
    apply_epilogue(ctx.epilogue, buffer, ctx.args.dst, offset, step, width, row.channel, row.channels);
  } else {
    clear_tail(ctx.args.dst + offset, step, width, row.channels);
  }
}

// Whether kernels that read zero for missing elements of the window serve the tile at column j.
bool window_fits(const ConvAxis& axis, int64_t j, int64_t width) {
  const int64_t x = j * axis.stride - axis.pad;
  const int64_t elements = (width - 1) * axis.stride + axis.kernel;
  return -x <= axis.kernel - 1 && axis.in - x >= elements - axis.kernel + 1;
}

// All vectors of the blocks of a tile; `p` describes the first.
TERROIR_INLINE void run_vectors(const LaneContext& ctx, LaneFn fn, const LanePass& p) {
  fn(p);
  if constexpr (kVectorsPerBlock > 1) {
    LanePass q = p;
    for (int v = 1; v < kVectorsPerBlock; ++v) {
      if (ctx.index) {
        q.index += kLanes;
      } else {
        q.src += kLanes;
      }
      q.wei += kLanes;
      q.bias += kLanes;
      q.out += kLanes;
      if (q.residual) q.residual += kLanes;
      fn(q);
    }
  }
}

// Columns [j, j + width), tap by tap. `base` describes column 0 of the source row.
void run_tapped_tile(const LaneContext& ctx, const LanePass& base, int64_t j, int64_t width) {
  const ConvPlan& plan = ctx.plan;
  const ConvAxis& axis = plan.exec.w;
  const int64_t x = j * axis.stride - axis.pad;
  // Taps that reach the first and the last column reach all columns between.
  const Range left = inside(x, axis.dilation, axis.in, axis.kernel);
  const Range right = inside(x + (width - 1) * axis.stride, axis.dilation, axis.in, axis.kernel);
  Range full{left.begin > right.begin ? left.begin : right.begin, left.end < right.end ? left.end : right.end};
  if (full.end < full.begin) full.end = full.begin;
  LanePass p = base;
  p.src_step = axis.stride * plan.src.w;
  p.src_w = axis.dilation * plan.src.w;
  if (full.begin > 0 || full.end < axis.kernel) {
    p.clamp = false;
    p.n_w = 0;
    run_vectors(ctx, ctx.passes->fn[width - 1], p);
    p.load = true;
    p.n_w = 1;
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      if (tap == full.begin && full.begin < full.end) tap = full.end;
      if (tap >= axis.kernel) break;
      const Range reach = inside(x + tap * axis.dilation, axis.stride, axis.in, width);
      if (reach.begin == reach.end) continue;
      p.src = base.src + (x + reach.begin * axis.stride + tap * axis.dilation) * plan.src.w;
      p.wei = base.wei + tap * kBlock;
      p.out = base.out + reach.begin * p.out_step;
      run_vectors(ctx, ctx.passes->fn[reach.end - reach.begin - 1], p);
    }
    p.clamp = base.clamp;
    p.out = base.out;
  }
  p.src = base.src + (x + full.begin * axis.dilation) * plan.src.w;
  p.wei = base.wei + full.begin * kBlock;
  p.n_w = full.end - full.begin;
  run_vectors(ctx, ctx.passes->fn[width - 1], p);
}

// Whether no tile of a row needs more than zeros at its ends. The plan has seen to the rest (two_rows in
// plan_lanes.cpp).
bool rows_fit(const LaneContext& ctx) {
  const ConvAxis& axis = ctx.plan.exec.w;
  for (int64_t i = 0; i < ctx.tiles; ++i) {
    const int64_t width = ctx.narrow + (i < ctx.wider ? 1 : 0);
    if (!window_fits(axis, i * ctx.narrow + (i < ctx.wider ? i : ctx.wider), width)) return false;
  }
  return true;
}

// Tiles [begin, end) of the row, or two rows, that `p` describes up to the columns.
void run_lane_tiles(const LaneContext& ctx, const LaneRow& row, LanePass& p, int64_t rows, int64_t begin, int64_t end) {
  const ConvPlan& plan = ctx.plan;
  const ConvAxis& axis = plan.exec.w;
  const bool buffered = ctx.epilogue.rest_count > 0;
  const float* const src = p.src;
  int64_t inactive = 0;  // columns that are stored and wait for their activation
  for (int64_t i = begin; i < end; ++i) {
    const int64_t width = ctx.narrow + (i < ctx.wider ? 1 : 0);
    const int64_t j = i * ctx.narrow + (i < ctx.wider ? i : ctx.wider);
    const int64_t offset = row.dst_offset + j * plan.dst.w;
    p.out = buffered ? ctx.buffer : ctx.args.dst + offset;
    p.residual = ctx.epilogue.residual ? ctx.epilogue.residual + offset : nullptr;
    const int64_t x = j * axis.stride - axis.pad;
    if (rows == 2 || (ctx.window && window_fits(axis, j, width))) {
      p.src = src + x * plan.src.w;
      p.inside_begin = x < 0 ? -x : 0;
      p.inside_end = axis.in - x;
      if (rows == 2) p.out_row = buffered ? width * kBlock : plan.dst.h;
      run_vectors(ctx, rows == 2 ? ctx.rows->fn[width - 1] : ctx.window->fn[width - 1], p);
      p.src = src;
    } else {
      run_tapped_tile(ctx, p, j, width);
    }
    if (ctx.epilogue.activate) {
      inactive += width;
      if (i + 1 < end && inactive * rows * kBlock < kActivatedAtOnce) continue;
      float* const out = p.out - (inactive - width) * p.out_step;
      ctx.epilogue.activate({out, 1, 0, rows, plan.dst.h, inactive, p.out_step}, ctx.epilogue.alpha);
      for (int64_t r = 0; r < rows; ++r) clear_tail(out + r * plan.dst.h, p.out_step, inactive, row.channels);
      inactive = 0;
      continue;
    }
    for (int64_t r = 0; r < rows; ++r)
      finish_lane_tile(ctx, row, ctx.buffer + r * width * kBlock, offset + r * plan.dst.h, width);
  }
}

// One block of channels: sp units of the box.
void run_lane_block(const LaneContext& ctx, const ConvTile& box, int64_t n, int64_t block, int64_t source_block) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  const int64_t blocks = (e.oc + kBlock - 1) / kBlock;
  LaneRow row;
  row.channel = block * kBlock;
  row.channels = e.oc - row.channel < kBlock ? e.oc - row.channel : kBlock;
  LanePass p = {};
  p.src_step = plan.src.w;
  p.wei_i = e.w.kernel * kBlock;
  p.wei_h = e.ic / e.groups * p.wei_i;
  p.wei_d = e.h.kernel * p.wei_h;
  p.src_h = e.h.dilation * plan.src.h;
  p.src_d = e.d.dilation * plan.src.d;
  p.n_i = e.ic / e.groups;
  p.index = ctx.index;
  p.bias = ctx.args.packed + block * kBlock;
  p.out_step = ctx.epilogue.rest_count > 0 ? kBlock : plan.dst.w;
  p.residual_step = plan.dst.w;
  p.residual_row = plan.dst.h;
  p.clamp = ctx.epilogue.clamp;
  p.low = ctx.epilogue.low;
  p.high = ctx.epilogue.high;
  const float* const src = ctx.args.src + n * plan.src.n + source_block * plan.src.c;
  const float* const wei = ctx.args.packed + (blocks * kBlock + 15) / 16 * 16 + block * e.d.kernel * p.wei_d;
  const int64_t dst = n * plan.dst.n + block * plan.dst.c;

  const int64_t row_groups = (e.h.out + plan.rows - 1) / plan.rows;
  int64_t chunk = box.sp0 % plan.chunks;
  int64_t oh = box.sp0 / plan.chunks % row_groups * plan.rows;
  int64_t od = box.sp0 / plan.chunks / row_groups;
  for (int64_t sp = box.sp0; sp < box.sp1;) {
    const int64_t chunk_end = box.sp1 - sp < plan.chunks - chunk ? chunk + box.sp1 - sp : plan.chunks;
    const int64_t tile_begin = chunk * ctx.tiles / plan.chunks, tile_end = chunk_end * ctx.tiles / plan.chunks;
    const int64_t xd = od * e.d.stride - e.d.pad;
    const Range d = inside(xd, e.d.dilation, e.d.in, e.d.kernel);
    p.n_d = d.end - d.begin;
    const int64_t rows_left = e.h.out - oh < plan.rows ? e.h.out - oh : plan.rows;
    const int64_t rows = ctx.rows ? rows_left : 1;
    for (int64_t r = 0; r < rows_left; r += rows) {
      const int64_t xh = (oh + r) * e.h.stride - e.h.pad;
      row.dst_offset = dst + od * plan.dst.d + (oh + r) * plan.dst.h;
      p.src = src + (xd + d.begin * e.d.dilation) * plan.src.d;
      p.wei = wei + d.begin * p.wei_d;
      if (rows == 2) {
        p.row_begin = xh < 0 ? -xh : 0;
        p.row_end = e.h.in - xh;
        p.src += xh * plan.src.h;
      } else {
        const Range h = inside(xh, e.h.dilation, e.h.in, e.h.kernel);
        p.src += (xh + h.begin * e.h.dilation) * plan.src.h;
        p.wei += h.begin * p.wei_h;
        p.n_h = h.end - h.begin;
      }
      run_lane_tiles(ctx, row, p, rows, tile_begin, tile_end);
    }
    sp += chunk_end - chunk;
    chunk = 0;
    if ((oh += plan.rows) >= e.h.out) {
      oh = 0;
      ++od;
    }
  }
}

// Fills index[i][l] with the place of input i of lane l's group, counted from the first channel of `source_block`.
void set_index(const ConvPlan& plan, int64_t block, int64_t source_block, int32_t* index) {
  const ConvProblem& e = plan.exec;
  const int64_t inputs = e.ic / e.groups, outputs = e.oc / e.groups;
  for (int64_t i = 0; i < inputs; ++i) {
    for (int64_t l = 0; l < kBlock; ++l) {
      const int64_t o = block * kBlock + l;
      const int64_t channel = o < e.oc ? o / outputs * inputs + i : source_block * kBlock;
      index[i * kBlock + l] = static_cast<int32_t>((channel / kBlock - source_block) * plan.src.c + channel % kBlock);
    }
  }
}

void run_lanes(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  const ConvProblem& e = plan.exec;
  const bool depthwise = e.ic == e.groups && e.oc == e.groups;
  const int64_t inputs = e.ic / e.groups, outputs = e.oc / e.groups;
  alignas(64) float buffer[kMaxPassPositions * kBlock];
  auto* const index = reinterpret_cast<int32_t*>(args.scratch);
  const bool dense = e.w.dilation == 1 && e.w.stride <= 2 && plan.w_tile <= kMaxWindowPositions;
  LaneContext ctx{plan,
                  args,
                  make_epilogue(args.post_ops, args.post_op_count, e.oc % kBlock != 0),
                  nullptr,
                  nullptr,
                  nullptr,
                  depthwise ? nullptr : index,
                  1,
                  0,
                  0,
                  buffer};
  ctx.tiles = (e.w.out + plan.w_tile - 1) / plan.w_tile;
  ctx.narrow = e.w.out / ctx.tiles;
  ctx.wider = e.w.out % ctx.tiles;
  if (depthwise) {
    ctx.passes = e.w.stride * plan.src.w == kBlock ? &kLaneBlock : &kLaneAnyStep;
    if (dense && e.w.kernel == 3) ctx.window = &kWindow3[e.w.stride - 1];
    if (dense && e.w.kernel == 5) ctx.window = &kWindow5[e.w.stride - 1];
    if (kTwoRows && plan.rows == 2 && rows_fit(ctx)) {
      ctx.rows = e.w.kernel == 3 ? &kRows3[e.w.stride - 1] : &kRows5[e.w.stride - 1];
    }
  } else if (plan.lanes_in_block) {
    ctx.passes = &kLanePermuted;
    if (dense && e.w.kernel == 3) ctx.window = &kWindow3Permuted[e.w.stride - 1];
  } else {
    ctx.passes = &kLaneGathered;
  }
  for (int64_t n = box.n0; n < box.n1; ++n) {
    for (int64_t block = box.oc0; block < box.oc1; ++block) {
      const int64_t source_block = block * kBlock / outputs * inputs / kBlock;
      if (!depthwise) set_index(plan, block, source_block, index);
      run_lane_block(ctx, box, n, block, source_block);
    }
  }
}

}  // namespace

void conv_lanes(const ConvPlan& plan, const ConvArgs& args, const ConvTile& tile) noexcept {
  run_lanes(plan, args, tile);
}

}  // namespace terroir::cpu::TERROIR_ISA
