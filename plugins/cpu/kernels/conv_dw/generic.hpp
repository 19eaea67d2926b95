// What: depthwise convolution, and grouped convolution with any channels per group, each also transposed: walks a box
// of the work grid (batch, channel blocks, output rows) and cuts each row into register tiles (lane_tile.hpp).
// Borders: kernels of 3 or 5 dense columns read zero for the elements of their window that lie outside. Others read
//   copies of their source rows with zeros beside them (padded_rows.hpp), read zero where only the ends of a tile miss
//   taps, or run the taps that reach the whole tile in one pass and add the few others to the part they reach.
// Layouts: the last channels of nhwc are loaded one by one or under a mask, and stored from a copy of the tile.
// Order of summation: depends on the position and the plan, never on the box.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv/entry_points.hpp"
#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv_dw/lane_pair.hpp"
#include "plugins/cpu/kernels/conv_dw/lane_rows.hpp"
#include "plugins/cpu/kernels/conv_dw/padded_rows.hpp"

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
  bool misses_at_ends;            // `passes` look at first_misses and last_misses
  const LaneWindowTable* window;  // or null
  const LaneRowsTable* rows;      // or null: whole rows in one call
  const int32_t* index;           // or null: depthwise
  int64_t tiles, narrow, wider;   // of a row: the first `wider` tiles have narrow + 1 columns, the others narrow
  float* buffer;                  // one register tile, for post-ops that do not fit the registers
  PaddedRows* padded;             // or null: what tiles read
  const LanePairTable* pairs;     // or null: two rows in one tile

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
  p.src_step = c.sj * plan.src.w;
  p.src_w = c.st * plan.src.w;
  p.wei_w = c.tap_step * kBlock;
  if (ctx.misses_at_ends && width > 1 && left.end == c.taps && right.begin == 0) {
    const bool between = width == 2 || (inside(x + c.sj, c.st, axis.in, c.taps).begin == 0 &&
                                        inside(x + (width - 2) * c.sj, c.st, axis.in, c.taps).end == c.taps);
    if (between) {
      p.first_misses = left.begin;
      p.last_misses = c.taps - right.end;
      full = {0, c.taps};
    }
  }
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
      p.src = base.src + (x + reach.begin * c.sj + tap * c.st) * plan.src.w;
      p.wei = base.wei + (c.tap0 + tap * c.tap_step) * kBlock;
      p.out = base.out + reach.begin * p.out_step;
      run_pass(ctx, p, reach.end - reach.begin);
    }
    p.clamp = base.clamp;
    p.out = base.out;
  }
  p.src = base.src + (x + full.begin * c.st) * plan.src.w;
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
  if (plan.src_format != ConvFormat::blocked || plan.dst_format != ConvFormat::blocked) return false;
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
  int64_t inactive = 0;  // columns that are stored and wait for their activation
  for (int64_t i = begin; i < end; ++i) {
    const int64_t width = ctx.narrow + (i < ctx.wider ? 1 : 0);
    const int64_t j = ctx.column(i);
    const int64_t offset = row.dst_offset + j * plan.dst.w;
    p.out = row.buffered ? ctx.buffer : ctx.args.dst + offset;
    p.residual = row.epilogue->residual ? row.epilogue->residual + offset : nullptr;
    const int64_t x = j * axis.stride - axis.pad;
    if (ctx.padded) {
      p.src = src + j * p.src_step;
      run_vectors(ctx, ctx.passes->fn[width - 1], p);
      p.src = src;
    } else if (ctx.window && window_fits(axis, j, width)) {
      p.src = src + x * plan.src.w;
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

// The source rows and output columns of units [sp, box.sp1) that lie in one slice of the source.
PaddedBox padded_box(const LaneContext& ctx, const ConvTile& box, int64_t sp) {
  const ConvPlan& plan = ctx.plan;
  const ConvAxis& axis = plan.exec.h;
  const int64_t row = sp / plan.chunks, last_row = (box.sp1 - 1) / plan.chunks;
  const int64_t oh = row % axis.out;
  const int64_t last = oh + last_row - row < axis.out ? oh + last_row - row : axis.out - 1;
  const int64_t row_end = last * axis.stride - axis.pad + (axis.kernel - 1) * axis.dilation + 1;
  PaddedBox read{0, plan.exec.w.out, row_end < axis.in ? row_end : axis.in};
  if (box.sp0 / plan.chunks == last_row) {
    read.column_begin = ctx.column(ctx.first_tile(box.sp0 % plan.chunks));
    read.column_end = ctx.column(ctx.first_tile((box.sp1 - 1) % plan.chunks + 1));
  }
  return read;
}

// Both rows of `pair`; `p` describes all but outputs.
void run_lane_pair(const LaneContext& ctx, const LaneRow& row, LanePass& p, const LanePair& pair) {
  const int64_t columns = ctx.plan.exec.w.out, step = ctx.plan.dst.w;
  p.out = row.buffered ? ctx.buffer : ctx.args.dst + row.dst_offset;
  p.residual = row.epilogue->residual ? row.epilogue->residual + row.dst_offset : nullptr;
  ctx.pairs->fn[columns - kLeastPairColumns](p, pair);
  if (row.epilogue->activate) row.epilogue->activate({p.out, 1, 0, 1, 0, 2 * columns, p.out_step}, row.epilogue->alpha);
  finish_lane_tile(ctx, row, ctx.buffer, row.dst_offset, step, 2 * columns);
}

// The kernel rows that an output row reads: `taps` of a slice, from source row x on, of which those in `reach` exist.
struct RowReach {
  const float* slice;
  TapClass taps;
  int64_t x;
  Range reach;
};

// Tiles of the row at unit `sp`, or that row and the next one, by copies of their sources: how many rows. `p`
// describes all but sources.
int64_t run_copied_rows(const LaneContext& ctx, const LaneRow& row, LanePass& p, const RowReach& source,
                        const ConvTile& box, int64_t sp, Range tiles) {
  const auto& [slice, taps, x, reach] = source;
  const ConvAxis& axis = ctx.plan.exec.h;
  PaddedRows& rows = *ctx.padded;
  const Range next = inside(x + taps.sj, taps.st, axis.in, taps.taps);
  const bool two = ctx.pairs && sp + 1 < box.sp1 && (sp + 1) % axis.out != 0 && next.begin <= reach.begin &&
                   reach.begin < next.end && next.end <= reach.end;
  const int64_t first = x + reach.begin * taps.st;
  int64_t begin = first, end = x + (reach.end - 1) * taps.st + 1;
  if (two) {
    const int64_t next_begin = x + taps.sj + next.begin * taps.st;
    const int64_t next_end = x + taps.sj + (next.end - 1) * taps.st + 1;
    if (next_begin < begin) begin = next_begin;
    if (next_end > end) end = next_end;
  }
  if (!rows.hold(slice, begin, end)) rows.copy(slice, begin, padded_box(ctx, box, sp));
  p.src = rows.row(first);
  p.src_h = taps.st * rows.row_floats();
  if (!two) {
    run_lane_tiles(ctx, row, p, tiles.begin, tiles.end);
    return 1;
  }
  p.n_h = next.end - reach.begin;
  run_lane_pair(ctx, row, p, {taps.sj * rows.row_floats(), reach.begin - next.begin, reach.end - next.end});
  return 2;
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
  for (int64_t k = 0; k < classes; ++k) {
    const TapClass c = tap_class(axis, true, k);
    const int64_t tiles = (c.count + plan.w_tile - 1) / plan.w_tile;
    const int64_t narrow = c.count / tiles, wider = c.count % tiles;
    const int64_t step = c.step * plan.dst.w;
    p.out_step = row.buffered ? kBlock : step;
    p.residual_step = step;
    for (int64_t i = chunk_begin * tiles / plan.chunks; i < chunk_end * tiles / plan.chunks; ++i) {
      const int64_t width = narrow + (i < wider ? 1 : 0);
      const int64_t j = i * narrow + (i < wider ? i : wider);
      const int64_t offset = row.dst_offset + (c.first + j * c.step) * plan.dst.w;
      p.out = row.buffered ? ctx.buffer : ctx.args.dst + offset;
      p.residual = row.epilogue->residual ? row.epilogue->residual + offset : nullptr;
      run_tapped_tile(ctx, p, c, j, width);
      if (row.epilogue->activate) row.epilogue->activate({p.out, 1, 0, 1, 0, width, p.out_step}, row.epilogue->alpha);
      finish_lane_tile(ctx, row, ctx.buffer, offset, step, width);
    }
  }
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
  p.src_step = plan.src.w;
  p.wei_w = kBlock;
  p.wei_i = e.w.kernel * kBlock;
  p.wei_h = e.ic / e.groups * p.wei_i;
  p.wei_d = e.h.kernel * p.wei_h;
  const int64_t wei_h = p.wei_h, wei_d = p.wei_d;
  p.n_i = e.ic / e.groups;
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

  if (ctx.padded) {
    ctx.padded->begin_block(row.channels);
    p.src_step = e.w.stride * kBlock;
    p.src_w = e.w.dilation * kBlock;
    p.n_w = e.w.kernel;
  }
  auto [chunk, oh, od] = start;
  LaneRowsPass rows{src,        plan.src.h, 0, e.h.stride, e.h.in, e.h.kernel, wei,   p.bias, ctx.args.dst + dst,
                    plan.dst.h, 0,          0, 0,          0,      p.clamp,    p.low, p.high};
  for (int64_t sp = box.sp0; sp < box.sp1;) {
    const int64_t chunk_end = box.sp1 - sp < plan.chunks - chunk ? chunk + box.sp1 - sp : plan.chunks;
    const int64_t tile_begin = ctx.first_tile(chunk), tile_end = ctx.first_tile(chunk_end);
    if (ctx.rows) {
      // As many rows as are whole.
      const int64_t whole = chunk > 0 || chunk_end < plan.chunks ? 1 : (box.sp1 - sp) / plan.chunks;
      run_whole_rows(ctx, row, rows, oh, whole, tile_begin, tile_end);
      sp += chunk_end - chunk + (whole - 1) * plan.chunks;
      chunk = 0;
      oh += whole;
      continue;
    }
    const TapClass cd = tap_class(e.d, e.transposed, e.transposed ? od % e.d.stride : 0);
    const int64_t xd = cd.x0 + (e.transposed ? od / e.d.stride : od) * cd.sj;
    const Range d = inside(xd, cd.st, e.d.in, cd.taps);
    p.n_d = d.end - d.begin;
    p.src_d = cd.st * plan.src.d;
    p.wei_d = cd.tap_step * wei_d;
    const TapClass ch = tap_class(e.h, e.transposed, e.transposed ? oh % e.h.stride : 0);
    const int64_t xh = ch.x0 + (e.transposed ? oh / e.h.stride : oh) * ch.sj;
    const Range h = inside(xh, ch.st, e.h.in, ch.taps);
    row.dst_offset = dst + od * plan.dst.d + oh * plan.dst.h;
    p.src = src + (xd + d.begin * cd.st) * plan.src.d + (xh + h.begin * ch.st) * plan.src.h;
    p.wei = wei + (cd.tap0 + d.begin * cd.tap_step) * wei_d + (ch.tap0 + h.begin * ch.tap_step) * wei_h;
    p.src_h = ch.st * plan.src.h;
    p.wei_h = ch.tap_step * wei_h;
    p.n_h = h.end - h.begin;
    int64_t rows_done = 1;
    if (ctx.padded && p.n_d * p.n_h > 0)
      rows_done = run_copied_rows(ctx, row, p, {src + xd * plan.src.d, ch, xh, h}, box, sp, {tile_begin, tile_end});
    else if (e.transposed)
      run_transposed_row(ctx, row, p, chunk, chunk_end);
    else
      run_lane_tiles(ctx, row, p, tile_begin, tile_end);
    sp += chunk_end - chunk + rows_done - 1;
    chunk = 0;
    oh += rows_done;
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

// The register tiles for one block of output channels.
void set_passes(LaneContext& ctx, int64_t block, int64_t source_block) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  const bool dense =
      kHasWindows && !e.transposed && e.w.dilation == 1 && e.w.stride <= 2 && plan.w_tile <= kMaxWindowPositions;
  // In nhwc nothing may be read behind the last channel.
  const auto whole = [&](int64_t source) {
    return plan.src_format == ConvFormat::blocked || (source + 1) * kBlock <= e.ic;
  };
  ctx.window = nullptr;
  if (!ctx.index && (ctx.padded || whole(block))) {
    const int64_t step = (e.transposed ? 1 : e.w.stride) * (ctx.padded ? kBlock : plan.src.w);
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
  ctx.misses_at_ends = !e.transposed && ctx.passes == &kLaneAnyStep;
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
                  false,
                  nullptr,
                  nullptr,
                  depthwise ? nullptr : index,
                  1,
                  0,
                  0,
                  buffer,
                  nullptr,
                  nullptr};
  PaddedRows padded(plan, args.scratch);
  if (plan.padded_rows > 0) ctx.padded = &padded;
  ctx.tiles = (e.w.out + plan.w_tile - 1) / plan.w_tile;
  ctx.narrow = e.w.out / ctx.tiles;
  ctx.wider = e.w.out % ctx.tiles;
  if (kHasLanePairs && ctx.padded && ctx.tiles == 1 && e.w.stride == 1 && e.w.out >= kLeastPairColumns &&
      e.w.out <= kMostPairColumns)
    ctx.pairs = &kLanePairs;
  if (rows_fit(ctx)) ctx.rows = e.w.kernel == 3 ? &kRows3[e.w.stride - 1] : &kRows5[e.w.stride - 1];
  const LaneStart start = lane_start(plan, box);
  for (int64_t n = box.n0; n < box.n1; ++n) {
    for (int64_t block = box.oc0; block < box.oc1; ++block) {
      const int64_t source_block = depthwise ? block : block * kBlock / outputs * inputs / kBlock;
      if (!depthwise) set_index(plan, block, source_block, index);
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
