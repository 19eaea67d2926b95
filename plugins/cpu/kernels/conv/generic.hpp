// What: dense convolution over blocked, nhwc or (few channels) plain sources, and transposed convolution: walks a box
// of the work grid and cuts each output row into register tiles (tile_pass.hpp).
// Borders: along w, taps that reach every column of a tile form its main pass; the few others add to the part of the
//   tile they reach in passes of their own, so no pass checks anything and no padding is read or multiplied. Plain
//   rows are copied with zeros beside them where that costs less. Along d and h the range of taps is a property of the
//   row. A one-pass tile never leaves the registers. Of images of few positions the windows may be copied instead.
// Layouts: source and destination each blocked, nhwc or plain. Whole blocks of channels go from the registers to a
//   blocked or nhwc destination; the last channels of a group in nhwc, unless the tile can store them alone, and every
//   channel in plain, through a copy of the tile, so that no byte beyond the last channel is touched.
// Order of summation: rounds of input channel blocks (plan.ic_chunk); in a round passes at the border before the main
//   pass; inside a pass channel block, d, h, w, channel. It depends on the position and the plan, never on the box.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/copied_windows.hpp"
#include "plugins/cpu/kernels/conv/entry_points.hpp"
#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv/half_tile.hpp"
#include "plugins/cpu/kernels/conv/line_fetches.hpp"
#include "plugins/cpu/kernels/conv/padded_planes.hpp"
#include "plugins/cpu/kernels/conv/short_tile.hpp"
#include "plugins/cpu/kernels/conv/tile_pass.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// How the columns of a row that belong to one tap class are cut into register tiles: `equal` ones, which differ by one
// column at most, but for the first `left` and the last `right` columns, tiles of their own unless there are none.
struct RowCut {
  TapClass taps;
  int64_t first;                 // column
  int64_t equal, narrow, wider;  // the first `wider` of the equal tiles have a column more than `narrow`
  int64_t left, right;
  int64_t tiles() const { return equal + (left > 0 ? 1 : 0) + (right > 0 ? 1 : 0); }
};

// Columns [first, first + columns) of class c, `tile` at most in each. Of a plain row, the columns that miss some taps
// are tiles of their own: what these take then grows with their number alone.
RowCut cut_row(const ConvPlan& plan, bool plain_row, const TapClass& c, int64_t first, int64_t columns, int64_t tile) {
  int64_t left = 0, right = 0;
  if (plain_row) {
    const int64_t extent = plan.exec.w.in;
    left = inside(c.x0, c.sj, extent, columns).begin;
    right = columns - inside(c.x0 + (c.taps - 1) * c.st, c.sj, extent, columns).end;
    if (columns - left - right < 1 || left > tile || right > tile) left = right = 0;
  }
  const int64_t rest = columns - left - right, equal = (rest + tile - 1) / tile;
  return {c, first, equal, rest / equal, rest % equal, left, right};
}

// What stays the same during one run().
struct ConvContext {
  const ConvPlan& plan;
  const ConvArgs& args;
  Epilogue epilogue;
  Epilogue copied_epilogue;  // of tiles that reach dst through a copy for its layout's sake
  const PassTable* passes;
  const PassTable* edge_passes;  // or null
  int64_t inner;                 // dense_inner() of the plan
  int64_t icg, ocg;              // channels per group
  int64_t ic_blocks, oc_blocks;  // likewise; input blocks of `inner` channels
  int64_t reduction;             // weights per output channel, padding included
  bool columns_inside;  // source and weights of a kernel row are contiguous: the innermost loop runs over the columns
  bool plain_row;       // likewise of a plain source
  bool blocks_inside;   // pointwise, whole blocks: the loop over channel blocks takes the place of the one over columns
  bool tiles_follow;    // kernels of one row take several tiles of one width at once
  bool rows_follow;     // kernels take several groups of rows at once, each of which is one tile
  bool cuts_blocks;     // kernels store the last channels of a group in nhwc by themselves
  bool units_follow;    // the kernel of one position takes several units of output channels at once
  float* buffer;        // one register tile, for post-ops that do not fit the registers
  RowCut cut;           // of every whole row, unless transposed or a single row whose columns are units
};

// Blocks of input channels [begin, end): one round of the reduction. Every round but the first continues the sums in
// dst, and the last one applies the post-ops.
struct Round {
  int64_t begin, end;
  bool first, last;
};

// Some rows of a tile and the kernel rows [begin, end) of their tap class that only they use.
struct RowTaps {
  int64_t row, rows, begin, end;
};

// Where the register tiles of a row begin. Passes at a border change these fields of TilePass and put them back.
struct RowStart {
  const float *src, *wei;  // of column 0 and the first kernel column
  TapLoops n;
  int64_t n_i, n_i_last;
  float* out;
  const float* residual;  // or null
  float* gathered;        // or null
};

// One oc unit in one round of the reduction, and of it one output row (or two) after the other.
struct ConvRow {
  // Of the unit: position 0 of its source before padding, its first weights, and where its results and the operand or
  // the sums that they are added to begin.
  const float *unit_src, *unit_wei;
  int64_t unit_offset;
  const float* unit_residual;  // or null
  float* unit_gathered;        // likewise
  const float* bias;
  int64_t blocks;  // of output channels
  int64_t units;   // so many units at once, of as many blocks each: where these are a loop of the kernel
  const PassTable* passes;
  const Epilogue* epilogue;
  bool buffered;    // the tile reaches dst through a copy
  bool finish;      // it is complete after its pass
  int64_t channel;  // first output channel
  int64_t channels_in_last;
  int64_t column;  // distance between weights of neighbouring kernel columns
  // Of the row.
  TilePass pass;  // loops over all kernel columns
  RowStart start;
  int64_t rows;
  int64_t groups;  // so many groups of `rows` rows at once, of which each is a single tile
  int64_t dst_offset;
  RowTaps both;  // pass.n.h and pass.src count from both.begin
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
  const PassTable* table = p.first_tap_short || p.last_tap_short ? ctx.edge_passes : row.passes;
  table->row[rows - 1][row.blocks - 1].fn[width - 1](p);
}

TERROIR_INLINE void run_pass(const ConvRow& row, const TilePass& p, int64_t rows, int64_t width) {
  row.passes->row[rows - 1][row.blocks - 1].fn[width - 1](p);
}

// Narrows the loops of `p` to kernel columns [w0, w1) and the kernel rows of `h`; position 0 is column `x` of the
// source.
void set_taps(const ConvContext& ctx, const ConvRow& row, const TapClass& c, const RowTaps& h, int64_t x, int64_t w0,
              int64_t columns, TilePass& p) {
  const RowStart& all = row.start;
  p.src = all.src + (x + w0 * c.st) * ctx.plan.src.w + (h.begin - row.both.begin) * p.src_stride.h + h.row * p.src_row;
  p.wei = all.wei + w0 * c.tap_step * row.column + (h.begin - row.both.begin) * p.wei_stride.h;
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

// Which kernel columns a tile at a border reaches.
struct BorderTaps {
  Range full;  // with every column of the tile
  // Taps beside those that only the first or only the last column misses: they join the main pass, if it can do that.
  bool first_short, last_short;
  bool others;  // there are more that reach some columns, not all
  int64_t begin() const { return full.begin - (first_short ? 1 : 0); }
  int64_t end() const { return full.end + (last_short ? 1 : 0); }
};

// Of a tile of class c whose first position is column x of the source.
BorderTaps border_taps(const TapClass& c, const ConvAxis& axis, int64_t x, int64_t width, bool has_edge_pass) {
  // Taps that reach the first and the last column reach all columns between.
  const Range left = inside(x, c.st, axis.in, c.taps);
  const Range right = inside(x + (width - 1) * c.sj, c.st, axis.in, c.taps);
  BorderTaps taps{{left.begin > right.begin ? left.begin : right.begin, left.end < right.end ? left.end : right.end},
                  false,
                  false,
                  false};
  Range& full = taps.full;
  if (full.end < full.begin) full.end = full.begin;
  const bool edges = has_edge_pass && full.begin < full.end;
  taps.first_short = edges && full.begin > 0 && reaches(c, axis, x, width, full.begin - 1, 1, width);
  taps.last_short = edges && full.end < c.taps && reaches(c, axis, x, width, full.end, 0, width - 1);
  taps.others = taps.begin() > (left.begin < right.begin ? left.begin : right.begin) ||
                taps.end() < (left.end > right.end ? left.end : right.end);
  return taps;
}

// Columns [j, j + width) of class c.
void run_border_tile(const ConvContext& ctx, ConvRow& row, const TapClass& c, int64_t j, int64_t width) {
  TilePass& p = row.pass;
  const ConvAxis& axis = ctx.plan.exec.w;
  const int64_t x = c.x0 + j * c.sj;
  const BorderTaps taps = border_taps(
      c, axis, x, width, ctx.edge_passes && ctx.edge_passes->row[row.rows - 1][row.blocks - 1].fn[width - 1]);
  const Range& full = taps.full;
  p.first_tap_short = taps.first_short;
  p.last_tap_short = taps.last_short;
  const int64_t main_begin = taps.begin(), main_end = taps.end();

  const bool clamp = p.clamp;
  float* const out = p.out;
  const float* const residual = p.residual;
  const int64_t residual_step = p.residual_step, residual_row = p.residual_row, residual_block = p.residual_block;
  if (row.extras > 0 || taps.others) {
    p.clamp = false;
    p.n = {0, 0, 0, 0};
    run_pass(row, p, row.rows, width);
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
        run_pass(row, p, h.rows, reach.end - reach.begin);
      }
    }
    p.residual = out;
  }
  p.out = out;
  p.clamp = clamp;
  set_taps(ctx, row, c, row.both, x, main_begin, full.end - full.begin, p);
  run_main_pass(ctx, row, p, row.rows, width);
  p.bias = row.bias;
  p.residual = residual;
  p.residual_step = residual_step;
  p.residual_row = residual_row;
  p.residual_block = residual_block;
  p.first_tap_short = p.last_tap_short = false;
  p.wei = row.start.wei;
  p.n = row.start.n;
  p.n_i = row.start.n_i;
  p.n_i_last = row.start.n_i_last;
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
  const int64_t blocks = row.units * row.blocks;
  ctx.epilogue.activate({out, blocks, p.out_block, row.rows, p.out_row, width, p.out_step}, ctx.epilogue.alpha);
  float* const last = out + (blocks - 1) * p.out_block;
  for (int64_t r = 0; r < row.rows; ++r) clear_tail(last + r * p.out_row, p.out_step, width, row.channels_in_last);
}

// Of `most` tiles of one width, those between which nothing happens: the kernel goes from one to the next by itself.
int64_t tiles_at_once(const ConvRow& row, bool activate, int64_t width, int64_t most) {
  if (!activate) return most;
  const int64_t until_activation = kActivatedAtOnce / (row.blocks * kBlock * width) + 1;
  return most < until_activation ? most : until_activation;
}

// Whether the register tiles of a row activate what they store.
bool tiles_activate(const ConvRow& row, const RowCut& cut) {
  return row.passes == &kPassShort && row.epilogue->activate == &activate_hswish && row.finish &&
         has_short_tile(row.blocks, cut.narrow) && (cut.wider == 0 || has_short_tile(row.blocks, cut.narrow + 1));
}

// Tiles [begin, end) of a row.
void run_tiles(const ConvContext& ctx, ConvRow& row, const RowCut& cut, int64_t begin, int64_t end, Fetch& fetch) {
  const ConvPlan& plan = ctx.plan;
  const TapClass& c = cut.taps;
  const bool buffered = row.buffered;
  const int64_t first_tap = c.st < 0 ? (c.taps - 1) * c.st : 0, last_tap = c.st > 0 ? (c.taps - 1) * c.st : 0;
  const int64_t dst_step = c.step * plan.dst.w;
  TilePass& p = row.pass;
  p.hswish = tiles_activate(row, cut);
  const bool activate = row.epilogue->activate && row.finish && !p.hswish;
  int64_t inactive = 0;  // columns that are stored and wait for their activation
  int64_t tiles;
  for (int64_t i = begin; i < end; i += tiles) {
    const int64_t k = i - (cut.left > 0 ? 1 : 0);
    const int64_t width = k < 0 ? cut.left : k == cut.equal ? cut.right : cut.narrow + (k < cut.wider ? 1 : 0);
    const int64_t j = cut.first + (k < 0 ? 0 : cut.left + k * cut.narrow + (k < cut.wider ? k : cut.wider));
    const int64_t dst_column = (c.first + j * c.step) * plan.dst.w;
    if (buffered) {
      p.out = ctx.buffer;
      p.out_row = width * kBlock;
      p.out_block = row.rows * width * kBlock;
    } else {
      p.out = row.start.out + dst_column;
    }
    p.residual = row.start.residual ? row.start.residual + dst_column : nullptr;
    const int64_t x = c.x0 + j * c.sj;
    const bool all_taps =
        row.extras == 0 && c.taps > 0 && x + first_tap >= 0 && x + (width - 1) * c.sj + last_tap < plan.exec.w.in;
    tiles = 1;
    if (all_taps && ctx.tiles_follow && !buffered && row.rows == 1) {
      const int64_t alike = (k < cut.wider ? cut.wider : cut.equal) - k, left = end - i;
      tiles = tiles_at_once(row, activate, width, alike < left ? alike : left);
      if (x + (tiles * width - 1) * c.sj + last_tap >= plan.exec.w.in) tiles = 1;
    }
    const int64_t repeats = tiles * row.groups;
    p.more_tiles = repeats - 1;
    p.tile_src = row.groups > 1 ? row.rows * p.src_row : width * c.sj * plan.src.w;
    p.tile_out = row.groups > 1 ? row.rows * plan.dst.h : width * dst_step;
    if (row.units > 1) {
      p.more_tiles = row.units - 1;
      p.tile_wei = row.blocks * kBlock * ctx.reduction;
      p.tile_out = row.blocks * p.out_block;
    }
    p.prefetch = fetch.own_loops > 0 ? fetch.own : fetch.ahead;
    p.prefetch_end = fetch.own + repeats * fetch.own_loops * fetch.lines * 16;
    p.ahead = fetch.ahead;
    p.gathered = row.start.gathered ? row.start.gathered + j * kBlock : nullptr;
    if (all_taps) {
      p.src = row.start.src + x * plan.src.w;
      run_pass(row, p, row.rows, width);
    } else {
      run_border_tile(ctx, row, c, j, width);
    }
    fetch.own += repeats * fetch.own_loops * fetch.lines * 16;
    fetch.ahead += repeats * (fetch.loops - fetch.own_loops) * fetch.lines * 16;
    if (buffered) finish_tile(ctx, row, p, row.dst_offset + dst_column, dst_step, width);
    if (activate) {
      inactive += tiles * width;
      if (i + tiles == end || inactive * row.blocks * row.rows * kBlock >= kActivatedAtOnce) {
        activate_tiles(ctx, row, p, p.out - (inactive - tiles * width) * p.out_step, inactive);
        inactive = 0;
      }
    }
  }
}

// Of a unit of so many blocks, where every column is a unit of the grid.
int64_t tile_columns(const ConvPlan& plan, int64_t blocks) {
  return blocks < plan.oc_blocks ? plan.w_tile_last : plan.w_tile;
}

// Whether there are tiles for a unit of so many blocks of which the last is half a one.
bool has_half_tiles(const ConvContext& ctx, int64_t blocks) {
  if (!kHasHalfTiles || !ctx.plan.column_units || (ctx.passes != &kPassBlock && ctx.passes != &kPassShort))
    return false;
  return has_half_tile(blocks, tile_columns(ctx.plan, blocks));
}

// What all rows of an oc unit share in one round.
void begin_unit(const ConvContext& ctx, int64_t n, int64_t unit, const Round& round, int64_t prefetch_lines,
                ConvRow& row) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  int64_t group = 0, unit_in_group = unit;
  if (e.groups > 1) {
    const int64_t units = (ctx.oc_blocks + plan.oc_blocks - 1) / plan.oc_blocks;
    group = unit / units;
    unit_in_group = unit % units;
  }
  const int64_t first_block = unit_in_group * plan.oc_blocks;
  const int64_t block_in_all = group * ctx.oc_blocks + first_block;

  row.blocks = ctx.oc_blocks - first_block < plan.oc_blocks ? ctx.oc_blocks - first_block : plan.oc_blocks;
  row.channel = group * ctx.ocg + first_block * kBlock;
  row.units = 1;
  row.channels_in_last = ctx.ocg - (first_block + row.blocks - 1) * kBlock;
  if (row.channels_in_last > kBlock) row.channels_in_last = kBlock;
  row.unit_offset = n * plan.dst.n;
  switch (plan.dst_format) {
    case ConvFormat::plain:
      row.unit_offset += row.channel * plan.dst.c;
      break;
    case ConvFormat::nhwc:
      row.unit_offset += row.channel;
      break;
    case ConvFormat::blocked:
      row.unit_offset += block_in_all * plan.dst.c;
      break;
  }
  const bool cut = ctx.cuts_blocks && row.channels_in_last < kBlock;
  const bool copied = !cut && (plan.dst_format == ConvFormat::plain ||
                               (plan.dst_format == ConvFormat::nhwc && row.channels_in_last < kBlock));
  row.passes = row.channels_in_last <= kBlock / 2 && has_half_tiles(ctx, row.blocks) ? &kPassHalf : ctx.passes;
  row.epilogue = copied || cut ? &ctx.copied_epilogue : &ctx.epilogue;
  row.finish = round.last;
  row.buffered = copied || (ctx.epilogue.rest_count > 0 && round.last);

  row.column = ctx.inner * row.blocks * kBlock;
  const int64_t wei_h = e.w.kernel * row.column, wei_d = e.h.kernel * wei_h;
  const int64_t bias_floats = (e.groups * ctx.oc_blocks * kBlock + 15) / 16 * 16;
  row.unit_src = ctx.args.src + n * plan.src.n + round.begin * plan.src.c +
                 (plan.src_format == ConvFormat::nhwc ? group * ctx.icg : group * ctx.ic_blocks * plan.src.c);
  row.unit_wei =
      ctx.args.packed + bias_floats + block_in_all * kBlock * ctx.reduction + round.begin * e.d.kernel * wei_d;
  row.unit_residual = round.first ? row.epilogue->residual : ctx.args.dst;
  row.bias = round.first ? ctx.args.packed + block_in_all * kBlock : kNoBias;
  row.start.n = {round.end - round.begin, 0, 0, 1};
  row.start.n_i = ctx.inner;
  row.start.n_i_last = round.last ? ctx.icg - (ctx.ic_blocks - 1) * ctx.inner : ctx.inner;
  if (ctx.blocks_inside) {
    row.start.n.w = row.start.n.a;
    row.start.n.a = 1;
  }

  TilePass& p = row.pass;
  p.src_stride.a = plan.src.c;
  p.wei_stride.a = e.d.kernel * wei_d;
  p.out_row = plan.dst.h;
  p.out_block = plan.dst.c;
  p.bias = row.bias;
  p.residual_row = plan.dst.h;
  p.residual_block = plan.dst.c;
  p.prefetch_lines = prefetch_lines;
  p.prefetch_soon = plan.sources_soon;
  p.channels_in_last = cut ? row.channels_in_last : kBlock;
  p.fetch_sources = ctx.blocks_inside;
  p.gathered_block = e.d.out * e.h.out * e.w.out * kBlock;
  row.unit_gathered = ctx.args.gathered ? ctx.args.gathered + n * ctx.ic_blocks * p.gathered_block : nullptr;
  p.first_tap_short = p.last_tap_short = false;
  p.clamp = row.epilogue->clamp && round.last;
  p.low = row.epilogue->low;
  p.high = row.epilogue->high;
}

// The first of one or two output rows.
struct RowPlace {
  int64_t d, h;
};

void begin_row(const ConvContext& ctx, const RowPlace& at, ConvRow& row) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  row.rows = e.h.out - at.h < plan.rows ? e.h.out - at.h : plan.rows;
  row.dst_offset = row.unit_offset + at.d * plan.dst.d + at.h * plan.dst.h;
  const TapClass cd = tap_class(e.d, e.transposed, e.transposed ? at.d % e.d.stride : 0);
  const TapClass ch = tap_class(e.h, e.transposed, e.transposed ? at.h % e.h.stride : 0);
  const int64_t xd = cd.x0 + (e.transposed ? at.d / e.d.stride : at.d) * cd.sj;
  const int64_t xh = ch.x0 + (e.transposed ? at.h / e.h.stride : at.h) * ch.sj;
  const Range d = inside(xd, cd.st, e.d.in, cd.taps);
  Range h[2];
  for (int64_t r = 0; r < row.rows; ++r) h[r] = inside(xh + r * ch.sj, ch.st, e.h.in, ch.taps);
  set_row_taps(h, row.rows, row);

  const int64_t wei_h = e.w.kernel * row.column, wei_d = e.h.kernel * wei_h;
  TilePass& p = row.pass;
  p.src_row = ch.sj * plan.src.h;
  p.src_stride.d = cd.st * plan.src.d;
  p.src_stride.h = ch.st * plan.src.h;
  p.wei_stride.d = cd.tap_step * wei_d;
  p.wei_stride.h = ch.tap_step * wei_h;
  RowStart& start = row.start;
  start.src = row.unit_src + (xd + d.begin * cd.st) * plan.src.d + (xh + row.both.begin * ch.st) * plan.src.h;
  start.wei =
      row.unit_wei + (cd.tap0 + d.begin * cd.tap_step) * wei_d + (ch.tap0 + row.both.begin * ch.tap_step) * wei_h;
  start.n.d = d.end - d.begin;
  start.n.h = row.both.end - row.both.begin;
  start.out = ctx.args.dst + row.dst_offset;
  start.gathered = row.unit_gathered ? row.unit_gathered + (at.d * e.h.out + at.h) * e.w.out * kBlock : nullptr;
  start.residual = row.unit_residual ? row.unit_residual + row.dst_offset : nullptr;
}

// The columns of one tap class: the loops over kernel columns.
void begin_columns(const ConvContext& ctx, const TapClass& c, ConvRow& row) {
  const ConvPlan& plan = ctx.plan;
  RowStart& start = row.start;
  TilePass& p = row.pass;
  start.wei += c.tap0 * row.column;
  p.src_step = c.sj * plan.src.w;
  p.src_stride.w = c.st * plan.src.w;
  p.wei_stride.w = c.tap_step * row.column;
  p.out_step = row.buffered ? kBlock : c.step * plan.dst.w;
  p.residual_step = c.step * plan.dst.w;
  if (ctx.columns_inside) {
    start.n_i = start.n_i_last = c.taps * ctx.inner;
  } else if (ctx.blocks_inside) {
    p.src_stride.w = plan.src.c;
    p.wei_stride.w = row.column;
  } else {
    start.n.w = c.taps;
  }
  p.wei = start.wei;
  p.n = start.n;
  p.n_i = start.n_i;
  p.n_i_last = start.n_i_last;
}

// Whether a row is one register tile, and that one pass of an edge kernel, which repeats.
bool is_one_edge_pass(const ConvPlan& plan, const RowCut& cut, const PassTable* edge_passes) {
  const int64_t columns = cut.taps.count;
  if (!edge_passes || cut.tiles() > 1 || !repeats_tiles(plan.rows, columns, plan.oc_blocks, true)) return false;
  const bool exists = edge_passes->row[plan.rows - 1][0].fn[columns - 1];
  const BorderTaps taps = border_taps(cut.taps, plan.exec.w, cut.taps.x0, columns, exists);
  return (taps.first_short || taps.last_short) && !taps.others;
}

// Of `most` groups of rows from `at` on, those that differ in their place alone; at least the first one.
int64_t groups_at_once(const ConvContext& ctx, const RowPlace& at, const ConvRow& row, int64_t most) {
  const ConvAxis& h = ctx.plan.exec.h;
  const bool activate = row.epilogue->activate && row.finish;
  if (!ctx.rows_follow || row.buffered || activate || at.h * h.stride < h.pad) return 1;
  // All kernel rows meet the source, as for those that follow, up to:
  const int64_t meet_all = (h.in - 1 - (h.kernel - 1) * h.dilation + h.pad) / h.stride + 1;
  const int64_t groups = ((meet_all < h.out ? meet_all : h.out) - at.h) / ctx.plan.rows;
  return groups < 1 ? 1 : groups < most ? groups : most;
}

// Chunks [chunk_begin, chunk_end) of the row that begin_row has begun.
void run_row(const ConvContext& ctx, int64_t chunk_begin, int64_t chunk_end, ConvRow& row, Fetch& fetch) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  if (plan.column_units) {
    const RowCut cut = cut_row(plan, ctx.plain_row, ctx.cut.taps, chunk_begin, chunk_end - chunk_begin,
                               tile_columns(plan, row.blocks));
    begin_columns(ctx, cut.taps, row);
    return run_tiles(ctx, row, cut, 0, cut.tiles(), fetch);
  }
  const auto run_columns = [&](const RowCut& cut) {
    const int64_t tiles = cut.tiles();
    begin_columns(ctx, cut.taps, row);
    if (chunk_end - chunk_begin == plan.chunks) return run_tiles(ctx, row, cut, 0, tiles, fetch);
    run_tiles(ctx, row, cut, chunk_begin * tiles / plan.chunks, chunk_end * tiles / plan.chunks, fetch);
  };
  if (!e.transposed) return run_columns(ctx.cut);
  const float* const wei = row.start.wei;
  const int64_t classes = tap_class_count(e.w, true);
  for (int64_t k = 0; k < classes; ++k) {
    const TapClass c = tap_class(e.w, true, k);
    row.start.wei = wei;
    run_columns(cut_row(plan, ctx.plain_row, c, 0, c.count, plan.w_tile));
  }
}

// Of units [unit, end), those that differ in their place alone; at least the first one.
int64_t units_at_once(const ConvContext& ctx, int64_t unit, int64_t end) {
  if (ctx.epilogue.rest_count > 0) return 1;
  const int64_t whole = ctx.plan.exec.oc / (ctx.plan.oc_blocks * kBlock);  // of channels that exist
  const int64_t units = (end < whole ? end : whole) - unit;
  return units > 1 ? units : 1;
}

// Of image `n` and what follows it, from the rows [sp, sp_end) on.
FetchLoops fetch_loops(const ConvContext& ctx, const ConvTile& box, int64_t n, int64_t sp, int64_t sp_end,
                       int64_t chunk) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  const int64_t tiles = plan.column_units ? (sp_end - sp + plan.w_tile - 1) / plan.w_tile
                                          : (sp_end - sp) * ((e.w.out + plan.w_tile - 1) / plan.w_tile) / plan.chunks;
  // The first or the last kernel row is missing at the border, which matters where few rows are not there.
  const bool few = sp_end - sp < 4 * plan.chunks;
  const int64_t rows_of_kernel = few && e.h.kernel > 1 ? e.h.kernel - 1 : e.h.kernel;
  const int64_t rows = (box.n1 - n - 1) * (box.sp1 - box.sp0) + box.sp1 - sp;
  return {
      tiles > 1 ? tiles : 1, e.d.kernel * rows_of_kernel * chunk * (ctx.columns_inside ? 1 : e.w.kernel),
      (rows + plan.cached_rows - 1) / plan.cached_rows * (box.oc1 - box.oc0) * ((ctx.ic_blocks + chunk - 1) / chunk)};
}

// What unit `unit` of those up to `end` fetches, if it fetches sources.
ConvLines sources_ahead(const ConvContext& ctx, int64_t n, int64_t unit, int64_t end) {
  const ConvPlan& plan = ctx.plan;
  const int64_t group_floats = ctx.ic_blocks * plan.src.c;
  const int64_t floats = unit + 1 < end ? group_floats : group_floats - plan.source_lead;
  if (plan.source_lead == 0 || floats <= 0) return {nullptr, 0};
  return {ctx.args.src + n * plan.src.n + unit * group_floats + plan.source_lead, floats / 16};
}

const PassTable& choose_passes(const ConvPlan& plan, bool columns_inside) {
  const ConvProblem& e = plan.exec;
  const bool plain = plan.src_format == ConvFormat::plain;
  if (has_one_position(plan)) return kPassPoint;
  if (kHasShortTiles && plan.column_units && plan.src_format == ConvFormat::blocked && e.w.stride == 1 &&
      is_short_reduction(e.ic / e.groups, kBlock))
    return kPassShort;
  if (plain && !columns_inside) return kPassAnyStep;
  return passes_for_step((plan.exec.transposed ? 1 : plan.exec.w.stride) * plan.src.w, plain);
}

// Neither sums nor operands are read back with the channels that follow.
bool cuts_blocks(const ConvPlan& plan, bool pointwise, const PassTable& passes, const ConvArgs& args) {
  return kCutsBlocks && pointwise && plan.dst_format == ConvFormat::nhwc && &passes == &kPassAnyStep &&
         plan.ic_chunk == 0 && make_epilogue(args.post_ops, args.post_op_count, false, true).rest_count == 0;
}

TERROIR_NOINLINE void run_conv(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
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
  const TapClass columns = tap_class(e.w, e.transposed, 0);
  const RowCut cut = plan.column_units ? RowCut{columns, 0, 0, 0, 0, 0, 0}
                                       : cut_row(plan, plain && columns_inside, columns, 0, e.w.out, plan.w_tile);
  const PassTable& passes = choose_passes(plan, columns_inside);
  const PassTable* const edge_passes =
      e.transposed || plain || columns_inside || has_one_position(plan) ? nullptr : edge_passes_for_step(step);
  const bool ragged = plan.dst_format == ConvFormat::blocked && ocg % kBlock != 0;
  alignas(64) float buffer[kMaxPositions * kMaxBlocks * kBlock];
  const ConvContext ctx{plan,
                        args,
                        make_epilogue(args.post_ops, args.post_op_count, ragged),
                        make_epilogue(args.post_ops, args.post_op_count, false, true),
                        &passes,
                        edge_passes,
                        inner,
                        icg,
                        ocg,
                        ic_blocks,
                        oc_blocks,
                        ic_blocks * inner * taps,
                        columns_inside,
                        plain && columns_inside,
                        pointwise && inner == kBlock && icg % kBlock == 0,
                        pointwise || plain,
                        plan.chunks == 1 && !plan.column_units && is_one_edge_pass(plan, cut, edge_passes),
                        cuts_blocks(plan, pointwise, passes, args),
                        pointwise && has_one_position(plan) && e.groups == 1 && plan.ic_chunk == 0 &&
                            plan.dst_format != ConvFormat::plain,
                        buffer,
                        cut};
  const int64_t unit_floats = plan.oc_blocks * kBlock * ctx.reduction;
  const int64_t chunk = plan.ic_chunk > 0 ? plan.ic_chunk : ic_blocks;
  const int64_t round_floats = plan.oc_blocks * kBlock * chunk * inner * taps;
  const int64_t row_groups = (e.h.out + plan.rows - 1) / plan.rows;
  const bool fetches = plan.prefetch || plan.source_lead > 0 || (args.ahead && args.ahead->count > 0);
  ConvRow row;
  for (int64_t n = box.n0; n < box.n1; ++n) {
    // The sources of some rows stay in L2 while all units of output channels pass over them.
    for (int64_t sp = box.sp0; sp < box.sp1; sp += plan.cached_rows) {
      const int64_t sp_end = box.sp1 - sp < plan.cached_rows ? box.sp1 : sp + plan.cached_rows;
      const int64_t row_group = sp / plan.chunks, first_sp = row_group * plan.chunks;
      const RowPlace first_row{row_group / row_groups, row_group % row_groups * plan.rows};
      FetchLoops share = fetches ? fetch_loops(ctx, box, n, sp, sp_end, chunk) : FetchLoops{};
      for (int64_t unit = box.oc0, units; unit < box.oc1; unit += units) {
        units = ctx.units_follow ? units_at_once(ctx, unit, box.oc1) : 1;
        for (int64_t a = 0; a < ic_blocks; a += chunk) {
          const Round round{a, ic_blocks - a < chunk ? ic_blocks : a + chunk, a == 0, a + chunk >= ic_blocks};
          Fetch fetch{};
          if (fetches) {
            const bool last = round.last && unit + 1 >= box.oc1 && unit + 1 >= args.oc_ahead;
            ConvLines own = round.last ? sources_ahead(ctx, n, unit, box.oc1) : ConvLines{nullptr, 0};
            if (own.count == 0 && plan.prefetch && !last) {
              own = {args.packed + (e.groups * oc_blocks * kBlock + 15) / 16 * 16 + unit * unit_floats +
                         (a / chunk + 1) * round_floats,
                     round_floats / 16};
            }
            fetch = shared_fetch(args, own, units, share);
          }
          begin_unit(ctx, n, unit, round, fetch.lines, row);
          row.units = units;
          RowPlace at = first_row;
          for (int64_t s = sp, first = first_sp; s < sp_end;) {
            begin_row(ctx, at, row);
            row.groups = groups_at_once(ctx, at, row, sp_end - s);
            const int64_t end = sp_end - first < plan.chunks ? sp_end : first + plan.chunks;
            run_row(ctx, s - first, end - first, row, fetch);
            s = end + row.groups - 1;  // of one chunk each
            first += row.groups * plan.chunks;
            at.h += row.groups * plan.rows;
            if (at.h >= e.h.out) at = {at.d + 1, 0};
          }
        }
      }
    }
  }
  if (args.ahead && args.ahead->runs > 1) --args.ahead->runs;
}

// As many output rows of a plane at a time as copies of their sources have room for.
void run_with_copies(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  const ConvAxis &d = plan.exec.d, &h = plan.exec.h;
  const int64_t reach = (h.kernel - 1) * h.dilation + 1, step = plan.rows * h.stride;
  const int64_t groups = (h.out + plan.rows - 1) / plan.rows;  // of a plane
  const int64_t at_once = plan.padded_rows >= h.in ? groups : (plan.padded_rows - reach - step + h.stride) / step + 1;
  PaddedPlanes copies(plan, args.scratch);
  const ConvPlan padded = copies.plan();
  for (int64_t n = box.n0; n < box.n1; ++n) {
    ConvArgs of_rows = args;
    for (int64_t sp = box.sp0, end; sp < box.sp1; sp = end) {
      const int64_t group = sp / plan.chunks, plane = group / groups, first = group - plane * groups;
      const int64_t last = groups - first < at_once ? groups : first + at_once;
      end = (plane * groups + last) * plan.chunks;
      if (end > box.sp1) end = box.sp1;
      const int64_t begin = first * step - h.pad, z = plane * d.stride - d.pad;
      const int64_t rows_end = ((end - 1) / plan.chunks - plane * groups) * step - h.pad + step - h.stride + reach;
      const int64_t planes_end = z + (d.kernel - 1) * d.dilation + 1;
      copies.copy(args.src + n * plan.src.n, {z < 0 ? 0 : z, planes_end < d.in ? planes_end : d.in},
                  {begin < 0 ? 0 : begin, rows_end < h.in ? rows_end : h.in});
      of_rows.src = copies.source();
      run_conv(padded, of_rows, {n, n + 1, box.oc0, box.oc1, sp, end});
      of_rows.ahead = nullptr;
    }
  }
}

// Every run copies what it reads.
void run_with_windows(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  ConvPlan row = plan;
  row.src.n = 0;
  ConvArgs of_row = args;
  of_row.src = args.scratch;
  for (int64_t n = box.n0; n < box.n1; ++n) {
    copy_windows(plan, args.src + n * plan.src.n, {box.sp0, box.sp1}, args.scratch);
    run_conv(row, of_row, {n, n + 1, box.oc0, box.oc1, box.sp0, box.sp1});
    of_row.ahead = nullptr;
  }
}

}  // namespace

void conv_dense(const ConvPlan& plan, const ConvArgs& args, const ConvTile& tile) noexcept {
  if (plan.padded_rows > 0)
    run_with_copies(plan, args, tile);
  else if (kLanes == 16 && plan.copies_windows)  // planned for no others
    run_with_windows(plan, args, tile);
  else
    run_conv(plan, args, tile);
}

}  // namespace terroir::cpu::TERROIR_ISA
