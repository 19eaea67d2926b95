// What: the paired kernel; see paired.hpp. Some positions at a time are prepared (scaled, their pairs' products
// summed), then every unit of outputs passes over them in register tiles of up to 10 positions x 2 channel blocks.
// Cost: per three channels, position and vector two additions and two multiply-adds, for three broadcasts per position
//   and three loads per vector.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv/take_lines.hpp"
#include "plugins/cpu/kernels/conv_paired/entry_points.hpp"
#include "plugins/cpu/kernels/conv_paired/paired_types.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

using paired::kMaxPositions;
constexpr int kPairedBlocks = static_cast<int>(paired::kUnitBlocks);

// Adds lane l of a triple's first channel times lane l + 1, of all triples of a block.
TERROIR_INLINE void add_pair_products(V& sum, V v) {
  const __m512i next = _mm512_setr_epi32(1, 1, 1, 4, 4, 4, 7, 7, 7, 10, 10, 10, 13, 13, 13, 15);
  add_product(sum, V(_mm512_maskz_permutexvar_ps(0x1249, next, v)), v);
}

// The larger magnitude.
TERROIR_INLINE V max_abs(V a, V b) { return V(_mm512_range_ps(a, b, 0x0b)); }

struct PairedScale {
  float of_sources, of_results;
};

// 1 where `largest`, of a position's magnitudes, is near enough to the weights', else the power of two that brings it
// into [1, 2), and its inverse. Without sources the results are 0: what is left of the sums is rounding.
TERROIR_INLINE PairedScale scale_for(float largest) {
  if (largest >= paired::kLeastSource && largest < paired::kMostSource) return {1, 1};
  if (largest == 0) return {1, 0};
  constexpr uint32_t kExponent = 0x7f800000, kOne = 127u << 23, kFurthest = 126u << 23;
  uint32_t bits;
  __builtin_memcpy(&bits, &largest, sizeof(bits));
  bits &= kExponent;
  if (bits == kExponent) return {1, 1};
  if (bits < kOne - kFurthest) bits = kOne - kFurthest;
  if (bits > kOne + kFurthest) bits = kOne + kFurthest;
  const uint32_t inverse = 2 * kOne - bits;
  PairedScale scale;
  __builtin_memcpy(&scale.of_sources, &inverse, sizeof(inverse));
  __builtin_memcpy(&scale.of_results, &bits, sizeof(bits));
  return scale;
}

// Where the sources of a tile lie: its positions side by side, blocks of channels `step` floats apart.
struct TileSources {
  const float* begin;
  int64_t step;
};

// A tile of prepared positions, the first of which is `first` behind the first of all.
struct PairedSources {
  TileSources at;
  int64_t first, width;
};
static_assert(sizeof(PairedSources) <= paired::kTileFloats * sizeof(float) && alignof(PairedSources) <= 8);

// Positions [begin, end) of an image, prepared, in tiles of nearly equal width.
struct PairedPositions {
  int64_t n, begin, end, tiles;
  float *copies, *sums, *pair_sums, *scales;
  PairedSources* sources;  // of each tile
};

// Where the sources of a position begin.
TERROIR_INLINE int64_t source_offset(const ConvPlan& plan, int64_t position) {
  const ConvProblem& e = plan.exec;
  if (e.d.out == 1 && e.h.out == 1) return position * e.w.stride * plan.src.w;
  const int64_t w = position % e.w.out, row = position / e.w.out;
  return row / e.h.out * e.d.stride * plan.src.d + row % e.h.out * e.h.stride * plan.src.h +
         w * e.w.stride * plan.src.w;
}

// What a tile is prepared from, and to.
struct PreparedTile {
  const float* sources[kMaxPositions];
  int64_t block_step;  // from one of their blocks to the next
  int64_t blocks;
  Tail in_last;   // channels of the last block
  bool in_place;  // the positions lie side by side, in whole blocks: they need no copy
  float *copy, *pair_sums, *scales;
};

// Where the tile's sources are to be read.
template <int M>
TileSources prepare_tile(const PreparedTile& t) noexcept {
  V largest[M], sum[M], factor[M];
#pragma GCC unroll 10
  for (int m = 0; m < M; ++m) largest[m] = sum[m] = zero();
  if (t.in_place) {
    const float* from = t.sources[0];
    for (int64_t b = t.blocks; b > 0; --b, from += t.block_step) {
#pragma GCC unroll 10
      for (int m = 0; m < M; ++m) {
        const V v = loadu(from + m * kBlock);
        largest[m] = max_abs(largest[m], v);
        add_pair_products(sum[m], v);
      }
    }
  } else {
    float* to = t.copy;
    int64_t from = 0;
    for (int64_t b = t.blocks; b > 0; --b, from += t.block_step, to += M * kBlock) {
      const Tail channels = b > 1 ? tail(kBlock) : t.in_last;
#pragma GCC unroll 10
      for (int m = 0; m < M; ++m) {
        const V v = load_tail(t.sources[m] + from, channels);
        storeu(to + m * kBlock, v);
        largest[m] = max_abs(largest[m], v);
        add_pair_products(sum[m], v);
      }
    }
  }
  bool scaled = false;
#pragma GCC unroll 10
  for (int m = 0; m < M; ++m) {
    const PairedScale scale = scale_for(reduce_max(largest[m]));
    t.scales[m] = scale.of_results;
    factor[m] = V(scale.of_sources);
    scaled = scaled || scale.of_sources != 1;
  }
  if (scaled) {
    const float* from = t.in_place ? t.sources[0] : t.copy;
    const int64_t step = t.in_place ? t.block_step : M * kBlock;
    float* to = t.copy;
#pragma GCC unroll 10
    for (int m = 0; m < M; ++m) sum[m] = zero();
    for (int64_t b = t.blocks; b > 0; --b, from += step, to += M * kBlock) {
#pragma GCC unroll 10
      for (int m = 0; m < M; ++m) {
        const V v = loadu(from + m * kBlock) * factor[m];
        storeu(to + m * kBlock, v);
        add_pair_products(sum[m], v);
      }
    }
  }
#pragma GCC unroll 10
  for (int m = 0; m < M; ++m) t.pair_sums[m] = reduce_add(sum[m]);
  if (t.in_place && !scaled) return {t.sources[0], t.block_step};
  return {t.copy, M * kBlock};
}

using PrepareTileFn = TileSources (*)(const PreparedTile& tile) noexcept;
constexpr PrepareTileFn kPrepareTile[kMaxPositions] = {
    &prepare_tile<1>, &prepare_tile<2>, &prepare_tile<3>, &prepare_tile<4>, &prepare_tile<5>,
    &prepare_tile<6>, &prepare_tile<7>, &prepare_tile<8>, &prepare_tile<9>, &prepare_tile<10>};

void prepare(const ConvPlan& plan, const float* src, const PairedPositions& p) {
  const int64_t inputs = paired::padded_inputs(plan);
  PreparedTile t;
  t.block_step = plan.src.c;
  t.blocks = inputs / kBlock;
  t.in_last = tail(plan.exec.ic - (t.blocks - 1) * kBlock);
  t.in_place = plan.sources_soon && plan.exec.ic == inputs && plan.exec.w.out == plan.grid.sp &&
               plan.exec.w.stride * plan.src.w == kBlock;
  src += p.n * plan.src.n;
  for (int64_t i = 0, first = 0; i < p.tiles; ++i) {
    const int64_t width = (i + 1) * (p.end - p.begin) / p.tiles - first;
    for (int64_t m = 0; m < width; ++m) t.sources[m] = src + source_offset(plan, p.begin + first + m);
    t.copy = p.copies + first * inputs;
    t.pair_sums = p.pair_sums + first;
    t.scales = p.scales + first;
    p.sources[i] = {kPrepareTile[width - 1](t), first, width};
    first += width;
  }
}

struct PairedTile {
  TileSources x;
  const float *pair_sums, *scales;                 // of its positions
  TileSources next;                                // fetched to L1 meanwhile, or null
  const float *starts, *factors, *weights, *bias;  // of its outputs
  int64_t blocks;                                  // of this round
  bool first, last;                                // of its rounds; between them
  float* sums;                                     // are here
  const float* ahead;                              // fetched meanwhile, so many lines per block
  int64_t ahead_lines;
  float* out;
  int64_t out_block, out_position;
  const float* residual;  // or null; likewise
  bool clamp;
  float low, high;
};

// Channels of `x` and their weights: a pair, and one that is multiplied as it is.
template <int M>
TERROIR_INLINE void add_triple(const float* x, const float* w, V (&acc)[M][kPairedBlocks]) {
  constexpr int kUnit = kPairedBlocks * kBlock;
  V first[kPairedBlocks], second[kPairedBlocks], single[kPairedBlocks];
#pragma GCC unroll 2
  for (int v = 0; v < kPairedBlocks; ++v) {
    first[v] = loadu(w + v * kBlock);
    second[v] = loadu(w + kUnit + v * kBlock);
    single[v] = loadu(w + 2 * kUnit + v * kBlock);
  }
#pragma GCC unroll 10
  for (int m = 0; m < M; ++m) {
    const V x0 = broadcast(x + m * kBlock), x1 = broadcast(x + m * kBlock + 1), x2 = broadcast(x + m * kBlock + 2);
    V left[kPairedBlocks];
#pragma GCC unroll 2
    for (int v = 0; v < kPairedBlocks; ++v) {
      left[v] = x0 + second[v];
      add_product(acc[m][v], x2, single[v]);
    }
#pragma GCC unroll 2
    for (int v = 0; v < kPairedBlocks; ++v) add_product(acc[m][v], left[v], x1 + first[v]);
  }
}

template <int M>
TERROIR_INLINE void add_single(const float* x, const float* w, V (&acc)[M][kPairedBlocks]) {
  V weight[kPairedBlocks];
#pragma GCC unroll 2
  for (int v = 0; v < kPairedBlocks; ++v) weight[v] = loadu(w + v * kBlock);
#pragma GCC unroll 10
  for (int m = 0; m < M; ++m) {
    const V b = broadcast(x + m * kBlock);
#pragma GCC unroll 2
    for (int v = 0; v < kPairedBlocks; ++v) add_product(acc[m][v], b, weight[v]);
  }
}

template <int M>
void paired_tile(const PairedTile& t) noexcept {
  constexpr int kUnit = kPairedBlocks * kBlock;
  V acc[M][kPairedBlocks];
  if (t.first) {
#pragma GCC unroll 10
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 2
      for (int v = 0; v < kPairedBlocks; ++v) acc[m][v] = loadu(t.starts + v * kBlock) - broadcast(t.pair_sums + m);
  } else {
#pragma GCC unroll 10
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 2
      for (int v = 0; v < kPairedBlocks; ++v) acc[m][v] = loadu(t.sums + (m * kPairedBlocks + v) * kBlock);
  }
  const float *x = t.x.begin, *w = t.weights, *ahead = t.ahead, *next = t.next.begin;
  const int64_t step = t.x.step;
  for (int64_t b = t.blocks; b > 0; --b, x += step, w += kBlock * kUnit) {
    if (next) {
#pragma GCC unroll 10
      for (int m = 0; m < M; ++m) __builtin_prefetch(next + m * kBlock);
      next += t.next.step;
    }
    for (int64_t lines = t.ahead_lines; lines > 0; --lines, ahead += 16) __builtin_prefetch(ahead, 0, 2);
#pragma GCC unroll 5
    for (int i = 0; i < 3 * paired::kTriples; i += 3) add_triple<M>(x + i, w + i * kUnit, acc);
    add_single<M>(x + kBlock - 1, w + (kBlock - 1) * kUnit, acc);
  }
  if (!t.last) {
#pragma GCC unroll 10
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 2
      for (int v = 0; v < kPairedBlocks; ++v) storeu(t.sums + (m * kPairedBlocks + v) * kBlock, acc[m][v]);
    return;
  }
#pragma GCC unroll 2
  for (int v = 0; v < kPairedBlocks; ++v) {
    const V factor = loadu(t.factors + v * kBlock), bias = loadu(t.bias + v * kBlock);
#pragma GCC unroll 10
    for (int m = 0; m < M; ++m) {
      const int64_t at = v * t.out_block + m * t.out_position;
      V sum = bias;
      if (t.residual) sum = sum + loadu(t.residual + at);
      sum = fma(acc[m][v], factor * broadcast(t.scales + m), sum);
      if (t.clamp) sum = min(V(t.high), max(V(t.low), sum));
      storeu(t.out + at, sum);
    }
  }
}

using PairedTileFn = void (*)(const PairedTile& tile) noexcept;
constexpr PairedTileFn kPairedTiles[kMaxPositions] = {
    &paired_tile<1>, &paired_tile<2>, &paired_tile<3>, &paired_tile<4>, &paired_tile<5>,
    &paired_tile<6>, &paired_tile<7>, &paired_tile<8>, &paired_tile<9>, &paired_tile<10>};

// One unit of outputs of one tile of positions, `t` complete but for where the results go.
void finish_unit_tile(const ConvPlan& plan, const ConvArgs& args, const Epilogue& e, int64_t unit, int64_t offset,
                      int64_t width, PairedTile& t) {
  alignas(64) float buffer[kMaxPositions * kPairedBlocks * kBlock];
  const bool buffered = e.rest_count > 0;
  t.out = buffered ? buffer : args.dst + offset;
  t.out_block = buffered ? width * kBlock : plan.dst.c;
  t.out_position = buffered ? kBlock : plan.dst.w;
  t.residual = e.residual && !buffered ? e.residual + offset : nullptr;
  if (buffered && e.residual) {
    for (int64_t b = 0; b < kPairedBlocks; ++b)
      for (int64_t m = 0; m < width; ++m)
        storeu(buffer + (b * width + m) * kBlock, loadu(e.residual + offset + b * plan.dst.c + m * plan.dst.w));
    t.residual = buffer;
  }
  kPairedTiles[width - 1](t);
  if (e.activate) e.activate({t.out, kPairedBlocks, t.out_block, 1, 0, width, t.out_position}, e.alpha);
  const int64_t first = unit * kPairedBlocks * kBlock;
  if (!buffered && first + kPairedBlocks * kBlock <= plan.exec.oc) return;
  for (int64_t b = 0; b < kPairedBlocks; ++b) {
    const int64_t left = plan.exec.oc - first - b * kBlock, channels = left < kBlock ? left : kBlock;
    if (buffered) {
      apply_epilogue(e, buffer + b * width * kBlock, args.dst, offset + b * plan.dst.c, plan.dst.w, width,
                     first + b * kBlock, channels);
    } else {
      clear_tail(t.out + b * t.out_block, kBlock, width, channels);
    }
  }
}

// Blocks of inputs [begin, end) of a unit.
struct PairedRound {
  int64_t unit, begin, end;
};

// What a round fetches while it passes over its tiles: weights of the next round where they do not stay in L2, by the
// first tiles; by the others, what follows the step.
struct PairedFetches {
  ConvLines weights, after;
  int64_t weight_tiles;
};

// `rounds_left`: of the box, this one included.
PairedFetches fetches_of(const ConvPlan& plan, const ConvArgs& args, const PairedPositions& p, const ConvTile& box,
                         const PairedRound& round, int64_t rounds_left) {
  const int64_t blocks = paired::padded_inputs(plan) / kBlock;
  const bool weights_follow = round.end < blocks || round.unit + 1 < box.oc1 || round.unit + 1 < args.oc_ahead;
  PairedFetches fetches{{nullptr, 0}, {nullptr, 0}, 0};
  if (plan.prefetch && weights_follow) {
    const float* const weights = args.packed + paired::unit_begin(plan, round.unit) + 2 * kPairedBlocks * kBlock;
    fetches.weights = {weights + round.end * kBlock * kPairedBlocks * kBlock,
                       (round.end - round.begin) * kPairedBlocks * kBlock};
    fetches.weight_tiles = p.tiles - p.tiles / 3;
  }
  constexpr int64_t kLinesPerBlock = 4;
  fetches.after =
      take_lines(args, rounds_left, (p.tiles - fetches.weight_tiles) * (round.end - round.begin) * kLinesPerBlock);
  return fetches;
}

// One round over all tiles of prepared positions; `t` is complete but for what is a tile's own. `next`: the sources
// that are prepared next, or null.
void run_round(const ConvPlan& plan, const ConvArgs& args, const Epilogue& e, const PairedPositions& p,
               const PairedRound& round, const PairedFetches& fetches, const float* next, PairedTile& t) {
  t.blocks = round.end - round.begin;
  t.next = {next, plan.src.c};
  int64_t left = 0;  // lines
  const auto fetch = [&](const ConvLines& lines, int64_t tiles) {
    left = lines.count;
    t.ahead = lines.begin;
    t.ahead_lines = left == 0 ? 0 : (left + tiles * t.blocks - 1) / (tiles * t.blocks);
  };
  fetch(fetches.weights, fetches.weight_tiles);
  int64_t offset = p.n * plan.dst.n + round.unit * kPairedBlocks * plan.dst.c + p.begin * plan.dst.w;
  for (int64_t i = 0; i < p.tiles; ++i) {
    if (i == fetches.weight_tiles) fetch(fetches.after, p.tiles - i);
    const PairedSources& tile = p.sources[i];
    t.x = {tile.at.begin + round.begin * tile.at.step, tile.at.step};
    t.pair_sums = p.pair_sums + tile.first;
    t.scales = p.scales + tile.first;
    t.sums = p.sums + tile.first * kPairedBlocks * kBlock;
    if (t.last) {
      finish_unit_tile(plan, args, e, round.unit, offset, tile.width, t);
    } else {
      kPairedTiles[tile.width - 1](t);
    }
    offset += tile.width * plan.dst.w;
    if (next) t.next.begin += tile.width * kBlock;
    t.ahead += t.ahead_lines * t.blocks * 16;
    left -= t.ahead_lines * t.blocks;
    if (left <= 0) t.ahead_lines = 0;
  }
}

// Units of outputs of prepared positions. `next`: as above, for the first unit.
void run_units(const ConvPlan& plan, const ConvArgs& args, const Epilogue& e, const PairedPositions& p,
               const ConvTile& box, int64_t rounds_left, const float* next) {
  const int64_t blocks = paired::padded_inputs(plan) / kBlock;
  const int64_t rounds = (blocks + plan.ic_chunk - 1) / plan.ic_chunk;
  PairedTile t{};
  t.clamp = e.clamp;
  t.low = e.low;
  t.high = e.high;
  for (int64_t unit = box.oc0; unit < box.oc1; ++unit, next = nullptr) {
    const float* const packed = args.packed + paired::unit_begin(plan, unit);
    t.starts = packed;
    t.factors = packed + kPairedBlocks * kBlock;
    t.bias = args.packed + unit * kPairedBlocks * kBlock;
    for (int64_t r = 0; r < rounds; ++r) {
      const PairedRound round{unit, r * blocks / rounds, (r + 1) * blocks / rounds};
      const int64_t left = (rounds_left * (box.oc1 - box.oc0) + box.oc0 - unit) * rounds - r;
      t.first = r == 0;
      t.last = r + 1 == rounds;
      t.weights = packed + (2 + round.begin * kBlock) * kPairedBlocks * kBlock;
      run_round(plan, args, e, p, round, fetches_of(plan, args, p, box, round, left), next, t);
    }
  }
}

}  // namespace

void conv_paired(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  const Epilogue epilogue = make_epilogue(args.post_ops, args.post_op_count, plan.exec.oc % kBlock != 0);
  PairedKept none;
  PairedKept& kept = args.prepared ? *args.prepared : none;
  const int64_t most = plan.cached_rows;
  PairedPositions p{};
  p.copies = args.scratch;
  p.sums = p.copies + paired::copies_floats(plan);
  p.pair_sums = p.sums + paired::sums_floats(plan);
  p.scales = p.pair_sums + most;
  constexpr uintptr_t kAlign = alignof(PairedSources);
  p.sources =
      reinterpret_cast<PairedSources*>((reinterpret_cast<uintptr_t>(p.scales + most) + kAlign - 1) / kAlign * kAlign);
  for (p.n = box.n0; p.n < box.n1; ++p.n) {
    const int64_t positions = box.sp1 - box.sp0, rounds = (positions + most - 1) / most;
    for (int64_t i = 0; i < rounds; ++i) {
      p.begin = box.sp0 + i * positions / rounds;
      p.end = box.sp0 + (i + 1) * positions / rounds;
      p.tiles = (p.end - p.begin + kMaxPositions - 1) / kMaxPositions;
      if (kept.n != p.n || kept.begin != p.begin || kept.end != p.end) prepare(plan, args.src, p);
      kept = {p.n, p.begin, p.end};
      // A row of them, of which the last ones may not be there: fetching is harmless.
      const bool fetches = plan.sources_soon && plan.src_format == ConvFormat::blocked && i + 1 < rounds;
      const float* const next = args.src + p.n * plan.src.n + source_offset(plan, p.end);
      run_units(plan, args, epilogue, p, box, rounds - i, fetches ? next : nullptr);
    }
  }
  if (args.ahead && args.ahead->runs > 1) --args.ahead->runs;
}

}  // namespace terroir::cpu::TERROIR_ISA
