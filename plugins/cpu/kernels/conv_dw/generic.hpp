// What: depthwise convolution, and grouped convolution with any channels per group, each also transposed: walks a box
// of the work grid (batch, channel blocks, output rows) and cuts each row into register tiles (lane_tile.hpp).
// Borders: kernels of 3 or 5 dense columns read zero for the elements of their window that lie outside. Others skip
//   the positions of a tile that a tap misses; or, where lanes are not a position's own and whole, run the taps that
//   reach the whole tile in one pass and add the few others to the part they reach.
// Layouts: the last channels of nhwc are loaded one by one or under a mask, and stored from a copy of the tile.
// Order of summation: depends on the position and the plan, never on the box.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv/entry_points.hpp"
#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv_dw/lane_reaches.hpp"
#include "plugins/cpu/kernels/conv_dw/lane_rows.hpp"
#include "plugins/cpu/kernels/conv_dw/spread_rows.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

struct LaneContext {
  const ConvPlan& plan;
  const ConvArgs& args;
  Epilogue epilogue;
  Epilogue copied_epilogue;  // of tiles that reach dst through a copy for its layout's sake
  TapClass columns;          // not transposed: of all columns
  // What suits the channel block at hand.
  const LanePassTable* passes;
  const LaneWindowTable* window;  // or null
  const LaneRowsTable* rows;      // or null: whole rows in one call
  const int32_t* index;           // or null: lanes of their own
  int64_t tiles, narrow, wider;   // of a row: the first `wider` tiles have narrow + 1 columns, the others narrow
  float* buffer;                  // one register tile, for post-ops that do not fit the registers
  SpreadRows* spread;             // or null: what tiles read
  ConvStrides src;                // of what tiles read
  bool strips;                    // rows of tiles, of which kernel columns may miss a part
  uint8_t* reaches;               // [tile][kernel column], or null: no strips

  int64_t column(int64_t tile) const { return tile * narrow + (tile < wider ? tile : wider); }
  // Without a division where it is clear.
  int64_t first_tile(int64_t chunk) const {
    return chunk == 0 ? 0 : chunk == plan.chunks ? tiles : chunk * tiles / plan.chunks;
  }
};

struct LaneRow {
  int64_t dst_offset;
  int64_t channel, channels;
  const Epilogue* epilogue;
  bool buffered;  // tiles reach dst through a copy
};

// Lanes beyond the last channel computed with whatever the source's tail holds.
void finish_lane_tile(const LaneContext& ctx, const LaneRow& row, const float* buffer, int64_t offset, int64_t step,
                      int64_t width) {
  const bool padded = ctx.plan.dst_format == ConvFormat::blocked;
  if (row.buffered) {
    apply_epilogue(*row.epilogue, buffer, ctx.args.dst, offset, step, width, row.channel, row.channels, padded);
  } else if (padded) {
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
      q.tail -= kLanes;
      if (q.tail <= 0) return;
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

// So many positions, by the kernels for the channel block at hand.
void run_pass(const LaneContext& ctx, const LanePass& p, int64_t positions) {
  const int64_t most = ctx.passes == &kLaneGathered ? kMaxGatheredPositions : kMaxPassPositions;
  if (positions <= most) return run_vectors(ctx, ctx.passes->fn[positions - 1], p);
  LanePass part = p;
  for (int64_t done = 0; done < positions; done += most) {
    part.src = p.src + done * p.src_step;
    part.out = p.out + done * p.out_step;
    if (p.residual) part.residual = p.residual + done * p.residual_step;
    run_vectors(ctx, ctx.passes->fn[(positions - done < most ? positions - done : most) - 1], part);
  }
}

// Columns [j, j + width) of class c, tap by tap. `base` describes column 0 of the source row.
void run_tapped_tile(const LaneContext& ctx, const LanePass& base, const TapClass& c, int64_t j, int64_t width) {
  const ConvPlan& plan = ctx.plan;
  const ConvAxis& axis = plan.exec.w;
  const int64_t x = c.x0 + j * c.sj;
  // Taps that reach the first and the last column reach all columns between.
  const Range left = inside(x, c.st, axis.in, c.taps);
  const Range right = inside(x + (width - 1) * c.sj, c.st, axis.in, c.taps);
  Range full{left.begin > right.begin ? left.begin : right.begin, left.end < right.end ? left.end : right.end};
  if (full.end < full.begin) full.end = full.begin;
  LanePass p = base;
  p.src_step = c.sj * ctx.src.w;
  p.src_w = c.st * ctx.src.w;
  p.wei_w = c.tap_step * kBlock;
  if (full.begin > 0 || full.end < c.taps) {
    p.clamp = false;
    p.n_w = 0;
    run_pass(ctx, p, width);
    p.load = true;
    p.n_w = 1;
    for (int64_t tap = 0; tap < c.taps; ++tap) {
      if (tap == full.begin && full.begin < full.end) tap = full.end;
      if (tap >= c.taps) break;
      const Range reach = inside(x + tap * c.st, c.sj, axis.in, width);
      if (reach.begin == reach.end) continue;
      p.src = base.src + (x + reach.begin * c.sj + tap * c.st) * ctx.src.w;
      p.wei = base.wei + (c.tap0 + tap * c.tap_step) * kBlock;
      p.out = base.out + reach.begin * p.out_step;
      run_pass(ctx, p, reach.end - reach.begin);
    }
    p.clamp = base.clamp;
    p.out = base.out;
  }
  p.src = base.src + (x + full.begin * c.st) * ctx.src.w;
  p.wei = base.wei + (c.tap0 + full.begin * c.tap_step) * kBlock;
  p.n_w = full.end - full.begin;
  run_pass(ctx, p, width);
}

// Elements of the first and of the last window of a row that lie outside.
Range outside_row(const ConvAxis& axis) {
  const int64_t right = (axis.out - 1) * axis.stride - axis.pad + axis.kernel - axis.in;
  return {axis.pad > 0 ? axis.pad : 0, right > 0 ? right : 0};
}

// Whether lane_rows.hpp has tiles for the problem, and nothing but a clamp or an activation follows.
bool rows_fit(const LaneContext& ctx) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  if (!kHasLaneRows || ctx.index || e.transposed || e.d.in * e.d.out * e.d.kernel > 1 || e.d.pad != 0) return false;
  if (ctx.src.w != kBlock || plan.dst_format != ConvFormat::blocked) return false;
  if (e.h.dilation > 1 || e.w.dilation > 1 || e.w.stride > 2 || (e.w.kernel != 3 && e.w.kernel != 5)) return false;
  if (ctx.epilogue.residual || ctx.epilogue.rest_count > 0) return false;
  const Range outside = outside_row(e.w);
  const int64_t edge = e.w.kernel / 2;
  return outside.begin <= edge && outside.end <= edge && (ctx.tiles == 1 || ctx.narrow * e.w.stride >= edge);
}

// Tiles [begin, end) of the row that `p` describes up to the columns.
void run_lane_tiles(const LaneContext& ctx, const LaneRow& row, LanePass& p, int64_t begin, int64_t end) {
  const ConvPlan& plan = ctx.plan;
  const ConvAxis& axis = plan.exec.w;
  const float* const src = p.src;
  p.src_step = ctx.src.w;
  int64_t inactive = 0;  // columns that are stored and wait for their activation
  for (int64_t i = begin; i < end; ++i) {
    const int64_t width = ctx.narrow + (i < ctx.wider ? 1 : 0);
    const int64_t j = ctx.column(i);
    const int64_t offset = row.dst_offset + j * plan.dst.w;
    p.out = row.buffered ? ctx.buffer : ctx.args.dst + offset;
    p.residual = row.epilogue->residual ? row.epilogue->residual + offset : nullptr;
    const int64_t x = j * axis.stride - axis.pad;
    if (ctx.window && window_fits(axis, j, width)) {
      p.src = src + x * ctx.src.w;
      p.inside_begin = x < 0 ? -x : 0;
      p.inside_end = axis.in - x;
      run_vectors(ctx, ctx.window->fn[width - 1], p);
      p.src = src;
    } else {
      run_tapped_tile(ctx, p, ctx.columns, j, width);
    }
    if (row.epilogue->activate) {
      inactive += width;
      if (i + 1 < end && inactive * kBlock < kActivatedAtOnce) continue;
      float* const out = p.out - (inactive - width) * p.out_step;
      row.epilogue->activate({out, 1, 0, 1, 0, inactive, p.out_step}, row.epilogue->alpha);
      clear_tail(out, p.out_step, inactive, row.channels);
      inactive = 0;
      continue;
    }
    finish_lane_tile(ctx, row, ctx.buffer, offset, plan.dst.w, width);
  }
}

// Tiles [begin, end) of `rows` rows from row `oh` on, of the block that `p` describes but for rows and columns.
void run_whole_rows(const LaneContext& ctx, const LaneRow& row, const LaneRowsPass& block, int64_t oh, int64_t rows,
                    int64_t begin, int64_t end) {
  const ConvPlan& plan = ctx.plan;
  const ConvAxis& axis = plan.exec.w;
  const Range outside = outside_row(axis);
  const int64_t first = ctx.column(begin), columns = ctx.column(end) - first;
  int64_t at_once = rows;
  if (ctx.epilogue.activate) at_once = kActivatedAtOnce / (columns * kBlock) + 1;
  LaneRowsPass p = block;
  for (int64_t r = 0; r < rows; r += p.rows) {
    p.rows = rows - r < at_once ? rows - r : at_once;
    p.y = (oh + r) * p.step - plan.exec.h.pad;
    float* const out = block.out + (oh + r) * p.out_h;
    // Those that have a column more, and the others.
    const int64_t cuts[] = {begin, begin > ctx.wider ? begin : end < ctx.wider ? end : ctx.wider, end};
    for (int k = 0; k < 2; ++k) {
      p.tiles = cuts[k + 1] - cuts[k];
      if (p.tiles == 0) continue;
      const int64_t j = ctx.column(cuts[k]);
      p.src = block.src + (j * axis.stride - axis.pad) * kBlock;
      p.out = out + j * kBlock;
      p.left = cuts[k] == 0 ? outside.begin : 0;
      p.right = cuts[k + 1] == ctx.tiles ? outside.end : 0;
      ctx.rows->fn[ctx.narrow - k](p);
    }
    float* const done = out + first * kBlock;
    if (ctx.epilogue.activate)
      ctx.epilogue.activate({done, 1, 0, p.rows, p.out_h, columns, kBlock}, ctx.epilogue.alpha);
    for (int64_t i = 0; i < p.rows; ++i) clear_tail(done + i * p.out_h, kBlock, columns, row.channels);
  }
}

// Whether kernel columns miss positions of the tile.
bool is_at_edge(const ConvAxis& axis, int64_t j, int64_t width) {
  const int64_t x = j * axis.stride - axis.pad;
  return x < 0 || x + (width - 1) * axis.stride + (axis.kernel - 1) * axis.dilation >= axis.in;
}

// Of a tile of class c from column j on.
void set_reaches(const TapClass& c, int64_t in, int64_t j, int64_t width, uint8_t* reaches) {
  int64_t x = c.x0 + j * c.sj;
  for (int64_t t = 0; t < c.taps; ++t, x += c.st) {
    // Without divisions: small images have little else to do.
    int64_t begin = 0, end = width;
    if (c.sj == 1) {
      begin = x >= 0 ? 0 : -x < width ? -x : width;
      end = in - x < width ? in - x : width;
    }
    while (begin < width && x + begin * c.sj < 0) ++begin;
    while (end > begin && x + (end - 1) * c.sj >= in) --end;
    const int64_t reach = begin >= end ? kReachesFirst : end < width ? kReachesFirst + end : begin;
    reaches[t] = static_cast<uint8_t>(reach);
  }
}

// Of the tiles at an edge that the box has.
void set_reaches(const LaneContext& ctx, const ConvTile& box) {
  const ConvAxis& axis = ctx.plan.exec.w;
  const int64_t chunks = ctx.plan.chunks, row = box.sp0 / chunks * chunks;
  const bool one_row = box.sp1 - row <= chunks;
  const int64_t begin = one_row ? ctx.first_tile(box.sp0 - row) : 0;
  const int64_t end = one_row ? ctx.first_tile(box.sp1 - row) : ctx.tiles;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t width = ctx.narrow + (i < ctx.wider ? 1 : 0), j = ctx.column(i);
    if (is_at_edge(axis, j, width)) set_reaches(ctx.columns, axis.in, j, width, ctx.reaches + i * axis.kernel);
  }
}

// Likewise of transposed ones: [class][tile][tap].
void set_transposed_reaches(const LaneContext& ctx) {
  const ConvAxis& axis = ctx.plan.exec.w;
  uint8_t* reaches = ctx.reaches;
  for (int64_t k = 0; k < tap_class_count(axis, true); ++k) {
    const TapClass c = tap_class(axis, true, k);
    const int64_t tiles = (c.count + ctx.plan.w_tile - 1) / ctx.plan.w_tile;
    for (int64_t i = 0; i < tiles; ++i, reaches += c.taps) {
      const int64_t narrow = c.count / tiles, wider = c.count % tiles;
      set_reaches(c, axis.in, i * narrow + (i < wider ? i : wider), narrow + (i < wider ? 1 : 0), reaches);
    }
  }
}

// Tiles [begin, end) of `rows` rows from row `oh` on; `block` describes the taps of a slice, its source and bias.
void run_strips(const LaneContext& ctx, LaneRow row, const LanePass& block, int64_t oh, int64_t rows, int64_t begin,
                int64_t end) {
  const ConvPlan& plan = ctx.plan;
  const ConvAxis &h = plan.exec.h, &w = plan.exec.w;
  LanePass p = block;
  p.src_step = w.stride * ctx.src.w;
  p.src_w = w.dilation * ctx.src.w;
  p.n_w = w.kernel;
  p.step = h.stride;
  p.in = h.in;
  p.reach = h.dilation;
  p.row_src = ctx.src.h;
  p.src_h = h.dilation * ctx.src.h;
  p.n_h = h.kernel;
  p.out_h = plan.dst.h;
  const int64_t first = ctx.column(begin), columns = ctx.column(end) - first;
  // Few enough that the next tiles find them in L1.
  const int64_t at_once = row.buffered || columns == 0 ? 1 : kActivatedAtOnce / (columns * kBlock) + 1;
  for (int64_t r = 0; r < rows; r += p.rows) {
    p.rows = rows - r < at_once ? rows - r : at_once;
    p.y = (oh + r) * h.stride - h.pad;
    const int64_t row_offset = row.dst_offset + (oh + r) * plan.dst.h;
    for (int64_t i = begin; i < end; i += p.tiles) {
      const int64_t width = ctx.narrow + (i < ctx.wider ? 1 : 0), j = ctx.column(i);
      const int64_t offset = row_offset + j * plan.dst.w;
      const bool at_edge = is_at_edge(w, j, width);
      p.tiles = 1;
      if (!at_edge && !row.buffered) {
        const int64_t alike = i < ctx.wider && ctx.wider < end ? ctx.wider : end;
        while (i + p.tiles < alike && !is_at_edge(w, j + p.tiles * width, width)) ++p.tiles;
      }
      p.reaches = at_edge ? ctx.reaches + i * w.kernel : nullptr;
      p.src = block.src + (j * w.stride - w.pad) * ctx.src.w;
      p.out = row.buffered ? ctx.buffer : ctx.args.dst + offset;
      p.residual = row.epilogue->residual ? row.epilogue->residual + offset : nullptr;
      p.tile_src = width * w.stride * ctx.src.w;
      p.tile_out = width * plan.dst.w;
      run_vectors(ctx, ctx.passes->fn[width - 1], p);
      if (row.buffered) finish_lane_tile(ctx, row, ctx.buffer, offset, plan.dst.w, width);
    }
    if (row.buffered) continue;
    float* const done = ctx.args.dst + row_offset + first * plan.dst.w;
    if (row.epilogue->activate)
      row.epilogue->activate({done, 1, 0, p.rows, plan.dst.h, columns, plan.dst.w}, row.epilogue->alpha);
    for (int64_t i = 0; i < p.rows; ++i) clear_tail(done + i * plan.dst.h, plan.dst.w, columns, row.channels);
  }
}

// Where a box begins: chunk of a row, row, slice.
struct LaneStart {
  int64_t chunk, oh, od;
};

LaneStart lane_start(const ConvPlan& plan, const ConvTile& box) {
  const int64_t row = box.sp0 / plan.chunks;
  return {box.sp0 % plan.chunks, row % plan.exec.h.out, row / plan.exec.h.out};
}

// The columns of a transposed row that chunks [chunk_begin, chunk_end) stand for.
void run_transposed_row(const LaneContext& ctx, const LaneRow& row, LanePass& p, int64_t chunk_begin,
                        int64_t chunk_end) {
  const ConvPlan& plan = ctx.plan;
  const ConvAxis& axis = plan.exec.w;
  const int64_t classes = tap_class_count(axis, true);
  const bool skips = ctx.reaches && ctx.passes != &kLaneTail;
  const uint8_t* reaches = ctx.reaches;
  const float *const src = p.src, *const wei = p.wei;
  for (int64_t k = 0; k < classes; ++k) {
    const TapClass c = tap_class(axis, true, k);
    const int64_t tiles = (c.count + plan.w_tile - 1) / plan.w_tile;
    const int64_t narrow = c.count / tiles, wider = c.count % tiles;
    const int64_t step = c.step * plan.dst.w;
    p.out_step = row.buffered ? kBlock : step;
    p.residual_step = step;
    if (skips) {
      p.wei = wei + c.tap0 * kBlock;
      p.src_step = c.sj * ctx.src.w;
      p.src_w = c.st * ctx.src.w;
      p.wei_w = c.tap_step * kBlock;
      p.n_w = c.taps;
    }
    for (int64_t i = chunk_begin * tiles / plan.chunks; i < chunk_end * tiles / plan.chunks; ++i) {
      const int64_t width = narrow + (i < wider ? 1 : 0);
      const int64_t j = i * narrow + (i < wider ? i : wider);
      const int64_t offset = row.dst_offset + (c.first + j * c.step) * plan.dst.w;
      p.out = row.buffered ? ctx.buffer : ctx.args.dst + offset;
      p.residual = row.epilogue->residual ? row.epilogue->residual + offset : nullptr;
      if (skips) {
        const int64_t x = c.x0 + j * c.sj, end = x + (c.taps - 1) * c.st;
        const bool at_edge = x < 0 || end < 0 || (x > end ? x : end) + (width - 1) * c.sj >= axis.in;
        p.src = src + x * ctx.src.w;
        p.reaches = at_edge ? reaches + i * c.taps : nullptr;
        run_vectors(ctx, ctx.passes->fn[width - 1], p);
      } else {
        run_tapped_tile(ctx, p, c, j, width);
      }
      if (row.epilogue->activate) row.epilogue->activate({p.out, 1, 0, 1, 0, width, p.out_step}, row.epilogue->alpha);
      finish_lane_tile(ctx, row, ctx.buffer, offset, step, width);
    }
    reaches += tiles * c.taps;
  }
}

// Sees to the sources of at most `rows` output rows from `oh` on: of how many. So many more rows of the box follow the
// first one.
int64_t spread_sources(const LaneContext& ctx, const float* slice, int64_t oh, int64_t rows, int64_t more) {
  const ConvAxis& axis = ctx.plan.exec.h;
  const int64_t reach = (axis.kernel - 1) * axis.dilation + 1, y = oh * axis.stride - axis.pad;
  const auto row_end = [&](int64_t last) {
    const int64_t end = y + last * axis.stride + reach;
    return end < axis.in ? end : axis.in;
  };
  const int64_t begin = y > 0 ? y : 0;
  while (rows > 1 && row_end(rows - 1) - begin > ctx.plan.padded_rows) --rows;
  const int64_t last = more < axis.out - oh - 1 ? more : axis.out - oh - 1;
  if (begin < row_end(rows - 1)) ctx.spread->hold(slice, begin, row_end(rows - 1), row_end(last));
  return rows;
}

// One block of channels: sp units of the box.
void run_lane_block(const LaneContext& ctx, const ConvTile& box, const LaneStart& start, int64_t n, int64_t block,
                    int64_t source_block) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  const int64_t blocks = (e.oc + kBlock - 1) / kBlock;
  LaneRow row;
  row.channel = block * kBlock;
  row.channels = e.oc - row.channel < kBlock ? e.oc - row.channel : kBlock;
  const bool copied = plan.dst_format == ConvFormat::nhwc && row.channels < kBlock;
  row.epilogue = copied ? &ctx.copied_epilogue : &ctx.epilogue;
  row.buffered = copied || ctx.epilogue.rest_count > 0;
  LanePass p = {};
  p.wei_w = kBlock;
  p.wei_i = e.w.kernel * kBlock;
  p.wei_h = e.ic / e.groups * p.wei_i;
  p.wei_d = e.h.kernel * p.wei_h;
  const int64_t wei_h = p.wei_h, wei_d = p.wei_d;
  p.n_i = e.ic / e.groups;
  p.rows = p.tiles = p.in = 1;
  p.index = ctx.index;
  p.bias = ctx.args.packed + block * kBlock;
  p.out_step = row.buffered ? kBlock : plan.dst.w;
  p.tail = row.channels;
  p.residual_step = plan.dst.w;
  p.clamp = row.epilogue->clamp;
  p.low = row.epilogue->low;
  p.high = row.epilogue->high;
  const float* const src = ctx.args.src + n * plan.src.n + source_block * plan.src.c;
  const float* const wei = ctx.args.packed + (blocks * kBlock + 15) / 16 * 16 + block * e.d.kernel * p.wei_d;
  const int64_t dst = n * plan.dst.n + block * plan.dst.c;

  if (ctx.spread) ctx.spread->begin_block(block, source_block);
  auto [chunk, oh, od] = start;
  LaneRowsPass rows{src,        ctx.src.h, 0, e.h.stride, e.h.in, e.h.kernel, wei,   p.bias, ctx.args.dst + dst,
                    plan.dst.h, 0,         0, 0,          0,      p.clamp,    p.low, p.high};
  for (int64_t sp = box.sp0; sp < box.sp1;) {
    const int64_t chunk_end = box.sp1 - sp < plan.chunks - chunk ? chunk + box.sp1 - sp : plan.chunks;
    const int64_t tile_begin = ctx.first_tile(chunk), tile_end = ctx.first_tile(chunk_end);
    // As many rows of a slice as are whole.
    int64_t count = chunk > 0 || chunk_end < plan.chunks ? 1 : (box.sp1 - sp) / plan.chunks;
    if (count > e.h.out - oh) count = e.h.out - oh;
    const TapClass cd = tap_class(e.d, e.transposed, e.transposed ? od % e.d.stride : 0);
    const int64_t xd = cd.x0 + (e.transposed ? od / e.d.stride : od) * cd.sj;
    const Range d = inside(xd, cd.st, e.d.in, cd.taps);
    p.n_d = d.end - d.begin;
    p.src_d = cd.st * plan.src.d;
    p.wei_d = cd.tap_step * wei_d;
    p.wei = wei + (cd.tap0 + d.begin * cd.tap_step) * wei_d;
    p.src = src + (xd + d.begin * cd.st) * plan.src.d;
    row.dst_offset = dst + od * plan.dst.d;
    if (!ctx.rows && !ctx.strips) count = 1;
    if (ctx.spread && p.n_d > 0) {
      count = spread_sources(ctx, p.src, oh, count, (box.sp1 - 1 - sp) / plan.chunks);
      p.src = ctx.spread->rows();
    }
    if (ctx.rows) {
      rows.src = p.src;
      run_whole_rows(ctx, row, rows, oh, count, tile_begin, tile_end);
    } else if (ctx.strips) {
      run_strips(ctx, row, p, oh, count, tile_begin, tile_end);
    } else {
      const TapClass ch = tap_class(e.h, e.transposed, e.transposed ? oh % e.h.stride : 0);
      const int64_t xh = ch.x0 + (e.transposed ? oh / e.h.stride : oh) * ch.sj;
      const Range h = inside(xh, ch.st, e.h.in, ch.taps);
      row.dst_offset += oh * plan.dst.h;
      p.src += (xh + h.begin * ch.st) * ctx.src.h;
      p.wei += (ch.tap0 + h.begin * ch.tap_step) * wei_h;
      p.src_h = ch.st * ctx.src.h;
      p.wei_h = ch.tap_step * wei_h;
      p.n_h = h.end - h.begin;
      if (e.transposed)
        run_transposed_row(ctx, row, p, chunk, chunk_end);
      else
        run_lane_tiles(ctx, row, p, tile_begin, tile_end);
    }
    sp += chunk_end - chunk + (count - 1) * plan.chunks;
    chunk = 0;
    oh += count;
    if (oh == e.h.out) {
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

// For some numbers of kernel columns.
bool has_windows(const ConvProblem& e) { return kHasWindows && !e.transposed && e.w.dilation == 1 && e.w.stride <= 2; }

// The register tiles for one block of output channels.
void set_passes(LaneContext& ctx, int64_t block, int64_t source_block) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  const bool dense = has_windows(e);
  // In nhwc nothing may be read behind the last channel.
  const auto whole = [&](int64_t source) {
    return plan.src_format == ConvFormat::blocked || (source + 1) * kBlock <= e.ic;
  };
  ctx.window = nullptr;
  if (!ctx.index && (ctx.spread || whole(block))) {
    const int64_t step = (e.transposed ? 1 : e.w.stride) * ctx.src.w;
    ctx.passes = step == kBlock ? &kLaneBlock : &kLaneAnyStep;
    if (dense && e.w.kernel == 3) ctx.window = &kWindow3[e.w.stride - 1];
    if (dense && e.w.kernel == 5) ctx.window = &kWindow5[e.w.stride - 1];
  } else if (!ctx.index) {
    ctx.passes = &kLaneTail;
  } else if (plan.lanes_in_block && whole(source_block)) {
    ctx.passes = &kLanePermuted;
    if (dense && e.w.kernel == 3) ctx.window = &kWindow3Permuted[e.w.stride - 1];
  } else {
    ctx.passes = &kLaneGathered;
  }
  ctx.strips =
      ctx.reaches && !e.transposed && !ctx.window && (ctx.passes == &kLaneBlock || ctx.passes == &kLaneAnyStep);
}

void run_lanes(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  const ConvProblem& e = plan.exec;
  const bool depthwise = e.ic == e.groups && e.oc == e.groups;
  const int64_t inputs = e.ic / e.groups, outputs = e.oc / e.groups;
  alignas(64) float buffer[kMaxPassPositions * kBlock];
  auto* const index = reinterpret_cast<int32_t*>(args.scratch);
  const bool ragged = plan.dst_format == ConvFormat::blocked && e.oc % kBlock != 0;
  LaneContext ctx{plan,
                  args,
                  make_epilogue(args.post_ops, args.post_op_count, ragged),
                  make_epilogue(args.post_ops, args.post_op_count, false, true),
                  tap_class(e.w, e.transposed, 0),
                  nullptr,
                  nullptr,
                  nullptr,
                  depthwise || plan.padded_rows > 0 ? nullptr : index,
                  1,
                  0,
                  0,
                  buffer,
                  nullptr,
                  plan.src,
                  false,
                  nullptr};
  SpreadRows spread(plan, args.scratch);
  if (plan.padded_rows > 0) {
    ctx.spread = &spread;
    ctx.src.w = kBlock;
    ctx.src.h = spread.row_floats();
  }
  ctx.tiles = (e.w.out + plan.w_tile - 1) / plan.w_tile;
  ctx.narrow = e.w.out / ctx.tiles;
  ctx.wider = e.w.out % ctx.tiles;
  if (rows_fit(ctx)) ctx.rows = e.w.kernel == 3 ? &kRows3[e.w.stride - 1] : &kRows5[e.w.stride - 1];
  if (!ctx.index && !(has_windows(e) && (e.w.kernel == 3 || e.w.kernel == 5)) &&
      lane_reach_bytes(e.w, e.transposed, plan.w_tile) > 0) {
    ctx.reaches = reinterpret_cast<uint8_t*>(args.scratch + plan.padded_rows * spread.row_floats());
    e.transposed ? set_transposed_reaches(ctx) : set_reaches(ctx, box);
  }
  const LaneStart start = lane_start(plan, box);
  for (int64_t n = box.n0; n < box.n1; ++n) {
    for (int64_t block = box.oc0; block < box.oc1; ++block) {
      const int64_t source_block = depthwise ? block : block * kBlock / outputs * inputs / kBlock;
      if (ctx.index) set_index(plan, block, source_block, index);
      set_passes(ctx, block, source_block);
      run_lane_block(ctx, box, start, n, block, source_block);
    }
  }
}

}  // namespace

void conv_lanes(const ConvPlan& plan, const ConvArgs& args, const ConvTile& tile) noexcept {
  run_lanes(plan, args, tile);
}

}  // namespace terroir::cpu::TERROIR_ISA
