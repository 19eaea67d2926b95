// What: convolution with 3x3 kernels, or segments or phases of 3x3 (times any number of slices at stride 1).
// How: by products in the transformed domain. A box of the work is cut into blocks of tiles; of each block the inputs
//   are transformed, multiplied point by point with the transformed weights, and the products transformed back, with
//   bias, residual and post-ops at the store.
// Weights: packed in the transformed domain, or transformed here, into scratch memory or in registers, on their way to
//   the products.
// Order of summation: per output kernel slice, channel block, channel; then the output transform. At stride 2 products
//   of a sum come before the channels, or where weights are in registers after them. It depends on the plan alone,
//   never on the box or the tiles that share a block.
// Depth: the slices of a block lie one after another among its transformed inputs, so a kernel slice further is
//   a fixed distance further, and a transformed slice serves all output slices that need it. Slices outside are zero.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv_wino/entry_points.hpp"
#include "plugins/cpu/kernels/conv_wino/gemm_pass.hpp"
#include "plugins/cpu/kernels/conv_wino/pack.hpp"
#include "plugins/cpu/kernels/conv_wino/staging.hpp"
#include "plugins/cpu/kernels/conv_wino/strided_transforming_pass.hpp"
#include "plugins/cpu/kernels/conv_wino/tiles.hpp"
#include "plugins/cpu/kernels/conv_wino/transforming_pass.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_spans.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Tiles that are transformed back together when post-ops need their outputs in memory.
constexpr int64_t kBufferedTiles = 8;

// Tiles [s0, s0 + tiles) x output slices [d0, d0 + slices) of one group, with its scratch memory.
struct WinoBlock {
  int64_t group, s0, tiles, d0, slices;
  int64_t read_slices;           // slices of the source, those outside included
  int64_t count[kPointClasses];  // tiles with points of the class
  float* v;                      // [point][ic block][slice read, tile][channel], tiles of the point's class only; or
                                 // [ic block][point][tile][channel] where runs transform the weights in registers
  float* m;                      // [point][oc block of the chunk][slice, tile][channel], likewise
  int64_t v_point, m_point;
  int64_t v_slice[kPointClasses];  // from one slice that is read to the next, and from the last one to the next block
};

struct TileAt {
  int64_t n, row, col;
  WinoAxisTile h, w;
};

TERROIR_NOINLINE TileAt tile_at(const WinoPlan& plan, int64_t s) {
  const int64_t slice = plan.rows.tiles * plan.cols.tiles, in_slice = s % slice;
  const int64_t row = in_slice / plan.cols.tiles, col = in_slice % plan.cols.tiles;
  return {s / slice, row, col, axis_tile(plan.rows, row, plan.tile), axis_tile(plan.cols, col, plan.tile)};
}

TERROIR_INLINE void next_tile(const WinoPlan& plan, TileAt& at) {
  if (++at.col == plan.cols.tiles) {
    at.col = 0;
    if (++at.row == plan.rows.tiles) {
      at.row = 0;
      ++at.n;
    }
    at.h = axis_tile(plan.rows, at.row, plan.tile);
  }
  at.w = axis_tile(plan.cols, at.col, plan.tile);
}

TERROIR_INLINE bool has_class(const TileAt& at, int c) { return (c < 2 || at.h.full) && (c % 2 == 0 || at.w.full); }

// Of some tiles, those with points of each class.
TERROIR_NOINLINE void count_classes(const WinoPlan& plan, TileAt at, int64_t tiles, int64_t (&count)[kPointClasses]) {
  for (int c = 0; c < kPointClasses; ++c) count[c] = 0;
  for (int64_t s = 0; s < tiles; ++s, next_tile(plan, at))
    for (int c = 0; c < kPointClasses; ++c)
      if (has_class(at, c)) ++count[c];
}

// Some of the block's tiles, one after another: `count` as above, `before` likewise of the tiles before them.
struct InputTiles {
  TileAt first;
  int64_t tiles, count[kPointClasses];
  const int64_t* before;
};

constexpr int64_t kLine = 16;

int64_t source_lines_per_tile(const WinoPlan& plan) {
  const ConvProblem& p = plan.exec;
  return p.h.in * p.w.in * kBlock / (plan.rows.tiles * plan.cols.tiles * kLine) + 1;
}

// What a tile reads of the channel block behind that of `slice`, but for what its neighbours in the row read, too.
template <typename W>
TERROIR_NOINLINE void fetch_next_block(const WinoPlan& plan, const float* slice, const TileAt& at) {
  const int64_t h = at.h.begin * W::kStride - plan.exec.h.pad, w = at.w.begin * W::kStride;
  const float* row = slice + plan.src.c + at.n * plan.src.n + h * plan.src.h + w * kBlock;
  for (int i = 0; i < W::kAlpha; ++i, row += plan.src.h)
    for (int64_t l = 0; l < W::kTile * W::kStride * kBlock; l += kLine) __builtin_prefetch(row + l);
}

// Where the copy takes little time: with stride 2 there are more products per tile, and short vectors take longer for
// them.
template <typename W>
constexpr bool kCopiesBorders = W::kStride != 1 || kLanes < 8;

// Likewise a copy of a tile whose first element, of row h and column w, would be at `column` in row 0.
template <typename W>
TERROIR_NOINLINE void copy_dilated_tile(const WinoPlan& plan, const float* column, int64_t h, int64_t w,
                                        TileRows<W>& src, float* to) {
  const ConvAxis &rows = plan.exec.h, &cols = plan.exec.w;
  for (int i = 0; i < W::kAlpha; ++i) src.at[i] = column + (h + i * rows.dilation) * plan.src.h;
  const auto steps = [](int64_t distance, const ConvAxis& axis) {
    return (distance + axis.dilation - 1) / axis.dilation;
  };
  const TileWindow window{steps(-h, rows), steps(rows.in - h, rows), steps(-w, cols), steps(cols.in - w, cols)};
  copy_tile<W>(src, cols.dilation * kBlock, window, to);
}

template <typename W>
void transform_tiles(const WinoPlan& plan, const ConvArgs& args, const WinoBlock& b, const InputTiles& some) {
  constexpr int A = W::kAlpha;
  const ConvProblem& p = plan.exec;
  const int64_t ring = plan.rows_made ? plan.rows_made->ring : 0;
  const int64_t first = (some.first.n * plan.rows.tiles + some.first.row) * plan.cols.tiles + some.first.col;
  const RemoteSources near{false, args.remote.begin - first, args.remote.end - first};
  const int64_t lines = args.remote.everywhere ? source_lines_per_tile(plan) : 0;
  const int64_t segments = plan.row_segments * plan.col_segments;
  for (int64_t of = 0; of < plan.ic_blocks * b.read_slices; ++of) {
    const int64_t block = of / b.read_slices, d = b.d0 + of % b.read_slices - p.d.pad;
    const int64_t segment = block / plan.source_blocks;
    const int64_t rows_before = segment / plan.col_segments * kSegment * p.h.dilation;
    const int64_t columns_before = segment % plan.col_segments * kSegment * p.w.dilation;
    float* next[kPointClasses];
    for (int c = 0; c < kPointClasses; ++c) next[c] = b.v + of * b.v_slice[c] + some.before[c] * kBlock;
    if (d < 0 || d >= p.d.in) {
      for (int k = 0; k < W::kSums * W::kSums; ++k) {
        const WinoSum& sum = kSumsOf<W>.of[k];
        const int c = sum.point_class;
        for (int64_t slot = sum.slot; slot < sum.slot + sum.products; ++slot)
          for (int64_t l = 0; l < some.count[c] * kBlock; l += kLanes) storeu(next[c] + slot * b.v_point + l, zero());
      }
      continue;
    }
    const float* const slice =
        args.src + (b.group * plan.source_blocks + block % plan.source_blocks) * plan.src.c + d * plan.src.d;
    TileAt at = some.first;
    // Of segments but the last: what lies behind the last channel meets weights of zero, and must be no NaN.
    const int64_t behind = (block % plan.source_blocks + 1) * kBlock - plan.problem.ic;
    const bool cuts_channels = wino_has_segments(W::kTile, W::kStride) && segment + 1 < segments && behind > 0;
    // To L2, a share per tile, the next channel block's: lines of another core's cache come slowly. Behind the last
    // block what lies there.
    const float* next_block = slice + plan.src.c + at.n * plan.src.n + at.h.begin * W::kStride * plan.src.h;
    for (int64_t s = 0; s < some.tiles; ++s, next_tile(plan, at)) {
      if (s < near.begin || s >= near.end) fetch_next_block<W>(plan, slice, at);
      for (int64_t l = 0; l < lines; ++l, next_block += kLine) __builtin_prefetch(next_block, 0, 2);
      TilePoints<float> v;
      v.stride = b.v_point;
#pragma GCC unroll 4
      for (int c = 0; c < kPointClasses; ++c) {
        v.at[c] = has_class(at, c) ? next[c] : nullptr;
        if (v.at[c]) next[c] += kBlock;
      }
      const int64_t h = at.h.begin * W::kStride - p.h.pad + rows_before;
      const int64_t w = at.w.begin * W::kStride - p.w.pad + columns_before;
      const float* const column = slice + at.n * plan.src.n + w * kBlock;
      TileRows<W> src;
#pragma GCC unroll 9
      for (int i = 0; i < A; ++i) src.at[i] = column + (h + i) * plan.src.h;
      for (int i = 0; ring != 0 && i < A; ++i) src.at[i] = column + (h + p.h.pad + i) % ring * plan.src.h;
      const bool inside = h >= 0 && w >= 0 && h + A <= p.h.in && w + A <= p.w.in;
      const TileWindow window{-h, p.h.in - h, -w, p.w.in - w};
      alignas(64) float copy[A * A * kBlock];
      bool whole = inside;
      if (wino_dilates(W::kTile, W::kStride) && dilated(plan)) {
        copy_dilated_tile<W>(plan, column, h, w, src, copy);
        whole = true;
      } else if ((kCopiesBorders<W> && !inside) || cuts_channels) {
        copy_tile<W>(src, kBlock, window, copy);
        whole = true;
      }
      if (cuts_channels) clear_tail(copy, kBlock, A * A, kBlock - behind);
      if (kCopiesBorders<W> || whole) {
        input_tile<W, false>(src, window, v);
      } else {
        input_tile<W, true>(src, window, v);
      }
    }
  }
}

template <typename W>
void transform_input(const WinoPlan& plan, const ConvArgs& args, const WinoBlock& b) {
  InputTiles all{tile_at(plan, b.s0), b.tiles, {}, nullptr};
  int64_t before[kPointClasses] = {};
  all.before = before;
  if (!plan.rows_made) {
    for (int c = 0; c < kPointClasses; ++c) all.count[c] = b.count[c];
    return transform_tiles<W>(plan, args, b, all);
  }
  // Row by row of tiles: the next row's sources may take the place of this one's.
  const ConvProblem& p = plan.exec;
  for (int64_t left = b.tiles; left > 0; left -= all.tiles) {
    all.first = tile_at(plan, b.s0 + b.tiles - left);
    all.tiles = plan.cols.tiles - all.first.col < left ? plan.cols.tiles - all.first.col : left;
    count_classes(plan, all.first, all.tiles, all.count);
    // The last row of a tile reaches its point at infinity alone.
    const int64_t points = W::kAlpha - (all.first.h.full ? 0 : 1);
    const int64_t h = all.first.h.begin - p.h.pad, end = h + points;
    plan.rows_made->make(plan.rows_made->maker, all.first.n, h < 0 ? 0 : h, end < p.h.in ? end : p.h.in);
    transform_tiles<W>(plan, args, b, all);
    for (int c = 0; c < kPointClasses; ++c) before[c] += all.count[c];
  }
}

// Input channels of one kernel slice, or of all.
struct WinoReduction {
  int64_t d, first;             // the kernel slice and input block to begin with
  int64_t depth, blocks, last;  // kernel slices, input blocks, channels of the last one
  int64_t u_block, u_point;     // between the weights of two blocks, and of two points
};

// Whether a unit's weights of a sum are zero, for want of the first or the last of three taps.
template <typename W>
TERROIR_NOINLINE bool is_dead(const WinoPlan& plan, const WinoUnit& unit, int sum) {
  if (!wino_transposes(W::kTile, W::kStride) || !plan.problem.transposed) return false;
  const auto [rows, columns] = taps_of(plan.problem, 0, unit.phase);
  const auto dead = [](const WinoTaps& taps, int point) {
    return (point == 0 && !taps.has(0)) || (point == W::kSums - 1 && !taps.has(kSegment - 1));
  };
  return dead(rows, sum / W::kSums) || dead(columns, sum % W::kSums);
}

TERROIR_INLINE void clear_sum(const WinoBlock& b, const WinoUnit& unit, const WinoSum& sum, float* m) {
  const int64_t floats = unit.blocks * b.count[sum.point_class] * b.slices * kBlock;
  for (int64_t l = 0; l < floats; l += kLanes) storeu(m + l, zero());
}

// The sum `sum` of one unit from its weights `u` of `part`, of the first point; `lines` cache lines from `ahead` on are
// wanted next.
TERROIR_NOINLINE void multiply_sum(const WinoPlan& plan, const WinoBlock& b, const WinoUnit& unit, const WinoSum& sum,
                                   const WinoReduction& part, const float* u, const float* ahead, int64_t lines,
                                   float* m) {
  const int64_t count = b.count[sum.point_class], tiles = count * b.slices;
  if (tiles == 0) return;
  const int64_t passes = (tiles + plan.register_tiles - 1) / plan.register_tiles;
  const int64_t narrow = tiles / passes, wider = tiles % passes;
  GemmPass g;
  g.u = u + sum.weight * part.u_point;
  g.u_block = part.u_block;
  g.v_block = b.read_slices * count * kBlock;
  g.v_depth = count * kBlock;
  g.depth = part.depth;
  g.u_depth[0] = g.u_depth[1] = part.blocks * part.u_block;
  if (sum.products > 1) {
    g.v_depth = b.v_point;
    g.depth = sum.products;
    g.u_depth[0] = sum.step[0] * part.u_point;
    g.u_depth[1] = sum.step[1] * part.u_point;
  }
  g.blocks = part.blocks;
  g.last = part.last;
  g.m = m;
  g.m_block = tiles * kBlock;
  g.load = part.d + part.first > 0;
  const int64_t loops = passes * g.depth * part.blocks;
  g.prefetch_lines = (lines + loops - 1) / loops;
  g.prefetch = ahead;
  const float* v = b.v + sum.slot * b.v_point + part.first * g.v_block + part.d * g.v_depth;
  for (int64_t pass = 0; pass < passes; ++pass) {
    const int64_t width = narrow + (pass < wider ? 1 : 0);
    g.v = v;
    kGemm[unit.blocks - 1].fn[width - 1](g);
    v += width * kBlock;
    g.m += width * kBlock;
    g.prefetch += g.prefetch_lines * g.depth * part.blocks * 16;
  }
}

// Products of units [unit0, unit1) of the group with packed weights.
template <typename W>
void multiply(const WinoPlan& plan, const float* packed, const WinoBlock& b, int64_t unit0, int64_t unit1) {
  const ConvProblem& p = plan.exec;
  WinoReduction all{0, 0, p.d.kernel, plan.ic_blocks, p.ic / p.groups - (plan.ic_blocks - 1) * kBlock, 0, 0};
  const int64_t point_weights = p.d.kernel * plan.ic_blocks * kBlock;  // of one output channel
  const auto weights = [&](const WinoUnit& unit, int64_t point) {
    return packed + weights_of_unit(plan, b.group, unit) + point * unit.blocks * kBlock * point_weights;
  };
  for (int k = 0; k < W::kSums * W::kSums; ++k) {
    const WinoSum& sum = kSumsOf<W>.of[k];
    float* m = b.m + k * b.m_point;
    for (int64_t u = unit0; u < unit1; ++u) {
      const WinoUnit unit = wino_unit(plan, u);
      all.u_point = unit.blocks * kBlock * point_weights;
      all.u_block = unit.blocks * kBlock * kBlock;
      int64_t lines = plan.prefetch ? all.u_point / 16 : 0;
      const float* ahead;
      if constexpr (W::kStride == 1) {
        // The next unit at this point; after the last one, the first at the next point.
        ahead = u + 1 < unit1 ? weights(wino_unit(plan, u + 1), k) : weights(wino_unit(plan, unit0), k + 1);
      } else {
        // While a row of sums is made, a share at a time, what the next row wants; in the last row, the next unit's.
        const int row = (k / W::kSums + 1) % W::kSums;
        const int first = W::new_weights(row), count = W::new_weights(row + 1) - first;
        lines = lines * count * W::kWeights / W::kSums;
        ahead = weights(row == 0 ? wino_unit(plan, u + 1) : unit, first * W::kWeights) + k % W::kSums * lines * 16;
      }
      if (is_dead<W>(plan, unit, k)) {
        clear_sum(b, unit, sum, m);
      } else {
        multiply_sum(plan, b, unit, sum, all, weights(unit, 0), ahead, lines, m);
      }
      m += unit.blocks * b.count[sum.point_class] * b.slices * kBlock;
    }
  }
}

// Products of unit `u` of the group with plain weights, a part at a time, of that a group of sums; behind the last
// part, weights follow if `more`.
template <typename W>
void stage_and_multiply(const WinoPlan& plan, const float* packed, const WinoBlock& b, int64_t u, bool more,
                        float* staged) {
  constexpr int64_t kSums = W::kSums * W::kSums;
  const WinoUnit unit = wino_unit(plan, u);
  const int64_t ic = plan.exec.ic / plan.exec.groups, lanes = unit.blocks * kBlock;
  const int64_t u_point = point_stride(lanes), u_block = kStagedRows * W::kWeights * u_point;
  const float* const weights = packed + weights_of_unit(plan, b.group, unit);
  const int64_t parts = stage_parts(plan);
  const bool cuts = wino_has_segments(W::kTile, W::kStride) && cuts_taps(plan);
  float* const cut = staged + plan.stage_floats - stage_cut_floats(plan);
  for (int64_t i = 0; i < parts; ++i) {
    const StagePart part = stage_part(plan, i);
    const int64_t channels = (part.blocks - 1) * kBlock + part.last;
    const float* taps = weights + (part.d * ic + part.first * kBlock) * kTaps * lanes;
    const float* ahead = taps + channels * kTaps * lanes;
    const int64_t lines = i + 1 < parts || more ? (channels * kTaps * lanes / 16 + kSums - 1) / kSums : 0;
    if (cuts) {
      ahead = cut_part(plan, weights, part, unit, cut);
      taps = cut;
    }
    const WinoReduction some{part.d, part.first, 1, part.blocks, part.last, u_block, u_point};
    float* m = b.m;
    for (int g = 0; g < W::kGroups; ++g) {
      // Of one row: without any tap.
      const bool wanted = W::group(g).rows > 1 || !is_dead<W>(plan, unit, W::group(g).first * W::kSums + 1);
      for (int64_t a = 0; wanted && a < part.blocks; ++a)
        kStage<W>.fn[g]({taps + a * kBlock * kTaps * lanes, a + 1 < part.blocks ? kBlock : part.last, lanes,
                         staged + a * u_block, u_point});
      const SumGroup group = W::group(g);
      for (int k = group.first * W::kSums; k < (group.first + group.rows) * W::kSums; ++k, m += b.m_point) {
        const WinoSum& sum = kGroupedSumsOf<W>.of[k];
        if (is_dead<W>(plan, unit, k)) {
          clear_sum(b, unit, sum, m);
        } else {
          multiply_sum(plan, b, unit, sum, some, staged, ahead, lines, m);
        }
        ahead += lines * 16;
      }
    }
  }
}

// Products of block `block` of the group with plain weights that are transformed in registers.
void transform_and_multiply(const WinoPlan& plan, const float* packed, const WinoBlock& b, int64_t block) {
  constexpr int A = Wino<4>::kAlpha;
  // The next run's weights come to L2 first: to L1, nothing should come late.
  constexpr int64_t kLines[A] = {3, 2, 2, 2, 5, 4};
  constexpr int kToL2 = A - 2;
  const int64_t ic = plan.exec.ic / plan.exec.groups;
  const float* const weights = packed + (b.group * plan.oc_blocks + block) * kBlock * block_weights(plan);
  TransformingPass t;
  t.m_point = b.m_point;
  for (int64_t first = 0; first < plan.ic_blocks; first += kTransformedBlocks) {
    const int64_t left = plan.ic_blocks - first;
    t.blocks = left < kTransformedBlocks ? left : kTransformedBlocks;
    t.last = left <= kTransformedBlocks ? ic - (plan.ic_blocks - 1) * kBlock : kBlock;
    const float* const taps = weights + first * kBlock * kTaps * kBlock;
    t.load = first > 0;
    t.scale = left <= kTransformedBlocks;
    for (int row = 0; row < A; ++row) {
      const int64_t finite = b.count[row == A - 1 ? 2 : 0], infinite = b.count[row == A - 1 ? 3 : 1];
      if (row == 0 || row == kToL2) t.prefetch = taps + t.blocks * kBlock * kTaps * kBlock;
      if (finite == 0) continue;
      t.v = b.v + (first * A + row) * A * kSpanPoint;
      t.m = b.m + row * A * b.m_point;
      t.taps = row < A - 1 ? taps : taps + 6 * kBlock;
      t.at = Wino<4>::kAt[row];
      t.row_scale = Wino<4>::kScale[row];
      t.prefetch_lines = kLines[row];
      t.to_l1 = row >= kToL2;
      const TransformingRow& passes = row == 0 || row == A - 1 ? kTransforming[finite / 2 - 1] : kTransformingFinite;
      passes.fn[infinite * 2 / finite](t);
      t.prefetch += t.prefetch_lines * t.blocks * kBlock * 16;
    }
  }
}

// The same with stride 2, an input block at a time.
void transform_and_multiply_strided(const WinoPlan& plan, const float* packed, const WinoBlock& b, int64_t block) {
  using W = StridedWino<4>;
  constexpr float kAt[W::kSums] = {0, W::a, -W::a, W::b, 0};
  constexpr int64_t kLines[W::kSums] = {3, 3, 3, 4, 5};
  constexpr int kToL2 = W::kSums - 2;
  const int64_t ic = plan.exec.ic / plan.exec.groups;
  const float* taps = packed + (b.group * plan.oc_blocks + block) * kBlock * block_weights(plan);
  StridedTransformingPass t;
  t.m_point = b.m_point;
  for (int64_t a = 0; a < plan.ic_blocks; ++a, taps += t.channels * kTaps * kBlock) {
    t.channels = a + 1 < plan.ic_blocks ? kBlock : ic - a * kBlock;
    t.taps = taps;
    t.load = a > 0;
    for (int row = 0; row < W::kSums; ++row) {
      const bool last = row == W::kLast;
      if (row == 0 || row == kToL2) t.prefetch = taps + t.channels * kTaps * kBlock;
      const int64_t finite = b.count[last ? 2 : 0], infinite = b.count[last ? 3 : 1];
      if (finite == 0) continue;
      t.v = b.v + (a * W::kAlpha + W::first(row)) * W::kAlpha * kSpanPoint;
      t.m = b.m + row * W::kSums * b.m_point;
      t.at = kAt[row];
      t.prefetch_lines = row < kToL2 && !plan.prefetch ? 0 : kLines[row];
      kStridedTransforming[row].fn[finite - kLeastStridedTiles][infinite == finite ? 1 : 0](t);
      t.prefetch += kLines[row] * t.channels * 16;
    }
  }
}

// Neighbouring tiles of one tile row.
struct TileRun {
  TileAt at;
  int64_t d, tiles;
};

// To the next tile of the row.
TERROIR_INLINE void advance(const WinoPlan& plan, TileAt& at, TilePoints<const float>& m,
                            const float* (&next)[kPointClasses]) {
#pragma GCC unroll 4
  for (int c = 0; c < kPointClasses; ++c)
    if (m.at[c]) next[c] += kBlock;
  at.w = axis_tile(plan.cols, ++at.col, plan.tile);
#pragma GCC unroll 4
  for (int c = 0; c < kPointClasses; ++c) m.at[c] = has_class(at, c) ? next[c] : nullptr;
}

// `next`: by class, the points of the tiles to come; those of the run are taken off.
template <typename W>
void store_run(const WinoPlan& plan, const ConvArgs& args, const Epilogue& e, const TileRun& run, int64_t block,
               int64_t channels, OutputTile t, const float* (&next)[kPointClasses]) {
  const ConvProblem& p = plan.exec;
  const int64_t h = run.at.h.begin, w = run.at.w.begin;
  const int64_t most_rows = run.at.h.full ? W::kTile : W::kTile - 1;
  const int64_t rows = p.h.out - h < most_rows ? p.h.out - h : most_rows;
  const int64_t offset = run.at.n * plan.dst.n + block * plan.dst.c + run.d * plan.dst.d + h * plan.dst.h + w * kBlock;
  const int64_t behind = axis_tile(plan.cols, run.at.col + run.tiles, W::kTile).begin;
  const int64_t run_width = (p.w.out < behind ? p.w.out : behind) - w;
  TileAt at = run.at;
  for (int c = 0; c < kPointClasses; ++c) t.m.at[c] = has_class(at, c) ? next[c] : nullptr;
  if (e.rest_count == 0) {
    t.dst = args.dst + offset;
    t.row = plan.dst.h;
    if (e.residual) t.residual = e.residual + offset;
    for (int64_t left = run_width; left > 0;) {
      const int64_t most = at.w.full ? W::kTile : W::kTile - 1, cols = left < most ? left : most;
      if (rows == W::kTile && cols == W::kTile) {
        output_tile<W>(t);
      } else {
        output_border_tile<W>(t, rows, cols);
      }
      left -= cols;
      t.dst += cols * kBlock;
      if (t.residual) t.residual += cols * kBlock;
      advance(plan, at, t.m, next);
    }
    if (!e.activate) return;
    e.activate({args.dst + offset, 1, 0, rows, plan.dst.h, run_width, kBlock}, e.alpha);
    for (int64_t r = 0; r < rows; ++r) clear_tail(args.dst + offset + r * plan.dst.h, kBlock, run_width, channels);
    return;
  }
  alignas(64) float buffer[W::kTile * kBufferedTiles * W::kTile * kBlock];
  t.row = kBufferedTiles * W::kTile * kBlock;
  for (int64_t begin = 0; begin < run_width;) {
    const int64_t last = at.col + kBufferedTiles, end = run.at.col + run.tiles;
    const int64_t to = axis_tile(plan.cols, last < end ? last : end, W::kTile).begin - w;
    const int64_t width = (to < run_width ? to : run_width) - begin, first = offset + begin * kBlock;
    for (int64_t r = 0; e.residual && r < rows; ++r)
      for (int64_t l = 0; l < width * kBlock; l += kLanes)
        storeu(buffer + r * t.row + l, loadu(e.residual + first + r * plan.dst.h + l));
    t.dst = buffer;
    for (int64_t left = width; left > 0; advance(plan, at, t.m, next)) {
      const int64_t most = at.w.full ? W::kTile : W::kTile - 1, cols = left < most ? left : most;
      t.residual = e.residual ? t.dst : nullptr;
      output_border_tile<W>(t, rows, cols);
      left -= cols;
      t.dst += cols * kBlock;
    }
    for (int64_t r = 0; r < rows; ++r)
      apply_epilogue(e, buffer + r * t.row, args.dst, first + r * plan.dst.h, kBlock, width, block * kBlock, channels);
    begin += width;
  }
}

// Along an axis, the outputs of a tile: `count` of them, `step` apart.
struct OutputsApart {
  int64_t begin, step, count;
};

template <typename W>
OutputsApart outputs_apart(const ConvAxis& axis, const ConvAxis& exec, const WinoAxisTile& tile, int64_t phases,
                           int64_t phase) {
  const int64_t begin = tile.begin * phases + phase, step = exec.dilation * phases;
  const int64_t left = (axis.out - begin + step - 1) / step, most = tile.full ? W::kTile : W::kTile - 1;
  return {begin, step, left < most ? left : most};
}

// Of a dilated or transposed convolution: a tile at a time, whose outputs do not lie side by side.
template <typename W>
void store_run_apart(const WinoPlan& plan, const ConvArgs& args, const Epilogue& e, const TileRun& run, int64_t block,
                     int64_t phase, int64_t channels, OutputTile t, const float* (&next)[kPointClasses]) {
  const ConvProblem &p = plan.problem, &exec = plan.exec;
  alignas(64) float buffer[W::kTile * W::kTile * kBlock];
  t.row = W::kTile * kBlock;
  t.dst = buffer;
  t.residual = e.residual ? buffer : nullptr;
  TileAt at = run.at;
  for (int c = 0; c < kPointClasses; ++c) t.m.at[c] = has_class(at, c) ? next[c] : nullptr;
  const OutputsApart of_rows = outputs_apart<W>(p.h, exec.h, at.h, plan.row_phases, phase / plan.col_phases);
  const int64_t image = at.n * plan.dst.n + block * plan.dst.c + run.d * plan.dst.d + of_rows.begin * plan.dst.h;
  const int64_t rows = of_rows.count, row = of_rows.step * plan.dst.h;
  for (int64_t left = run.tiles; left > 0; --left, advance(plan, at, t.m, next)) {
    const OutputsApart of_cols = outputs_apart<W>(p.w, exec.w, at.w, plan.col_phases, phase % plan.col_phases);
    const int64_t cols = of_cols.count, column = of_cols.step * kBlock, first = image + of_cols.begin * kBlock;
    if (rows <= 0 || cols <= 0) continue;  // a phase of fewer outputs than the first
    for (int64_t r = 0; e.residual && r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        for (int64_t l = 0; l < kBlock; l += kLanes)
          storeu(buffer + r * t.row + c * kBlock + l, loadu(e.residual + first + r * row + c * column + l));
    output_border_tile<W>(t, rows, cols);
    if (e.activate) e.activate({buffer, 1, 0, rows, t.row, cols, kBlock}, e.alpha);
    for (int64_t r = 0; r < rows; ++r)
      apply_epilogue(e, buffer + r * t.row, args.dst, first + r * row, column, cols, block * kBlock, channels);
  }
}

template <typename W>
void transform_output(const WinoPlan& plan, const ConvArgs& args, const Epilogue& e, const WinoBlock& b,
                      const WinoUnit& unit, const float* (&next)[kPointClasses]) {
  const ConvProblem& p = plan.exec;
  const int64_t oc = p.oc / p.groups;
  OutputTile t{};
  t.m.stride = b.m_point;
  t.clamp = e.clamp;
  t.low = e.low;
  t.high = e.high;
  for (int64_t block = unit.first; block < unit.first + unit.blocks; ++block) {
    const int64_t channels = oc - block * kBlock < kBlock ? oc - block * kBlock : kBlock;
    const int64_t block_in_all = b.group * plan.oc_blocks + block;
    t.bias = args.packed + block_in_all * kBlock;
    for (int64_t d = b.d0; d < b.d0 + b.slices; ++d) {
      for (int64_t s = 0; s < b.tiles;) {
        TileRun run{tile_at(plan, b.s0 + s), d, 0};
        run.tiles = plan.cols.tiles - run.at.col < b.tiles - s ? plan.cols.tiles - run.at.col : b.tiles - s;
        if (wino_dilates(W::kTile, W::kStride) && (dilated(plan) || plan.problem.transposed)) {
          if constexpr (wino_dilates(W::kTile, W::kStride))
            store_run_apart<W>(plan, args, e, run, block_in_all, unit.phase, channels, t, next);
        } else {
          store_run<W>(plan, args, e, run, block_in_all, channels, t, next);
        }
        s += run.tiles;
      }
    }
  }
}

// Whether the block's inputs are there from the run before; from now on they are.
bool keeps_inputs(const WinoBlock& b, WinoKept& kept) {
  const bool there =
      kept.group == b.group && kept.s0 == b.s0 && kept.tiles == b.tiles && kept.d0 == b.d0 && kept.slices == b.slices;
  kept.group = b.group;
  kept.s0 = b.s0;
  kept.tiles = b.tiles;
  kept.d0 = b.d0;
  kept.slices = b.slices;
  return there;
}

template <typename W>
void run_wino(const WinoPlan& plan, const ConvArgs& args, const WinoBox& box) {
  constexpr int64_t kPoints = W::kAlpha * W::kAlpha;
  const ConvProblem& p = plan.exec;
  const Epilogue epilogue = make_epilogue(args.post_ops, args.post_op_count, p.oc / p.groups % kBlock != 0);
  const float* packed = args.packed + (p.groups * plan.oc_blocks * kBlock + 15) / 16 * 16;
  WinoKept none;
  WinoKept& kept = args.kept ? *args.kept : none;
  const bool in_registers = plan.weights == WinoWeights::in_registers;
  const int64_t s0 = first_tile_of(plan.spans, box.s0), tiles = first_tile_of(plan.spans, box.s1) - s0;
  const int64_t s_blocks = in_registers ? box.s1 - box.s0 : (tiles + plan.block_tiles - 1) / plan.block_tiles;
  const int64_t d_blocks = (box.d1 - box.d0 + plan.block_slices - 1) / plan.block_slices;
  for (int64_t group = box.oc0 / plan.units; group * plan.units < box.oc1; ++group) {
    const int64_t group_unit = group * plan.units;
    const int64_t unit0 = box.oc0 > group_unit ? box.oc0 - group_unit : 0;
    const int64_t unit1 = box.oc1 - group_unit < plan.units ? box.oc1 - group_unit : plan.units;
    const int64_t ahead = args.oc_ahead - group_unit, units_ahead = ahead < plan.units ? ahead : plan.units;
    for (int64_t i = 0; i < s_blocks * d_blocks; ++i) {
      WinoBlock b;
      const int64_t s = i / d_blocks, d = i % d_blocks;
      b.group = group;
      const auto first_of = [&](int64_t block) {
        return in_registers ? first_tile_of(plan.spans, box.s0 + block) : s0 + block * tiles / s_blocks;
      };
      b.s0 = first_of(s);
      b.tiles = first_of(s + 1) - b.s0;
      b.d0 = box.d0 + d * (box.d1 - box.d0) / d_blocks;
      b.slices = box.d0 + (d + 1) * (box.d1 - box.d0) / d_blocks - b.d0;
      b.read_slices = b.slices + p.d.kernel - 1;
      count_classes(plan, tile_at(plan, b.s0), b.tiles, b.count);
      b.v = args.scratch + plan.stage_floats;
      b.v_point = in_registers ? kSpanPoint : point_stride(plan.ic_blocks * b.read_slices * b.tiles);
      for (int c = 0; c < kPointClasses; ++c) b.v_slice[c] = in_registers ? kPoints * kSpanPoint : b.count[c] * kBlock;
      b.m = b.v + kPoints * (in_registers ? plan.ic_blocks * kSpanPoint : b.v_point);
      if (!keeps_inputs(b, kept)) transform_input<W>(plan, args, b);
      for (int64_t u = unit0; u < unit1; u += plan.chunk_units) {
        const int64_t end = unit1 - u < plan.chunk_units ? unit1 : u + plan.chunk_units;
        int64_t blocks = 0;
        for (int64_t unit = u; unit < end; ++unit) blocks += wino_unit(plan, unit).blocks;
        b.m_point = point_stride(blocks * b.tiles * b.slices);
        if (plan.weights == WinoWeights::packed) {
          multiply<W>(plan, packed, b, u, end);
        } else if (plan.weights == WinoWeights::staged) {
          if constexpr (W::kTile == 4 || W::kStride == 2)
            stage_and_multiply<W>(plan, packed, b, u, end < unit1 || end < units_ahead, args.scratch);
        } else if constexpr (W::kTile == 4 && kTransforms) {
          if constexpr (W::kStride == 1) {
            transform_and_multiply(plan, packed, b, u);
          } else {
            transform_and_multiply_strided(plan, packed, b, u);
          }
        }
        const float* next[kPointClasses] = {b.m, b.m, b.m, b.m};
        for (int64_t unit = u; unit < end; ++unit)
          transform_output<W>(plan, args, epilogue, b, wino_unit(plan, unit), next);
      }
    }
  }
}

template <typename W>
void pack_units(const WinoPlan& plan, const ConvConstants& constants, float* packed, int64_t u0, int64_t u1) {
  for (int64_t unit = u0; unit < u1; ++unit) pack_unit(plan, &transform_taps<W>, constants, packed, unit);
}

}  // namespace

#define TERROIR_WINO_DEFINE(name, algorithm)                                                             \
  void wino_run_##name(const WinoPlan& plan, const ConvArgs& args, const WinoBox& box) noexcept {        \
    run_wino<algorithm>(plan, args, box);                                                                \
  }                                                                                                      \
  void wino_pack_##name(const WinoPlan& plan, const ConvConstants& constants, float* packed, int64_t u0, \
                        int64_t u1) noexcept {                                                           \
    pack_units<algorithm>(plan, constants, packed, u0, u1);                                              \
  }

TERROIR_WINO_DEFINE(2, Wino<2>)
TERROIR_WINO_DEFINE(4, Wino<4>)
#ifndef TERROIR_WINO_WITHOUT_STRIDE
TERROIR_WINO_DEFINE(2_strided, StridedWino<2>)
TERROIR_WINO_DEFINE(4_strided, StridedWino<4>)
#endif
#undef TERROIR_WINO_DEFINE

}  // namespace terroir::cpu::TERROIR_ISA
