// What: dense convolution over blocked, nhwc or (few channels) plain sources, and transposed convolution: walks a box
// of the work grid and cuts each output row into register tiles (tile_pass.hpp).
// Borders: along w, taps that reach every column of a tile form its main pass; the few others add to the part of the
//   tile they reach in passes of their own, so no pass checks anything and no padding is read or multiplied. Along d
//   and h the range of taps is a property of the row. A one-pass tile never leaves the registers.
// Layouts: source and destination each blocked, nhwc or plain. Whole blocks of channels go from the registers to a
//   blocked or nhwc destination; the last channels of a group in nhwc, and every channel in plain, through a copy of
//   the tile, so that no byte beyond the last channel is touched.
// Order of summation: rounds of input channel blocks (plan.ic_chunk); in a round passes at the border before the main
//   pass; inside a pass channel block, d, h, w, channel. It depends on the position and the plan, never on the box.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/entry_points.hpp"
#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv/tile_pass.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// What stays the same during one run().
struct ConvContext {
  const ConvPlan& plan;
  const ConvArgs& args;
  Epilogue epilogue;
  Epilogue copied_epilogue;  // of tiles that reach dst through a copy for its layout's sake
  const PassTable* passes;
  const PassTable* edge_passes;  // or null
  int64_t inner;                 // dense_inner() of the plan
  int64_t ic_blocks, oc_blocks;  // per group; input blocks of `inner` channels
  int64_t reduction;             // weights per output channel, padding included
  bool columns_inside;  // source and weights of a kernel row are contiguous: the innermost loop runs over the columns
  bool plain_row;       // likewise of a plain source
  bool blocks_inside;   // pointwise, whole blocks: the loop over channel blocks takes the place of the one over columns
  bool tiles_follow;    // kernels of one row take several tiles of one width at once
  float* buffer;        // one register tile, for post-ops that do not fit the registers
};

// Blocks of input channels [begin, end): one round of the reduction. Every round but the first continues the sums in
// dst, and the last one applies the post-ops.
struct Round {
  int64_t begin, end;
  bool first, last;
};

// What the register tiles of one round fetch ahead, each its share: weights of the next round first, then what follows
// the run.
struct Fetch {
  const float* own;
  const float* ahead;
  int64_t lines;      // per innermost loop; 0: nothing
  int64_t loops;      // per register tile
  int64_t own_loops;  // of these, for `own`
};

// Some rows of a tile and the kernel rows [begin, end) of their tap class that only they use.
struct RowTaps {
  int64_t row, rows, begin, end;
};

// One oc unit x one output row (or two).
struct ConvRow {
  TilePass pass;   // loops over all kernel columns; src, out and residual are those of column 0
  int64_t blocks;  // of output channels
  int64_t rows;
  const Epilogue* epilogue;
  bool buffered;    // the tile reaches dst through a copy
  bool finish;      // it is complete after its pass
  int64_t channel;  // first output channel
  int64_t channels_in_last;
  int64_t dst_offset;
  int64_t column;  // distance between weights of neighbouring kernel columns
  RowTaps both;    // pass.n.h and pass.src count from both.begin
  RowTaps extra[4];
  int64_t extras;
};

void set_row_taps(const Range (&range)[2], int64_t rows, ConvRow& row) {
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

// The pass over the kernel columns that every tile position sees, and over those that the first or the last one misses.
TERROIR_INLINE void run_main_pass(const ConvContext& ctx, const ConvRow& row, const TilePass& p, int64_t rows,
                                  int64_t width) {
  const PassTable* table = p.first_tap_short || p.last_tap_short ? ctx.edge_passes : ctx.passes;
  table->row[rows - 1][row.blocks - 1].fn[width - 1](p);
}

TERROIR_INLINE void run_pass(const ConvContext& ctx, const ConvRow& row, const TilePass& p, int64_t rows,
                             int64_t width) {
  ctx.passes->row[rows - 1][row.blocks - 1].fn[width - 1](p);
}

// Narrows the loops of `p` to kernel columns [w0, w1) and the kernel rows of `h`; position 0 is column `x` of the
// source.
void set_taps(const ConvContext& ctx, const ConvRow& row, const TapClass& c, const RowTaps& h, int64_t x, int64_t w0,
              int64_t columns, TilePass& p) {
  const TilePass& all = row.pass;
  p.src =
      all.src + (x + w0 * c.st) * ctx.plan.src.w + (h.begin - row.both.begin) * all.src_stride.h + h.row * all.src_row;
  p.wei = all.wei + w0 * c.tap_step * row.column + (h.begin - row.both.begin) * all.wei_stride.h;
  p.n = all.n;
  p.n.h = h.end - h.begin;
  if (ctx.columns_inside) {
    p.n_i = p.n_i_last = columns * ctx.inner;
  } else if (!ctx.blocks_inside) {
    p.n.w = columns;
  }
}

// Whether the tile columns reached by the tap are [begin, end).
bool reaches(const TapClass& c, const ConvAxis& axis, int64_t x, int64_t width, int64_t tap, int64_t begin,
             int64_t end) {
  const Range reach = inside(x + tap * c.st, c.sj, axis.in, width);
  return reach.begin == begin && reach.end == end;
}

// Columns [j, j + width) of class c; `p` is row.pass but for the prefetch.
void run_border_tile(const ConvContext& ctx, const ConvRow& row, const TapClass& c, int64_t j, int64_t width,
                     TilePass& p) {
  const ConvAxis& axis = ctx.plan.exec.w;
  const int64_t x = c.x0 + j * c.sj;
  // Taps that reach the first and the last column reach all columns between.
  const Range left = inside(x, c.st, axis.in, c.taps);
  const Range right = inside(x + (width - 1) * c.sj, c.st, axis.in, c.taps);
  Range full{left.begin > right.begin ? left.begin : right.begin, left.end < right.end ? left.end : right.end};
  if (full.end < full.begin) full.end = full.begin;

  // A tap that only the first or only the last column misses joins the main pass.
  const bool edges = ctx.edge_passes && ctx.edge_passes->row[row.rows - 1][row.blocks - 1].fn[width - 1] && width > 1 &&
                     full.begin < full.end;
  p.first_tap_short = edges && full.begin > 0 && reaches(c, axis, x, width, full.begin - 1, 1, width);
  p.last_tap_short = edges && full.end < c.taps && reaches(c, axis, x, width, full.end, 0, width - 1);
  const int64_t main_begin = full.begin - (p.first_tap_short ? 1 : 0), main_end = full.end + (p.last_tap_short ? 1 : 0);

  const bool clamp = p.clamp;
  float* const out = p.out;
  if (row.extras > 0 || main_begin > 0 || main_end < c.taps) {
    p.clamp = false;
    p.n = {0, 0, 0, 0};
    run_pass(ctx, row, p, row.rows, width);
    // The passes that follow continue the sums in `out`.
    p.bias = kNoBias;
    p.residual_step = p.out_step;
    p.residual_row = p.out_row;
    p.residual_block = p.out_block;
    for (int64_t e = 0; e < row.extras && full.begin < full.end; ++e) {
      p.residual = p.out = out + row.extra[e].row * p.out_row;
      set_taps(ctx, row, c, row.extra[e], x, main_begin, full.end - full.begin, p);
      run_main_pass(ctx, row, p, 1, width);
    }
    for (int64_t tap = 0; tap < c.taps; ++tap) {
      if (tap == main_begin && main_begin < main_end) tap = main_end;
      if (tap >= c.taps) break;
      const Range reach = inside(x + tap * c.st, c.sj, axis.in, width);  // columns reached by this tap
      if (reach.begin == reach.end) continue;
      for (int64_t e = -1; e < row.extras; ++e) {
        const RowTaps& h = e < 0 ? row.both : row.extra[e];
        if (h.begin == h.end) continue;
        p.residual = p.out = out + h.row * p.out_row + reach.begin * p.out_step;
        set_taps(ctx, row, c, h, x + reach.begin * c.sj, tap, 1, p);
        run_pass(ctx, row, p, h.rows, reach.end - reach.begin);
      }
    }
    p.residual = out;
  }
  p.out = out;
  p.clamp = clamp;
  set_taps(ctx, row, c, row.both, x, main_begin, full.end - full.begin, p);
  run_main_pass(ctx, row, p, row.rows, width);
  p.bias = row.pass.bias;
  p.residual = row.pass.residual;
  p.residual_step = row.pass.residual_step;
  p.residual_row = row.pass.residual_row;
  p.residual_block = row.pass.residual_block;
  p.first_tap_short = p.last_tap_short = false;
}

// apply_epilogue to a plain tensor: dst + offset is the first position of the first channel, channels are `plane`
// apart.
void apply_epilogue_plain(const Epilogue& e, const float* in, float* dst, int64_t offset, int64_t plane, int64_t width,
                          int64_t channel, int64_t channels) {
  alignas(64) float rows[kBlock * kLanes];
  for (int64_t first = 0; first < width; first += kLanes) {
    const int64_t n = width - first < kLanes ? width - first : kLanes;
    for (int v = 0; v < kVectorsPerBlock; ++v) {
      V r[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) r[i] = i < n ? loadu(in + (first + i) * kBlock + v * kLanes) : zero();
      transpose(r);
      for (int64_t i = 0; i < kLanes; ++i) store(rows + (v * kLanes + i) * kLanes, r[i]);
    }
    if (e.rest_count > 0) {
      const PostOpRows region{rows,  dst + offset + first, channels, n,       kLanes,
                              plane, offset + first,       plane,    channel, ChannelAxis::rows};
      run_post_ops(region, e.rest, e.rest_count);
    } else {
      for (int64_t c = 0; c < channels; ++c) store_n(dst + offset + first + c * plane, load(rows + c * kLanes), n);
    }
  }
}

// From the copy of a tile to dst, through the post-ops.
void finish_tile(const ConvContext& ctx, const ConvRow& row, const TilePass& p, int64_t offset, int64_t step,
                 int64_t width) {
  const ConvPlan& plan = ctx.plan;
  for (int64_t b = 0; b < row.blocks; ++b) {
    const int64_t channels = b == row.blocks - 1 ? row.channels_in_last : kBlock;
    const int64_t channel = row.channel + b * kBlock;
    for (int64_t r = 0; r < row.rows; ++r) {
      const float* in = ctx.buffer + b * p.out_block + r * p.out_row;
      const int64_t to = offset + r * plan.dst.h;
      if (plan.dst_format == ConvFormat::plain) {
        apply_epilogue_plain(*row.epilogue, in, ctx.args.dst, to + b * kBlock * plan.dst.c, plan.dst.c, width, channel,
                             channels);
      } else {
        apply_epilogue(*row.epilogue, in, ctx.args.dst, to + b * plan.dst.c, step, width, channel, channels,
                       plan.dst_format == ConvFormat::blocked);
      }
    }
  }
}

// Activates `width` columns from `out` on, which several tiles have stored.
void activate_tiles(const ConvContext& ctx, const ConvRow& row, const TilePass& p, float* out, int64_t width) {
  ctx.epilogue.activate({out, row.blocks, p.out_block, row.rows, p.out_row, width, p.out_step}, ctx.epilogue.alpha);
  float* const last = out + (row.blocks - 1) * p.out_block;
  for (int64_t r = 0; r < row.rows; ++r) clear_tail(last + r * p.out_row, p.out_step, width, row.channels_in_last);
}

// Tiles [begin, end) of those into which the columns [first, first + columns) of class c are cut: equal ones, but for
// the first `left` and the last `right` columns, which are tiles of their own unless there are none.
struct TileRange {
  int64_t first, columns, tiles, begin, end;
  int64_t left = 0, right = 0;
};

// Of `most` tiles of one width, those between which nothing happens: the kernel goes from one to the next by itself.
int64_t tiles_at_once(const ConvRow& row, bool activate, int64_t width, int64_t most) {
  if (!activate) return most;
  const int64_t until_activation = kActivatedAtOnce / (row.blocks * kBlock * width) + 1;
  return most < until_activation ? most : until_activation;
}

void run_tiles(const ConvContext& ctx, ConvRow& row, const TapClass& c, const TileRange& range, Fetch& fetch) {
  const ConvPlan& plan = ctx.plan;
  const bool buffered = row.buffered;
  const int64_t first_tap = c.st < 0 ? (c.taps - 1) * c.st : 0, last_tap = c.st > 0 ? (c.taps - 1) * c.st : 0;
  const int64_t equal = range.tiles - (range.left > 0 ? 1 : 0) - (range.right > 0 ? 1 : 0);
  const int64_t equal_columns = range.columns - range.left - range.right;
  const int64_t narrow = equal_columns / equal, wider = equal_columns % equal;
  const int64_t dst_step = c.step * plan.dst.w;
  const bool activate = row.epilogue->activate && row.finish;
  int64_t inactive = 0;  // columns that are stored and wait for their activation
  TilePass p = row.pass;
  int64_t tiles;
  for (int64_t i = range.begin; i < range.end; i += tiles) {
    const int64_t k = i - (range.left > 0 ? 1 : 0);
    const int64_t width = k < 0 ? range.left : k == equal ? range.right : narrow + (k < wider ? 1 : 0);
    const int64_t j = range.first + (k < 0 ? 0 : range.left + k * narrow + (k < wider ? k : wider));
    const int64_t dst_column = (c.first + j * c.step) * plan.dst.w;
    if (buffered) {
      p.out = ctx.buffer;
      p.out_row = width * kBlock;
      p.out_block = row.rows * width * kBlock;
    } else {
      p.out = row.pass.out + dst_column;
    }
    if (row.pass.residual) p.residual = row.pass.residual + dst_column;
    const int64_t x = c.x0 + j * c.sj;
    const bool all_taps =
        row.extras == 0 && c.taps > 0 && x + first_tap >= 0 && x + (width - 1) * c.sj + last_tap < plan.exec.w.in;
    tiles = 1;
    if (all_taps && ctx.tiles_follow && !buffered && row.rows == 1) {
      const int64_t alike = (k < wider ? wider : equal) - k, left = range.end - i;
      tiles = tiles_at_once(row, activate, width, alike < left ? alike : left);
      if (x + (tiles * width - 1) * c.sj + last_tap >= plan.exec.w.in) tiles = 1;
    }
    p.more_tiles = tiles - 1;
    p.tile_src = width * c.sj * plan.src.w;
    p.tile_out = width * dst_step;
    p.prefetch = fetch.own_loops > 0 ? fetch.own : fetch.ahead;
    p.prefetch_end = fetch.own + tiles * fetch.own_loops * fetch.lines * 16;
    p.ahead = fetch.ahead;
    if (all_taps) {
      p.src = row.pass.src + x * plan.src.w;
      run_pass(ctx, row, p, row.rows, width);
    } else {
      run_border_tile(ctx, row, c, j, width, p);
      p.wei = row.pass.wei;
      p.n = row.pass.n;
      p.n_i = row.pass.n_i;
      p.n_i_last = row.pass.n_i_last;
    }
    fetch.own += tiles * fetch.own_loops * fetch.lines * 16;
    fetch.ahead += tiles * (fetch.loops - fetch.own_loops) * fetch.lines * 16;
    if (buffered) finish_tile(ctx, row, p, row.dst_offset + dst_column, dst_step, width);
    if (activate) {
      inactive += tiles * width;
      if (i + tiles == range.end || inactive * row.blocks * row.rows * kBlock >= kActivatedAtOnce) {
        activate_tiles(ctx, row, p, p.out - (inactive - tiles * width) * p.out_step, inactive);
        inactive = 0;
      }
    }
  }
}

// Tiles of their own for the columns that miss some taps: what these take then grows with their number alone.
void part_borders(const TapClass& c, const ConvAxis& axis, int64_t w_tile, TileRange& range) {
  const Range whole = inside(c.x0, c.sj, axis.in, range.columns),
              whole_last = inside(c.x0 + (c.taps - 1) * c.st, c.sj, axis.in, range.columns);
  const int64_t left = whole.begin, right = range.columns - whole_last.end, rest = range.columns - left - right;
  if (rest < 1 || left > w_tile || right > w_tile) return;
  range.left = left;
  range.right = right;
  range.tiles = (rest + w_tile - 1) / w_tile + (left > 0 ? 1 : 0) + (right > 0 ? 1 : 0);
}

// Chunks [chunk_begin, chunk_end) of row group `row_group`.
void run_row(const ConvContext& ctx, int64_t n, int64_t unit, const Round& round, int64_t row_group,
             int64_t chunk_begin, int64_t chunk_end, Fetch& fetch) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  const int64_t units = (ctx.oc_blocks + plan.oc_blocks - 1) / plan.oc_blocks;
  const int64_t group = unit / units;
  const int64_t first_block = (unit % units) * plan.oc_blocks;
  const int64_t row_groups = (e.h.out + plan.rows - 1) / plan.rows;
  const int64_t od = row_group / row_groups;
  const int64_t oh = row_group % row_groups * plan.rows;
  const int64_t oc_per_group = e.oc / e.groups;

  ConvRow row;
  row.blocks = ctx.oc_blocks - first_block < plan.oc_blocks ? ctx.oc_blocks - first_block : plan.oc_blocks;
  row.rows = e.h.out - oh < plan.rows ? e.h.out - oh : plan.rows;
  row.channel = group * oc_per_group + first_block * kBlock;
  row.channels_in_last = oc_per_group - (first_block + row.blocks - 1) * kBlock;
  if (row.channels_in_last > kBlock) row.channels_in_last = kBlock;
  row.dst_offset = n * plan.dst.n + od * plan.dst.d + oh * plan.dst.h;
  switch (plan.dst_format) {
    case ConvFormat::plain:
      row.dst_offset += row.channel * plan.dst.c;
      break;
    case ConvFormat::nhwc:
      row.dst_offset += row.channel;
      break;
    case ConvFormat::blocked:
      row.dst_offset += (group * ctx.oc_blocks + first_block) * plan.dst.c;
      break;
  }
  const bool copied =
      plan.dst_format == ConvFormat::plain || (plan.dst_format == ConvFormat::nhwc && row.channels_in_last < kBlock);
  row.epilogue = copied ? &ctx.copied_epilogue : &ctx.epilogue;
  row.finish = round.last;
  row.buffered = copied || (ctx.epilogue.rest_count > 0 && round.last);

  const TapClass cd = tap_class(e.d, e.transposed, e.transposed ? od % e.d.stride : 0);
  const TapClass ch = tap_class(e.h, e.transposed, e.transposed ? oh % e.h.stride : 0);
  const int64_t xd = cd.x0 + (e.transposed ? od / e.d.stride : od) * cd.sj;
  const int64_t xh = ch.x0 + (e.transposed ? oh / e.h.stride : oh) * ch.sj;
  const Range d = inside(xd, cd.st, e.d.in, cd.taps);
  Range h[2];
  for (int64_t r = 0; r < row.rows; ++r) h[r] = inside(xh + r * ch.sj, ch.st, e.h.in, ch.taps);
  set_row_taps(h, row.rows, row);

  const int64_t lanes = row.blocks * kBlock;
  row.column = ctx.inner * lanes;
  const int64_t wei_h = e.w.kernel * row.column, wei_d = e.h.kernel * wei_h;
  const int64_t bias_floats = (e.groups * ctx.oc_blocks * kBlock + 15) / 16 * 16;
  const int64_t block_in_all = group * ctx.oc_blocks + first_block;

  TilePass& p = row.pass;
  const int64_t icg = e.ic / e.groups;
  p.src = ctx.args.src + n * plan.src.n + round.begin * plan.src.c +
          (plan.src_format == ConvFormat::nhwc ? group * icg : group * ctx.ic_blocks * plan.src.c) +
          (xd + d.begin * cd.st) * plan.src.d + (xh + row.both.begin * ch.st) * plan.src.h;
  p.src_row = ch.sj * plan.src.h;
  p.src_stride = {plan.src.c, cd.st * plan.src.d, ch.st * plan.src.h, 0};
  p.wei = ctx.args.packed + bias_floats + block_in_all * kBlock * ctx.reduction + round.begin * e.d.kernel * wei_d +
          (cd.tap0 + d.begin * cd.tap_step) * wei_d + (ch.tap0 + row.both.begin * ch.tap_step) * wei_h;
  p.wei_stride = {e.d.kernel * wei_d, cd.tap_step * wei_d, ch.tap_step * wei_h, 0};
  p.n = {round.end - round.begin, d.end - d.begin, row.both.end - row.both.begin, 1};
  p.n_i = ctx.inner;
  p.n_i_last = round.last ? icg - (ctx.ic_blocks - 1) * ctx.inner : ctx.inner;
  p.out = ctx.args.dst + row.dst_offset;
  p.out_row = plan.dst.h;
  p.out_block = plan.dst.c;
  p.bias = round.first ? ctx.args.packed + block_in_all * kBlock : kNoBias;
  const float* const residual = round.first ? row.epilogue->residual : ctx.args.dst;
  p.residual = residual ? residual + row.dst_offset : nullptr;
  p.residual_row = plan.dst.h;
  p.residual_block = plan.dst.c;
  p.prefetch_lines = fetch.lines;
  p.fetch_sources = ctx.blocks_inside;
  p.first_tap_short = p.last_tap_short = false;
  p.clamp = row.epilogue->clamp && round.last;
  p.low = row.epilogue->low;
  p.high = row.epilogue->high;

  const float* const src = p.src;
  const float* const wei = p.wei;
  const int64_t classes = tap_class_count(e.w, e.transposed);
  for (int64_t k = 0; k < classes; ++k) {
    const TapClass c = tap_class(e.w, e.transposed, k);
    const int64_t first = plan.column_units ? chunk_begin : 0;
    const int64_t columns = plan.column_units ? chunk_end - chunk_begin : c.count;
    TileRange range{first, columns, (columns + plan.w_tile - 1) / plan.w_tile, 0, 0};
    if (ctx.plain_row) part_borders(c, e.w, plan.w_tile, range);
    range.begin = plan.column_units ? 0 : chunk_begin * range.tiles / plan.chunks;
    range.end = plan.column_units ? range.tiles : chunk_end * range.tiles / plan.chunks;
    p.src = src;
    p.wei = wei + c.tap0 * row.column;
    p.src_step = c.sj * plan.src.w;
    p.src_stride.w = c.st * plan.src.w;
    p.wei_stride.w = c.tap_step * row.column;
    p.out_step = row.buffered ? kBlock : c.step * plan.dst.w;
    p.residual_step = c.step * plan.dst.w;
    if (ctx.columns_inside) {
      p.n_i = p.n_i_last = c.taps * ctx.inner;
    } else if (ctx.blocks_inside) {
      p.n.w = round.end - round.begin;
      p.n.a = 1;
      p.src_stride.w = plan.src.c;
      p.wei_stride.w = row.column;
      p.n_i_last = kBlock;
    } else {
      p.n.w = c.taps;
    }
    run_tiles(ctx, row, c, range, fetch);
  }
}

// A share of ConvArgs::ahead for one of `rounds` rounds, of one range and at most `most`.
ConvLines take_lines(const ConvArgs& args, int64_t rounds, int64_t most) {
  ConvAhead* const ahead = args.ahead;
  if (!ahead) return {nullptr, 0};
  while (ahead->count > 0 && ahead->lines->count == 0) ++ahead->lines, --ahead->count;
  int64_t all = 0;
  for (int64_t i = 0; i < ahead->count; ++i) all += ahead->lines[i].count;
  if (all == 0) return {nullptr, 0};
  const int64_t shares = ahead->runs * rounds;
  int64_t count = (all + shares - 1) / shares;
  if (count > ahead->lines->count) count = ahead->lines->count;
  if (count > most) count = most;
  const ConvLines taken{ahead->lines->begin, count};
  ahead->lines->begin += count * 16;
  ahead->lines->count -= count;
  return taken;
}

// The fetches of one of `rounds` rounds, of `tiles` register tiles of `loops` innermost loops.
Fetch shared_fetch(const ConvArgs& args, const float* own, int64_t own_lines, int64_t rounds, int64_t tiles,
                   int64_t loops) {
  // A fetch holds one of L1's few buffers for misses until it is done, and so the kernel's own reads: beyond this the
  // loops become slower by what is won behind them, measured.
  constexpr int64_t kLinesPerLoop = 12;
  const int64_t all = tiles * loops, spare = all * kLinesPerLoop - own_lines;
  const ConvLines ahead = take_lines(args, rounds, spare > 0 ? spare : 0);
  Fetch fetch{own, ahead.begin, (own_lines + ahead.count + all - 1) / all, loops, 0};
  if (own_lines == 0 || fetch.lines == 0) return fetch;
  fetch.own_loops = loops;
  if (ahead.count > 0) {
    fetch.own_loops = (own_lines + tiles * fetch.lines - 1) / (tiles * fetch.lines);
    if (fetch.own_loops > loops) fetch.own_loops = loops;
  }
  return fetch;
}

const PassTable& choose_passes(const ConvPlan& plan, bool columns_inside) {
  const bool plain = plan.src_format == ConvFormat::plain;
  if (has_one_position(plan)) return kPassPoint;
  if (plain && !columns_inside) return kPassAnyStep;
  return passes_for_step((plan.exec.transposed ? 1 : plan.exec.w.stride) * plan.src.w, plain);
}

void run_conv(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  const ConvProblem& e = plan.exec;
  const bool plain = plan.src_format == ConvFormat::plain;
  const int64_t icg = e.ic / e.groups, ocg = e.oc / e.groups;
  const int64_t inner = dense_inner(e, plan.src_format, kBlock);
  const int64_t ic_blocks = (icg + inner - 1) / inner, oc_blocks = (ocg + kBlock - 1) / kBlock;
  const int64_t taps = e.d.kernel * e.h.kernel * e.w.kernel;
  // Every column has its tap: there are no border tiles.
  const bool pointwise = taps == 1 && !e.transposed && e.w.pad == 0 && (e.w.out - 1) * e.w.stride < e.w.in;
  // Neighbouring columns are neighbours in memory: one plain channel, or all channels of nhwc.
  const bool adjacent = plain || (plan.src_format == ConvFormat::nhwc && e.groups == 1 && ic_blocks == 1);
  const bool columns_inside = adjacent && columns_follow(e);
  const int64_t step = e.w.stride * plan.src.w;
  const bool ragged = plan.dst_format == ConvFormat::blocked && ocg % kBlock != 0;
  alignas(64) float buffer[kMaxPositions * kMaxBlocks * kBlock];
  const ConvContext ctx{plan,
                        args,
                        make_epilogue(args.post_ops, args.post_op_count, ragged),
                        make_epilogue(args.post_ops, args.post_op_count, false, true),
                        &choose_passes(plan, columns_inside),
                        e.transposed || plain || columns_inside || has_one_position(plan)
                            ? nullptr
                            : edge_passes_for_step(e.w.stride * plan.src.w),
                        inner,
                        ic_blocks,
                        oc_blocks,
                        ic_blocks * inner * taps,
                        columns_inside,
                        plain && columns_inside,
                        pointwise && inner == kBlock && icg % kBlock == 0,
                        (pointwise && (step == kBlock || step == 2 * kBlock)) || (plain && columns_inside && step <= 2),
                        buffer};
  const int64_t unit_floats = plan.oc_blocks * kBlock * ctx.reduction;
  const int64_t chunk = plan.ic_chunk > 0 ? plan.ic_chunk : ic_blocks;
  const int64_t round_floats = plan.oc_blocks * kBlock * chunk * inner * taps;
  for (int64_t n = box.n0; n < box.n1; ++n) {
    // The sources of some rows stay in L2 while all units of output channels pass over them.
    for (int64_t sp = box.sp0; sp < box.sp1; sp += plan.cached_rows) {
      const int64_t sp_end = box.sp1 - sp < plan.cached_rows ? box.sp1 : sp + plan.cached_rows;
      // Both kinds of fetches are spread evenly over the innermost loops.
      const int64_t tiles = plan.column_units
                                ? (sp_end - sp + plan.w_tile - 1) / plan.w_tile
                                : (sp_end - sp) * ((e.w.out + plan.w_tile - 1) / plan.w_tile) / plan.chunks;
      // The first and the last kernel row are missing at the border.
      const int64_t rows_of_kernel = e.h.kernel > 1 ? e.h.kernel - 1 : 1;
      const int64_t loops = e.d.kernel * rows_of_kernel * chunk * (ctx.columns_inside ? 1 : e.w.kernel);
      int64_t rounds = (box.n1 - n - 1) * (box.sp1 - box.sp0) + box.sp1 - sp;
      rounds =
          (rounds + plan.cached_rows - 1) / plan.cached_rows * (box.oc1 - box.oc0) * ((ic_blocks + chunk - 1) / chunk);
      for (int64_t unit = box.oc0; unit < box.oc1; ++unit) {
        for (int64_t a = 0; a < ic_blocks; a += chunk) {
          const Round round{a, ic_blocks - a < chunk ? ic_blocks : a + chunk, a == 0, a + chunk >= ic_blocks};
          const bool last = round.last && unit + 1 >= box.oc1 && unit + 1 >= args.oc_ahead;
          // Weights that do not stay in L2 are fetched a round ahead.
          const int64_t own_lines = plan.prefetch && !last ? round_floats / 16 : 0;
          const float* own = args.packed + (e.groups * oc_blocks * kBlock + 15) / 16 * 16 + unit * unit_floats +
                             (a / chunk + 1) * round_floats;
          Fetch fetch = shared_fetch(args, own, own_lines, rounds--, tiles > 1 ? tiles : 1, loops);
          for (int64_t s = sp; s < sp_end;) {
            const int64_t row_group = s / plan.chunks, first = row_group * plan.chunks;
            const int64_t end = sp_end - first < plan.chunks ? sp_end : first + plan.chunks;
            run_row(ctx, n, unit, round, row_group, s - first, end - first, fetch);
            s = end;
          }
        }
      }
    }
  }
  if (args.ahead && args.ahead->runs > 1) --args.ahead->runs;
}

}  // namespace

void conv_dense(const ConvPlan& plan, const ConvArgs& args, const ConvTile& tile) noexcept {
  run_conv(plan, args, tile);
}

}  // namespace terroir::cpu::TERROIR_ISA
