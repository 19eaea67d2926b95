// What: depthwise convolution, and grouped convolution with groups inside one block of channels: walks a box of the
// work grid (batch, channel blocks, output rows) and cuts each row into register tiles (lane_tile.hpp). Borders:
// kernels of 3 or 5 dense columns read zero for the elements of their window that lie outside; others run the
//   taps that reach the whole tile in one pass and add the few others to the part of the tile they reach.
// Order of summation: depends on the position and the plan, never on the box.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv/entry_points.hpp"
#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv_dw/lane_tile.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

struct LaneContext {
  const ConvPlan& plan;
  const ConvArgs& args;
  Epilogue epilogue;
  const LanePassTable* passes;
  const LaneWindowTable* window;  // or null
  const int32_t* index;           // or null: depthwise
};

struct LaneRow {
  LanePass pass;  // all but the columns
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

void run_lane_tile(const LaneContext& ctx, const LaneRow& row, int64_t j, int64_t width, float* buffer) {
  const ConvPlan& plan = ctx.plan;
  const ConvAxis& axis = plan.exec.w;
  const int64_t x = j * axis.stride - axis.pad;
  const int64_t offset = row.dst_offset + j * plan.dst.w;
  const bool buffered = ctx.epilogue.rest_count > 0;
  LanePass p = row.pass;
  p.out = buffered ? buffer : ctx.args.dst + offset;
  p.out_step = buffered ? kBlock : plan.dst.w;
  p.residual = ctx.epilogue.residual ? ctx.epilogue.residual + offset : nullptr;
  p.residual_step = plan.dst.w;

  if (ctx.window) {
    const int64_t elements = (width - 1) * axis.stride + axis.kernel;
    const Range in = inside(x, 1, axis.in, elements);
    if (in.begin <= axis.kernel - 1 && in.end >= elements - axis.kernel + 1) {
      p.src += x * plan.src.w;
      p.src_step = plan.src.w;
      p.inside_begin = in.begin;
      p.inside_end = in.end;
      for (int v = 0; v < kVectorsPerBlock; ++v) {
        ctx.window->fn[width - 1](p);
        if (v + 1 == kVectorsPerBlock) break;
        p.src += ctx.index ? 0 : kLanes;
        p.wei += kLanes;
        p.index += ctx.index ? kLanes : 0;
        p.bias += kLanes;
        p.out += kLanes;
        if (p.residual) p.residual += kLanes;
      }
      finish_lane_tile(ctx, row, buffer, offset, width);
      return;
    }
  }

  // Taps that reach the first and the last column reach all columns between.
  const Range left = inside(x, axis.dilation, axis.in, axis.kernel);
  const Range right = inside(x + (width - 1) * axis.stride, axis.dilation, axis.in, axis.kernel);
  Range full{left.begin > right.begin ? left.begin : right.begin, left.end < right.end ? left.end : right.end};
  if (full.end < full.begin) full.end = full.begin;
  const bool one_pass = full.begin == 0 && full.end == axis.kernel;
  p.src_step = axis.stride * plan.src.w;
  p.src_w = axis.dilation * plan.src.w;
  const bool clamp = p.clamp;
  for (int v = 0; v < kVectorsPerBlock; ++v) {
    const int64_t lane = v * kLanes;
    LanePass q = p;
    q.src += ctx.index ? 0 : lane;
    q.wei += lane;
    q.index += ctx.index ? lane : 0;
    q.bias += lane;
    q.out += lane;
    if (q.residual) q.residual += lane;
    const float* const src = q.src;
    const float* const wei = q.wei;
    float* const out = q.out;
    if (!one_pass) {
      q.clamp = false;
      q.n_w = 0;
      ctx.passes->fn[width - 1](q);
      q.load = true;
      q.n_w = 1;
      for (int64_t tap = 0; tap < axis.kernel; ++tap) {
        if (tap == full.begin && full.begin < full.end) tap = full.end;
        if (tap >= axis.kernel) break;
        const Range reach = inside(x + tap * axis.dilation, axis.stride, axis.in, width);
        if (reach.begin == reach.end) continue;
        q.src = src + (x + reach.begin * axis.stride + tap * axis.dilation) * plan.src.w;
        q.wei = wei + tap * kBlock;
        q.out = out + reach.begin * q.out_step;
        ctx.passes->fn[reach.end - reach.begin - 1](q);
      }
      q.clamp = clamp;
    }
    q.src = src + (x + full.begin * axis.dilation) * plan.src.w;
    q.wei = wei + full.begin * kBlock;
    q.out = out;
    q.n_w = full.end - full.begin;
    ctx.passes->fn[width - 1](q);
  }
  finish_lane_tile(ctx, row, buffer, offset, width);
}

void run_lane_row(const LaneContext& ctx, int64_t n, int64_t block, int64_t source_block, int64_t sp, float* buffer) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  const int64_t chunk = sp % plan.chunks;
  const int64_t od = sp / plan.chunks / e.h.out, oh = sp / plan.chunks % e.h.out;
  const int64_t xd = od * e.d.stride - e.d.pad, xh = oh * e.h.stride - e.h.pad;
  const Range d = inside(xd, e.d.dilation, e.d.in, e.d.kernel), h = inside(xh, e.h.dilation, e.h.in, e.h.kernel);
  const int64_t inputs = e.ic / e.groups;
  const int64_t blocks = (e.oc + kBlock - 1) / kBlock;

  LaneRow row;
  row.channel = block * kBlock;
  row.channels = e.oc - row.channel < kBlock ? e.oc - row.channel : kBlock;
  row.dst_offset = n * plan.dst.n + block * plan.dst.c + od * plan.dst.d + oh * plan.dst.h;
  LanePass& p = row.pass;
  p = {};
  p.wei_i = e.w.kernel * kBlock;
  p.wei_h = inputs * p.wei_i;
  p.wei_d = e.h.kernel * p.wei_h;
  p.src_h = e.h.dilation * plan.src.h;
  p.src_d = e.d.dilation * plan.src.d;
  p.src = ctx.args.src + n * plan.src.n + source_block * plan.src.c + (xd + d.begin * e.d.dilation) * plan.src.d +
          (xh + h.begin * e.h.dilation) * plan.src.h;
  p.wei = ctx.args.packed + (blocks * kBlock + 15) / 16 * 16 + block * e.d.kernel * p.wei_d + d.begin * p.wei_d +
          h.begin * p.wei_h;
  p.n_d = d.end - d.begin;
  p.n_h = h.end - h.begin;
  p.n_i = inputs;
  p.index = ctx.index;
  p.bias = ctx.args.packed + block * kBlock;
  p.load = false;
  p.clamp = ctx.epilogue.clamp;
  p.low = ctx.epilogue.low;
  p.high = ctx.epilogue.high;

  const int64_t tiles = (e.w.out + plan.w_tile - 1) / plan.w_tile;
  const int64_t begin = chunk * tiles / plan.chunks, end = (chunk + 1) * tiles / plan.chunks;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t j = i * e.w.out / tiles;
    run_lane_tile(ctx, row, j, (i + 1) * e.w.out / tiles - j, buffer);
  }
}

constexpr int kMaxInputs = 16;  // of a group that lies inside one block

void run_lanes(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  const ConvProblem& e = plan.exec;
  const bool depthwise = e.ic == e.groups && e.oc == e.groups;
  const int64_t inputs = e.ic / e.groups, outputs = e.oc / e.groups;
  alignas(64) int32_t index[kMaxInputs * kBlock];
  alignas(64) float buffer[kMaxPassPositions * kBlock];
  const int64_t step = e.w.stride * plan.src.w;
  const bool dense = e.w.dilation == 1 && e.w.stride <= 2 && plan.w_tile <= kMaxWindowPositions;
  LaneContext ctx{plan,    args,    make_epilogue(args.post_ops, args.post_op_count, e.oc % kBlock != 0),
                  nullptr, nullptr, nullptr};
  if (depthwise) {
    ctx.passes = step == kBlock ? &kLaneBlock : step == 2 * kBlock ? &kLaneBlock2 : &kLaneAnyStep;
    if (dense && e.w.kernel == 3) ctx.window = &kWindow3[e.w.stride - 1];
    if (dense && e.w.kernel == 5) ctx.window = &kWindow5[e.w.stride - 1];
  } else {
    ctx.passes = &kLanePermuted;
    ctx.index = index;
    if (dense && e.w.kernel == 3) ctx.window = &kWindow3Permuted[e.w.stride - 1];
  }
  for (int64_t n = box.n0; n < box.n1; ++n) {
    for (int64_t block = box.oc0; block < box.oc1; ++block) {
      const int64_t source_block = block * kBlock / outputs * inputs / kBlock;
      for (int64_t i = 0; !depthwise && i < inputs; ++i) {
        for (int64_t l = 0; l < kBlock; ++l) {
          const int64_t channel = (block * kBlock + l) / outputs * inputs + i - source_block * kBlock;
          index[i * kBlock + l] = static_cast<int32_t>(channel < kBlock ? channel : 0);  // beyond the last group
        }
      }
      for (int64_t sp = box.sp0; sp < box.sp1; ++sp) run_lane_row(ctx, n, block, source_block, sp, buffer);
    }
  }
}

}  // namespace

void conv_lanes(const ConvPlan& plan, const ConvArgs& args, const ConvTile& tile) noexcept {
  run_lanes(plan, args, tile);
}

}  // namespace terroir::cpu::TERROIR_ISA
