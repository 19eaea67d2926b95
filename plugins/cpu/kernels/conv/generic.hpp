// What: dense convolution over blocked, nhwc or (few channels) plain sources, and transposed convolution: walks a box
// of the work grid and cuts each output row into register tiles (tile_pass.hpp). Borders: along w, taps that reach
// every column of a tile form its main pass; the few others add to the part of the
//   tile they reach in passes of their own, so no pass checks anything and no padding is read or multiplied. Along d
//   and h the range of taps is a property of the row. A one-pass tile never leaves the registers.
// Order of summation: passes at the border before the main pass; inside a pass channel block, d, h, w, channel. It
//   depends on the position and the plan, never on the box.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/entry_points.hpp"
#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv/tile_pass.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

struct ConvContext {
  const ConvPlan& plan;
  const ConvArgs& args;
  Epilogue epilogue;
  const PassTable* passes;
  int64_t ic_blocks, oc_blocks;  // per group
  bool plain;
  bool columns_inside;  // plain source, dense kernel columns: the innermost loop runs over them
};

// Taps of one tile row group along h: `rows` rows from `row` on share kernel rows [begin, end) of their class.
struct RowTaps {
  int64_t row, rows, begin, end;
};

// One oc unit x one output row (or two), all but the column loop settled.
struct ConvRow {
  const float* src;  // group's first channel block, axes d and h resolved for tap index 0 of the tile's first row
  const float* wei;
  const float* bias;
  float* dst;
  const float* residual;
  int64_t blocks;  // of output channels
  int64_t tail;    // channels of the last block that are real
  int64_t rows;
  int64_t d_taps, d_src, d_wei;  // trips and strides along d
  int64_t h_src, h_wei;          // strides along h
  int64_t h_row;                 // source distance between the two rows
  int64_t oc;                    // first output channel, for per-channel operands
  int64_t dst_offset;            // of the row in dst and in its operands
  RowTaps both;
  RowTaps extra[6];
  int64_t extras;
};

void set_row_taps(const ConvAxis& axis, bool transposed, const TapClass& c, int64_t j, int64_t rows, ConvRow& row) {
  (void)transposed;
  Range range[2];
  for (int64_t r = 0; r < rows; ++r) range[r] = inside(c.x0 + (j + r) * c.sj, c.st, axis.in, c.taps);
  row.extras = 0;
  if (rows == 1) {
    row.both = {0, 1, range[0].begin, range[0].end};
    return;
  }
  const int64_t begin = range[0].begin > range[1].begin ? range[0].begin : range[1].begin;
  int64_t end = range[0].end < range[1].end ? range[0].end : range[1].end;
  if (end < begin) end = begin;
  row.both = {0, 2, begin, end};
  for (int64_t r = 0; r < 2; ++r) {
    if (begin == end) {
      if (range[r].begin < range[r].end) row.extra[row.extras++] = {r, 1, range[r].begin, range[r].end};
      continue;
    }
    if (range[r].begin < begin) row.extra[row.extras++] = {r, 1, range[r].begin, begin};
    if (end < range[r].end) row.extra[row.extras++] = {r, 1, end, range[r].end};
  }
}

struct ColumnTile {
  const TapClass& c;
  int64_t j, width;
};

// Fills the loops of a pass over kernel columns [w0, w1) and kernel rows of `h`, for tile columns from `first` on.
void set_pass_taps(const ConvContext& ctx, const ConvRow& row, const ColumnTile& t, const RowTaps& h, int64_t first,
                   int64_t w0, int64_t w1, TilePass& p) {
  const ConvPlan& plan = ctx.plan;
  const int64_t lanes = row.blocks * kBlock;
  const int64_t x = t.c.x0 + (t.j + first) * t.c.sj + w0 * t.c.st;
  p.src = row.src + x * plan.src.w + h.begin * row.h_src + h.row * row.h_row;
  const int64_t column = ctx.columns_inside ? lanes : (ctx.plain ? lanes : kBlock * lanes);
  p.wei = row.wei + (t.c.tap0 + w0 * t.c.tap_step) * column + h.begin * row.h_wei;
  p.n.d = row.d_taps;
  p.n.h = h.end - h.begin;
  if (ctx.columns_inside) {
    p.n.w = 1;
    p.n_i = p.n_i_last = w1 - w0;
  } else {
    p.n.w = w1 - w0;
  }
}

TERROIR_INLINE void run_pass(const ConvContext& ctx, const ConvRow& row, const TilePass& p, int64_t rows,
                             int64_t width) {
  ctx.passes->row[rows - 1][row.blocks - 1].fn[width - 1](p);
}

// Columns [j, j + width) of class c.
void run_tile(const ConvContext& ctx, const ConvRow& row, const ColumnTile& t, float* buffer) {
  const ConvPlan& plan = ctx.plan;
  const TapClass& c = t.c;
  const ConvAxis& axis = plan.exec.w;
  const int64_t lanes = row.blocks * kBlock;
  TilePass p;
  p.src_step = c.sj * plan.src.w;
  p.src_row = row.h_row;
  p.src_stride = {plan.src.c, row.d_src, row.h_src, c.st * plan.src.w};
  const int64_t column = ctx.plain ? lanes : kBlock * lanes;
  p.wei_stride = {plan.exec.d.kernel * plan.exec.h.kernel * axis.kernel * column, row.d_wei, row.h_wei,
                  c.tap_step * column};
  p.n.a = ctx.plain ? plan.exec.ic : ctx.ic_blocks;
  if (!ctx.columns_inside) {
    p.n_i = ctx.plain ? 1 : kBlock;
    p.n_i_last = ctx.plain ? 1 : plan.exec.ic / plan.exec.groups - (ctx.ic_blocks - 1) * kBlock;
  }
  p.bias = row.bias;
  p.load = false;
  p.clamp = ctx.epilogue.clamp;
  p.low = ctx.epilogue.low;
  p.high = ctx.epilogue.high;

  const int64_t dst_column = (c.first + t.j * c.step) * plan.dst.w;
  float* dst = row.dst + dst_column;
  p.residual = row.residual ? row.residual + dst_column : nullptr;
  p.residual_step = c.step * plan.dst.w;
  p.residual_row = plan.dst.h;
  p.residual_block = plan.dst.c;
  // Post-ops that do not fit the registers work on a copy of the tile, so that an operand may be dst itself.
  const bool buffered = ctx.epilogue.rest_count > 0;
  p.out = buffered ? buffer : dst;
  p.out_step = buffered ? kBlock : p.residual_step;
  p.out_row = buffered ? t.width * kBlock : p.residual_row;
  p.out_block = buffered ? row.rows * t.width * kBlock : p.residual_block;

  // Taps that reach the first and the last column reach all columns between.
  const Range left = inside(c.x0 + t.j * c.sj, c.st, axis.in, c.taps);
  const Range right = inside(c.x0 + (t.j + t.width - 1) * c.sj, c.st, axis.in, c.taps);
  Range full{left.begin > right.begin ? left.begin : right.begin, left.end < right.end ? left.end : right.end};
  if (full.end < full.begin) full.end = full.begin;

  const bool one_pass = row.extras == 0 && full.begin == 0 && full.end == c.taps;
  if (!one_pass) {
    const bool clamp = p.clamp;
    p.clamp = false;
    p.n = {0, 0, 0, 0};
    run_pass(ctx, row, p, row.rows, t.width);
    p.load = true;
    p.n.a = ctx.plain ? plan.exec.ic : ctx.ic_blocks;
    float* const out = p.out;
    for (int64_t e = 0; e < row.extras && full.begin < full.end; ++e) {
      p.out = out + row.extra[e].row * p.out_row;
      set_pass_taps(ctx, row, t, row.extra[e], 0, full.begin, full.end, p);
      run_pass(ctx, row, p, 1, t.width);
    }
    for (int64_t tap = 0; tap < c.taps; ++tap) {
      if (tap == full.begin && full.begin < full.end) tap = full.end;
      if (tap >= c.taps) break;
      // Columns reached by this tap.
      const Range reach = inside(c.x0 + t.j * c.sj + tap * c.st, c.sj, axis.in, t.width);
      if (reach.begin == reach.end) continue;
      for (int64_t e = -1; e < row.extras; ++e) {
        const RowTaps& h = e < 0 ? row.both : row.extra[e];
        if (h.begin == h.end) continue;
        p.out = out + h.row * p.out_row + reach.begin * p.out_step;
        set_pass_taps(ctx, row, t, h, reach.begin, tap, tap + 1, p);
        run_pass(ctx, row, p, h.rows, reach.end - reach.begin);
      }
    }
    p.out = out;
    p.clamp = clamp;
  }
  set_pass_taps(ctx, row, t, row.both, 0, full.begin, full.end, p);
  run_pass(ctx, row, p, row.rows, t.width);

  if (buffered) {
    for (int64_t b = 0; b < row.blocks; ++b) {
      const int64_t lanes_left = b == row.blocks - 1 ? row.tail : kBlock;
      for (int64_t r = 0; r < row.rows; ++r) {
        const int64_t offset = row.dst_offset + b * plan.dst.c + r * plan.dst.h + dst_column;
        apply_epilogue(ctx.epilogue, buffer + b * p.out_block + r * p.out_row, ctx.args.dst, offset, p.residual_step,
                       t.width, row.oc + b * kBlock, lanes_left);
      }
    }
  }
}

void run_row(const ConvContext& ctx, const ConvTile& box, int64_t n, int64_t unit, int64_t sp, float* buffer) {
  (void)box;
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  const int64_t units = (ctx.oc_blocks + plan.oc_blocks - 1) / plan.oc_blocks;
  const int64_t group = unit / units;
  const int64_t first_block = (unit % units) * plan.oc_blocks;
  const int64_t row_groups = (e.h.out + plan.rows - 1) / plan.rows;
  const int64_t chunk = sp % plan.chunks;
  const int64_t od = sp / plan.chunks / row_groups;
  const int64_t oh = sp / plan.chunks % row_groups * plan.rows;

  ConvRow row;
  row.blocks = ctx.oc_blocks - first_block < plan.oc_blocks ? ctx.oc_blocks - first_block : plan.oc_blocks;
  row.rows = e.h.out - oh < plan.rows ? e.h.out - oh : plan.rows;
  const int64_t oc_per_group = e.oc / e.groups;
  row.tail = oc_per_group - (first_block + row.blocks - 1) * kBlock;
  if (row.tail > kBlock) row.tail = kBlock;
  row.oc = group * oc_per_group + first_block * kBlock;
  row.bias = ctx.args.packed + (group * ctx.oc_blocks + first_block) * kBlock;

  const int64_t lanes = row.blocks * kBlock;
  const int64_t column = ctx.plain ? lanes : kBlock * lanes;
  const int64_t w_wei = column, h_wei = e.w.kernel * w_wei, d_wei = e.h.kernel * h_wei, a_wei = e.d.kernel * d_wei;
  (void)w_wei;
  const int64_t reduction = (ctx.plain ? e.ic : ctx.ic_blocks * kBlock) * e.d.kernel * e.h.kernel * e.w.kernel;
  (void)a_wei;
  const int64_t bias_floats = (e.groups * ctx.oc_blocks * kBlock + 15) / 16 * 16;
  row.wei = ctx.args.packed + bias_floats + (group * ctx.oc_blocks + first_block) * kBlock * reduction;

  const TapClass cd = tap_class(e.d, e.transposed, e.transposed ? od % e.d.stride : 0);
  const int64_t jd = e.transposed ? od / e.d.stride : od;
  const Range d = inside(cd.x0 + jd * cd.sj, cd.st, e.d.in, cd.taps);
  row.d_taps = d.end - d.begin;
  row.d_src = cd.st * plan.src.d;
  row.d_wei = cd.tap_step * d_wei;
  const TapClass ch = tap_class(e.h, e.transposed, e.transposed ? oh % e.h.stride : 0);
  const int64_t jh = e.transposed ? oh / e.h.stride : oh;
  set_row_taps(e.h, e.transposed, ch, jh, row.rows, row);
  row.h_src = ch.st * plan.src.h;
  row.h_wei = ch.tap_step * h_wei;
  row.h_row = ch.sj * plan.src.h;

  row.src = ctx.args.src + n * plan.src.n + group * ctx.ic_blocks * (ctx.plain ? 0 : plan.src.c) +
            (cd.x0 + jd * cd.sj + d.begin * cd.st) * plan.src.d + (ch.x0 + jh * ch.sj) * plan.src.h;
  row.wei += (cd.tap0 + d.begin * cd.tap_step) * d_wei + ch.tap0 * h_wei;
  row.dst_offset =
      n * plan.dst.n + (group * ctx.oc_blocks + first_block) * plan.dst.c + od * plan.dst.d + oh * plan.dst.h;
  row.dst = ctx.args.dst + row.dst_offset;
  row.residual = ctx.epilogue.residual ? ctx.epilogue.residual + row.dst_offset : nullptr;

  const int64_t classes = tap_class_count(e.w, e.transposed);
  for (int64_t k = 0; k < classes; ++k) {
    const TapClass c = tap_class(e.w, e.transposed, k);
    const int64_t tiles = (c.count + plan.w_tile - 1) / plan.w_tile;
    const int64_t begin = chunk * tiles / plan.chunks, end = (chunk + 1) * tiles / plan.chunks;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t j = i * c.count / tiles;
      run_tile(ctx, row, {c, j, (i + 1) * c.count / tiles - j}, buffer);
    }
  }
}

void run_conv(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  const ConvProblem& e = plan.exec;
  const bool plain = plan.src_format == ConvFormat::plain;
  const int64_t oc_blocks = (e.oc / e.groups + kBlock - 1) / kBlock;
  const bool ragged = oc_blocks * kBlock != e.oc / e.groups;
  const int64_t step = (e.transposed ? 1 : e.w.stride) * plan.src.w;
  const ConvContext ctx{plan,
                        args,
                        make_epilogue(args.post_ops, args.post_op_count, ragged),
                        &passes_for_step(step, plain),
                        (e.ic / e.groups + kBlock - 1) / kBlock,
                        oc_blocks,
                        plain,
                        plain && e.w.dilation == 1};
  alignas(64) float buffer[kMaxPositions * kMaxBlocks * kBlock];
  for (int64_t n = box.n0; n < box.n1; ++n) {
    // The sources of some rows stay in L2 while all units of output channels pass over them.
    for (int64_t sp = box.sp0; sp < box.sp1; sp += plan.cached_rows) {
      const int64_t sp_end = box.sp1 - sp < plan.cached_rows ? box.sp1 : sp + plan.cached_rows;
      for (int64_t unit = box.oc0; unit < box.oc1; ++unit) {
        for (int64_t s = sp; s < sp_end; ++s) run_row(ctx, box, n, unit, s, buffer);
      }
    }
  }
}

}  // namespace

void conv_dense(const ConvPlan& plan, const ConvArgs& args, const ConvTile& tile) noexcept {
  run_conv(plan, args, tile);
}

}  // namespace terroir::cpu::TERROIR_ISA
