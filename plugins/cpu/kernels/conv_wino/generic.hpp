// What: convolution with 3x3 kernels (times any number of slices) by products in the transformed domain: a box of the
// work is cut into blocks of tiles; of each block the inputs are transformed, multiplied point by point with the
// transformed weights, and the products transformed back, with bias, residual and post-ops at the store.
// Order of summation: per output kernel slice, channel block, channel; then the output transform. It depends on the
//   plan alone, never on the box or on the tiles that share a block.
// Depth: the slices of a block lie one after another among its transformed inputs, so a kernel slice further is
//   a fixed distance further, and a transformed slice serves all output slices that need it. Slices outside are zero.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv_wino/entry_points.hpp"
#include "plugins/cpu/kernels/conv_wino/gemm_pass.hpp"
#include "plugins/cpu/kernels/conv_wino/pack.hpp"
#include "plugins/cpu/kernels/conv_wino/tiles.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Tiles that are transformed back together when post-ops need their outputs in memory.
constexpr int64_t kBufferedTiles = 8;

// Tiles [s0, s0 + tiles) x output slices [d0, d0 + slices) of one group, with its scratch memory.
struct WinoBlock {
  int64_t group, s0, tiles, d0, slices;
  int64_t v_tiles;  // tiles of all slices read
  float* v;         // [point][ic block][slice, tile][channel]
  float* m;         // [point][oc block of the chunk][slice, tile][channel]
  int64_t v_point;
};

struct TileAt {
  int64_t n, row, col;
};

TERROIR_INLINE TileAt tile_at(const WinoPlan& plan, int64_t s) {
  const int64_t slice = plan.tile_rows * plan.tile_cols, in_slice = s % slice;
  return {s / slice, in_slice / plan.tile_cols, in_slice % plan.tile_cols};
}

// Odd in units of channel blocks: the points of one tile then lie in different sets of the caches.
TERROIR_INLINE int64_t point_stride(int64_t channel_blocks) { return (channel_blocks | 1) * kBlock; }

template <int Tile>
void transform_input(const WinoPlan& plan, const ConvArgs& args, const WinoBlock& b) {
  constexpr int A = Wino<Tile>::kAlpha;
  const ConvProblem& p = plan.problem;
  for (int64_t block = 0; block < plan.ic_blocks; ++block) {
    float* v = b.v + block * b.v_tiles * kBlock;
    const float* src_block = args.src + (b.group * plan.ic_blocks + block) * plan.src.c;
    for (int64_t slice = 0; slice < b.v_tiles / b.tiles; ++slice) {
      const int64_t d = b.d0 + slice - p.d.pad;
      if (d < 0 || d >= p.d.in) {
        for (int64_t k = 0; k < A * A; ++k)
          for (int64_t l = 0; l < b.tiles * kBlock; l += kLanes) storeu(v + k * b.v_point + l, zero());
        v += b.tiles * kBlock;
        continue;
      }
      TileAt at = tile_at(plan, b.s0);
      for (int64_t s = 0; s < b.tiles; ++s, v += kBlock) {
        const int64_t h = at.row * Tile - p.h.pad, w = at.col * Tile - p.w.pad;
        const float* src = src_block + at.n * plan.src.n + d * plan.src.d + h * plan.src.h + w * kBlock;
        if (h >= 0 && w >= 0 && h + A <= p.h.in && w + A <= p.w.in) {
          input_tile<Tile, false>(src, plan.src.h, {}, v, b.v_point);
        } else {
          input_tile<Tile, true>(src, plan.src.h, {-h, p.h.in - h, -w, p.w.in - w}, v, b.v_point);
        }
        if (++at.col == plan.tile_cols) {
          at.col = 0;
          if (++at.row == plan.tile_rows) {
            at.row = 0;
            ++at.n;
          }
        }
      }
    }
  }
}

// Products of units [unit0, unit1) of the group.
void multiply(const WinoPlan& plan, const float* packed, const WinoBlock& b, int64_t unit0, int64_t unit1,
              int64_t m_point, int64_t points) {
  const ConvProblem& p = plan.problem;
  const int64_t tiles = b.tiles * b.slices;
  const int64_t reduction = p.d.kernel * plan.ic_blocks * kBlock;
  const int64_t passes = (tiles + plan.register_tiles - 1) / plan.register_tiles;
  const int64_t narrow = tiles / passes, wider = tiles % passes;
  for (int64_t k = 0; k < points; ++k) {
    float* m = b.m + k * m_point;
    for (int64_t unit = unit0; unit < unit1; ++unit) {
      const int64_t first = unit * plan.unit_blocks;
      const int64_t blocks = plan.oc_blocks - first < plan.unit_blocks ? plan.oc_blocks - first : plan.unit_blocks;
      GemmPass g;
      g.u = packed + ((b.group * plan.oc_blocks + first) * points + k * blocks) * kBlock * reduction;
      g.v_block = b.v_tiles * kBlock;
      g.v_depth = b.tiles * kBlock;
      g.depth = p.d.kernel;
      g.blocks = plan.ic_blocks;
      g.last = p.ic / p.groups - (plan.ic_blocks - 1) * kBlock;
      g.m_block = tiles * kBlock;
      // The next unit at this point; after the last one, the first at the next point.
      const int64_t lines = blocks * kBlock * reduction / 16, loops = passes * p.d.kernel * plan.ic_blocks;
      g.prefetch_lines = plan.prefetch ? (lines + loops - 1) / loops : 0;
      const int64_t next = unit + 1 < unit1 ? unit + 1 : unit0, next_point = unit + 1 < unit1 ? k : k + 1;
      const int64_t next_first = next * plan.unit_blocks;
      const int64_t next_blocks =
          plan.oc_blocks - next_first < plan.unit_blocks ? plan.oc_blocks - next_first : plan.unit_blocks;
      g.prefetch =
          packed + ((b.group * plan.oc_blocks + next_first) * points + next_point * next_blocks) * kBlock * reduction;
      const int64_t prefetch_pass = g.prefetch_lines * p.d.kernel * plan.ic_blocks * 16;
      const float* v = b.v + k * b.v_point;
      g.m = m;
      for (int64_t pass = 0; pass < passes; ++pass) {
        const int64_t width = narrow + (pass < wider ? 1 : 0);
        g.v = v;
        kGemm[blocks - 1].fn[width - 1](g);
        v += width * kBlock;
        g.m += width * kBlock;
        g.prefetch += prefetch_pass;
      }
      m += blocks * tiles * kBlock;
    }
  }
}

// Neighbouring tiles of one tile row.
struct TileRun {
  TileAt at;
  int64_t d, tiles;
};

template <int Tile>
void store_run(const WinoPlan& plan, const ConvArgs& args, const Epilogue& e, const TileRun& run, int64_t block,
               int64_t channels, OutputTile t) {
  const ConvProblem& p = plan.problem;
  const int64_t h = run.at.row * Tile, w = run.at.col * Tile;
  const int64_t rows = p.h.out - h < Tile ? p.h.out - h : Tile;
  const int64_t offset = run.at.n * plan.dst.n + block * plan.dst.c + run.d * plan.dst.d + h * plan.dst.h + w * kBlock;
  if (e.rest_count == 0) {
    t.dst = args.dst + offset;
    t.row = plan.dst.h;
    if (e.residual) t.residual = e.residual + offset;
    for (int64_t i = 0; i < run.tiles; ++i) {
      const int64_t cols = p.w.out - w - i * Tile;
      if (rows == Tile && cols >= Tile) {
        output_tile<Tile, false>(t, rows, cols);
      } else {
        output_tile<Tile, true>(t, rows, cols);
      }
      t.m += kBlock;
      t.dst += Tile * kBlock;
      if (t.residual) t.residual += Tile * kBlock;
    }
    if (!e.activate) return;
    const int64_t width = p.w.out - w < run.tiles * Tile ? p.w.out - w : run.tiles * Tile;
    e.activate({args.dst + offset, 1, 0, rows, plan.dst.h, width, kBlock}, e.alpha);
    for (int64_t r = 0; r < rows; ++r) clear_tail(args.dst + offset + r * plan.dst.h, kBlock, width, channels);
    return;
  }
  alignas(64) float buffer[Tile * kBufferedTiles * Tile * kBlock];
  t.row = kBufferedTiles * Tile * kBlock;
  for (int64_t first = 0; first < run.tiles; first += kBufferedTiles) {
    const int64_t count = run.tiles - first < kBufferedTiles ? run.tiles - first : kBufferedTiles;
    const int64_t left = p.w.out - w - first * Tile, width = left < count * Tile ? left : count * Tile;
    const int64_t begin = offset + first * Tile * kBlock;
    for (int64_t r = 0; e.residual && r < rows; ++r)
      for (int64_t l = 0; l < width * kBlock; l += kLanes)
        storeu(buffer + r * t.row + l, loadu(e.residual + begin + r * plan.dst.h + l));
    t.residual = e.residual ? buffer : nullptr;
    for (int64_t i = 0; i < count; ++i, t.m += kBlock) {
      t.dst = buffer + i * Tile * kBlock;
      if (e.residual) t.residual = t.dst;
      output_tile<Tile, true>(t, rows, width - i * Tile);
    }
    for (int64_t r = 0; r < rows; ++r)
      apply_epilogue(e, buffer + r * t.row, args.dst, begin + r * plan.dst.h, kBlock, width, block * kBlock, channels);
  }
}

template <int Tile>
void transform_output(const WinoPlan& plan, const ConvArgs& args, const Epilogue& e, const WinoBlock& b, int64_t block0,
                      int64_t block1, int64_t m_point) {
  const ConvProblem& p = plan.problem;
  const int64_t oc = p.oc / p.groups;
  OutputTile t{};
  t.m = b.m;
  t.point = m_point;
  t.clamp = e.clamp;
  t.low = e.low;
  t.high = e.high;
  for (int64_t block = block0; block < block1; ++block) {
    const int64_t channels = oc - block * kBlock < kBlock ? oc - block * kBlock : kBlock;
    const int64_t block_in_all = b.group * plan.oc_blocks + block;
    t.bias = args.packed + block_in_all * kBlock;
    for (int64_t d = b.d0; d < b.d0 + b.slices; ++d) {
      for (int64_t s = 0; s < b.tiles;) {
        TileRun run{tile_at(plan, b.s0 + s), d, 0};
        run.tiles = plan.tile_cols - run.at.col < b.tiles - s ? plan.tile_cols - run.at.col : b.tiles - s;
        store_run<Tile>(plan, args, e, run, block_in_all, channels, t);
        t.m += run.tiles * kBlock;
        s += run.tiles;
      }
    }
  }
}

template <int Tile>
void run_wino(const WinoPlan& plan, const ConvArgs& args, const WinoBox& box) {
  constexpr int64_t kPoints = Wino<Tile>::kAlpha * Wino<Tile>::kAlpha;
  const ConvProblem& p = plan.problem;
  const Epilogue epilogue = make_epilogue(args.post_ops, args.post_op_count, p.oc / p.groups % kBlock != 0);
  const float* packed = args.packed + (p.groups * plan.oc_blocks * kBlock + 15) / 16 * 16;
  const int64_t s_blocks = (box.s1 - box.s0 + plan.block_tiles - 1) / plan.block_tiles;
  const int64_t d_blocks = (box.d1 - box.d0 + plan.block_slices - 1) / plan.block_slices;
  for (int64_t group = box.oc0 / plan.units; group * plan.units < box.oc1; ++group) {
    const int64_t group_unit = group * plan.units;
    const int64_t unit0 = box.oc0 > group_unit ? box.oc0 - group_unit : 0;
    const int64_t unit1 = box.oc1 - group_unit < plan.units ? box.oc1 - group_unit : plan.units;
    for (int64_t i = 0; i < s_blocks * d_blocks; ++i) {
      WinoBlock b;
      const int64_t s = i / d_blocks, d = i % d_blocks;
      b.group = group;
      b.s0 = box.s0 + s * (box.s1 - box.s0) / s_blocks;
      b.tiles = box.s0 + (s + 1) * (box.s1 - box.s0) / s_blocks - b.s0;
      b.d0 = box.d0 + d * (box.d1 - box.d0) / d_blocks;
      b.slices = box.d0 + (d + 1) * (box.d1 - box.d0) / d_blocks - b.d0;
      b.v_tiles = (b.slices + p.d.kernel - 1) * b.tiles;
      b.v = args.scratch;
      b.v_point = point_stride(plan.ic_blocks * b.v_tiles);
      b.m = b.v + kPoints * b.v_point;
      transform_input<Tile>(plan, args, b);
      for (int64_t u = unit0; u < unit1; u += plan.chunk_units) {
        const int64_t end = unit1 - u < plan.chunk_units ? unit1 : u + plan.chunk_units;
        const int64_t block0 = u * plan.unit_blocks;
        const int64_t block1 = end * plan.unit_blocks < plan.oc_blocks ? end * plan.unit_blocks : plan.oc_blocks;
        const int64_t m_point = point_stride((block1 - block0) * b.tiles * b.slices);
        multiply(plan, packed, b, u, end, m_point, kPoints);
        transform_output<Tile>(plan, args, epilogue, b, block0, block1, m_point);
      }
    }
  }
}

template <int Tile>
void pack_units(const WinoPlan& plan, const float* weights, const float* bias, float* packed, int64_t u0, int64_t u1) {
  for (int64_t unit = u0; unit < u1; ++unit) pack_unit<Tile>(plan, weights, bias, packed, unit);
}

}  // namespace

void wino_run_2(const WinoPlan& plan, const ConvArgs& args, const WinoBox& box) noexcept {
  run_wino<2>(plan, args, box);
}

void wino_run_4(const WinoPlan& plan, const ConvArgs& args, const WinoBox& box) noexcept {
  run_wino<4>(plan, args, box);
}

void wino_pack_2(const WinoPlan& plan, const float* weights, const float* bias, float* packed, int64_t u0,
                 int64_t u1) noexcept {
  pack_units<2>(plan, weights, bias, packed, u0, u1);
}

void wino_pack_4(const WinoPlan& plan, const float* weights, const float* bias, float* packed, int64_t u0,
                 int64_t u1) noexcept {
  pack_units<4>(plan, weights, bias, packed, u0, u1);
}

}  // namespace terroir::cpu::TERROIR_ISA
