// What: the blocking of the Winograd kernels and a model of their time, in cycles of one core.
// Model: the products at the slower of FMA ports and load ports; the transforms at a cost per tile and vector of
//   channels, measured; weights beyond L2 at a rate of L3 and memory, or, where runs transform them, at a cost per pair
//   of channels. A first read of weights is only partly hidden, for the direct kernel, whose weights are 9 : points as
//   large, as well.
#include "plugins/cpu/kernels/conv_wino/cost.hpp"

#include <algorithm>

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv/plan.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_spans.hpp"
#include "plugins/cpu/simd/broadcasts.hpp"

namespace terroir::cpu {
namespace wino {
namespace {

constexpr int64_t kMaxUnitBlocks = 4;  // of gemm_pass.hpp

// Tiles (of all slices) transformed at once: enough that weights from L3 are read at a rate it can give, few enough
// that inputs and products stay near. Half and twice as many are within 5 % on the layers of the zoo.
constexpr int64_t kBlockTiles = 56, kBlockTilesDeep = 112;
// Of transposed convolutions each phase has weights of its own to transform for the same tiles.
constexpr int64_t kBlockTilesOfPhases = 112;
// Of stride 2, tiles have a fourth of the outputs, or more than twice the points; and their weights stay packed.
constexpr int64_t kBlockTilesStrided2 = 112, kBlockTilesStrided4 = 28;
constexpr int64_t kBlockSlices = 16;
constexpr int64_t kChunkBlocks = 2;

bool strided(const WinoPlan& plan) { return plan.exec.h.stride != 1; }

// Whether transformed inputs serve several output slices.
bool shares_slices(const ConvProblem& p) { return p.d.out > 1 && p.d.kernel > 1; }

// Cycles per tile and vector of channels; of weights, where runs transform them, per input channel and vector of output
// channels.
struct TransformCycles {
  double input, output, weights;
};
TransformCycles transform_cycles(const WinoPlan& plan) {
  if (strided(plan)) return plan.tile == 4 ? TransformCycles{450, 125, 20} : TransformCycles{110, 45, 0};
  if (plan.problem.transposed) return {300, 300, 0};  // whose outputs go through a copy
  if (plan.tile == 4) return plan.registers == 32 ? TransformCycles{265, 165, 45} : TransformCycles{300, 190, 0};
  return {100, 66, 0};
}

// Bytes per cycle of weights that do not stay in L2, and of a first read beyond what hides behind arithmetic. In a
// network that first read is one from memory, whose bandwidth the threads share.
constexpr double kStreamBytes = 7, kFirstReadBytes = 12;
// Likewise of a further read of weights beyond L2 by products that fetch them.
constexpr double kAgainBytes = 40;

// Cycles to stage nine vectors of weights as 36, and with stride 2 as 20 and as 54 (some rows for several groups of
// sums), the sums so far included: measured.
constexpr double kStageCycles = 120, kStageStridedCycles = 55, kStageStridedCycles4 = 400, kStageCutCycles = 190;
double stage_cycles(const WinoPlan& plan) {
  if (cuts_taps(plan)) return kStageCutCycles;
  if (!strided(plan)) return kStageCycles;
  return plan.tile == 4 ? kStageStridedCycles4 : kStageStridedCycles;
}
// Those staged at once, of two blocks of channels at least, take this share of L2. Measured with 1 MB: so few that they
// stay in L1 cost up to 20 %, as the sums so far are read and written more often; twice as many gain nothing, so a
// larger L2 gets no more.
constexpr int64_t kStageShare = 4, kLeastStageBlocks = 2, kMostStagedBytes = int64_t{256} << 10;

// Of a product that loads its own source, by whether the stride is 2: those fetch their sources and weights as they go,
// which takes loads, too.
constexpr double kLoadCycles[2] = {0.5, 0.58};

// Bytes per cycle of transformed inputs that do not stay in L2, which each unit reads again: measured 8 to 14 with an
// L2 of 2 MB, of which they need to leave this share to products and weights.
constexpr double kSourceBytes = 14, kSourceShare = 0.75;

// Cycles to begin and end a pass over the input channels.
constexpr double kPassCycles = 30;

// Likewise for a register tile of the direct kernel, its borders and first reads included; at most a share of the tile.
constexpr double kDirectTileCycles = 500, kDirectStridedTileCycles = 150, kDirectTileShare = 0.25;

int64_t max_register_tiles(const WinoPlan& plan, int64_t unit_blocks) {
  return max_tile_positions(static_cast<int>(plan.registers), plan.fused,
                            static_cast<int>(unit_blocks * plan.block / plan.lanes));
}

// Of a register tile of products that takes so many cycles per source index on a core of one's own.
double with_shared_cycles(const WinoPlan& plan, double positions, double vectors, double cycles) {
  if (plan.lanes != 16) return cycles;
  const auto n = static_cast<int>(positions), v = static_cast<int>(vectors);
  return cycles + conv::shared_cycles(tile_instructions(16, n, v), tile_loads(16, n, v), cycles);
}

// Blocks of input channels whose weights are staged at once, for units of so many blocks.
int64_t stage_blocks(const WinoPlan& plan, int64_t unit_blocks) {
  const int64_t block_bytes = 4 * kStagedRows * plan.weights_side * plan.block * unit_blocks * plan.block;
  const int64_t bytes = std::min(cache_sizes().l2 / kStageShare, kMostStagedBytes);
  const int64_t most = std::max(kLeastStageBlocks, bytes / block_bytes);
  return ceil_div(plan.ic_blocks, ceil_div(plan.ic_blocks, most));
}

// Cycles for `oc_blocks` blocks, cut into units, and `tiles` tiles of one product per tile.
double point_cycles(const WinoPlan& plan, int64_t unit_blocks, int64_t oc_blocks, int64_t tiles) {
  const double ports = plan.fused ? 2.0 : 1.0, loads = 2.0;
  const auto reduction = static_cast<double>(plan.exec.ic / plan.exec.groups * plan.exec.d.kernel);
  const int64_t rounds = plan.weights == WinoWeights::staged
                             ? plan.exec.d.kernel * ceil_div(plan.ic_blocks, stage_blocks(plan, unit_blocks))
                             : 1;
  const int64_t passes = ceil_div(tiles, max_register_tiles(plan, unit_blocks));
  const double sums_share =
      static_cast<double>(plan.sums_side * plan.sums_side) / static_cast<double>(plan.alpha * plan.alpha);
  const auto unit_cycles = [&](int64_t blocks) {
    const auto vectors = static_cast<double>(blocks * plan.block / plan.lanes);
    double cycles = 0;
    for (int64_t i = 0; i < passes; ++i) {
      const auto n = static_cast<double>((i + 1) * tiles / passes - i * tiles / passes);
      double step = std::max({n * vectors / ports, (n + vectors) / loads, 4.0});
      // As in the direct kernel's model, measured.
      if (plan.lanes == 16 && vectors == 1) step = std::max(step, 0.53 * (n + 1));
      cycles += with_shared_cycles(plan, n, vectors, step) * reduction +
                kPassCycles * sums_share * static_cast<double>(rounds);
    }
    return cycles;
  };
  const int64_t rest = oc_blocks % unit_blocks;
  return static_cast<double>(oc_blocks / unit_blocks) * unit_cycles(unit_blocks) + (rest ? unit_cycles(rest) : 0);
}

// Cycles for a unit to read the transformed inputs of so many tiles at one point beyond what hides behind arithmetic.
double source_cycles(const WinoPlan& plan, int64_t tiles) {
  const auto bytes = static_cast<double>(4 * plan.ic_blocks * plan.block * tiles);
  const bool stay =
      bytes * static_cast<double>(plan.alpha * plan.alpha) <= kSourceShare * static_cast<double>(cache_sizes().l2);
  return stay ? 0 : bytes / kSourceBytes;
}

// How much longer than half of the blocks the larger half of the units takes, for two threads that share few tiles.
double uneven_halves(int64_t oc_blocks, int64_t unit_blocks) {
  const int64_t units = ceil_div(oc_blocks, unit_blocks), first = units / 2 * unit_blocks;
  return units == 1 ? 1 : 2 * static_cast<double>(std::max(first, oc_blocks - first)) / static_cast<double>(oc_blocks);
}

// The share of tiles times points that exist.
double points_share(const WinoPlan& plan) {
  double share = 1;
  for (const WinoAxis* a : {&plan.rows, &plan.cols})
    share *=
        1 - static_cast<double>(plan.exec.h.stride * (a->tiles - a->full)) / static_cast<double>(plan.alpha * a->tiles);
  return share;
}

// The share of products whose weights are not zero for want of a tap.
double live_share(const WinoPlan& plan) {
  if (!plan.problem.transposed) return 1;
  const auto live = [&](const ConvAxis& axis) {
    int64_t points = 0;
    for (int64_t phase = 0; phase < axis.stride; ++phase) {
      const WinoTaps taps = taps_of_phase(axis, phase);
      points += plan.alpha - (taps.has(0) ? 0 : 1) - (taps.has(2) ? 0 : 1);
    }
    return static_cast<double>(points) / static_cast<double>(plan.alpha * axis.stride);
  };
  return live(plan.problem.h) * live(plan.problem.w);
}

// Those of a run that transforms the weights in registers, if there are passes for them: strided_transforming_pass.hpp.
std::optional<WinoSpans> spans_in_registers(const WinoPlan& plan) {
  const ConvProblem& p = plan.exec;
  const WinoAxis& cols = plan.cols;
  if (plan.tile != 4 || plan.registers != 32 || p.d.out != 1 || p.d.kernel != 1 || dilated(plan) || cuts_taps(plan))
    return std::nullopt;
  if (plan.rows.tiles == 2 && cols.tiles == 2 && (!strided(plan) || cols.full > 0)) return WinoSpans{kMostSpanTiles, 1};
  if (!strided(plan) || cols.tiles < 3) return std::nullopt;
  const int64_t parts = ceil_div(cols.tiles, kMostSpanTiles);
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = i * cols.tiles / parts, tiles = (i + 1) * cols.tiles / parts - first;
    const int64_t full = std::clamp<int64_t>(cols.full - first, 0, tiles);
    if (tiles < 3 || (full != tiles && (tiles != kMostSpanTiles || full != 2))) return std::nullopt;
  }
  return WinoSpans{cols.tiles, parts};
}

// Transformed weights beyond L2 are staged: to read a fourth of the bytes pays for the transform, within a few percent,
// and the model takes a fourth of the memory. For the memory's sake so are those of more than a megabyte of a larger
// L2, most of which inputs and products take. With stride 2 it is 9/16, and only large weights are staged.
constexpr int64_t kMostPackedBytes = int64_t{1} << 20, kMostStridedBytes = int64_t{4} << 20;
WinoWeights packed_or_staged(const WinoPlan& plan) {
  const ConvProblem& p = plan.exec;
  const int64_t pairs =
      p.groups * plan.ic_blocks * plan.oc_blocks * phases_of(plan) * plan.block * plan.block * p.d.kernel;
  const int64_t bytes = 4 * plan.weights_side * plan.weights_side * pairs;
  const int64_t most = strided(plan) ? kMostStridedBytes : std::min(cache_sizes().l2, kMostPackedBytes);
  return (strided(plan) || plan.tile == 4) && bytes > most ? WinoWeights::staged : WinoWeights::packed;
}

// Tiles of all slices that are wanted at once.
int64_t wanted_tiles(const WinoPlan& plan) {
  if (strided(plan)) return plan.tile == 4 ? kBlockTilesStrided4 : kBlockTilesStrided2;
  if (plan.problem.transposed) return kBlockTilesOfPhases;
  return shares_slices(plan.exec) ? kBlockTilesDeep : kBlockTiles;
}

// Of so many tiles, those that are transformed at once.
int64_t tiles_at_once(const WinoPlan& plan, int64_t tiles) {
  const int64_t all = std::max<int64_t>(1, tiles);
  return ceil_div(all, ceil_div(all, std::clamp<int64_t>(wanted_tiles(plan) / plan.block_slices, 1, all)));
}

// Likewise output slices. Where no two of them read the same, more are taken only when all tiles of one are too few:
// measured, 7 tiles of 16 slices take up to 1.7 times as long as 56 of one, whose rows are read in order.
int64_t slices_at_once(const WinoPlan& plan) {
  const ConvProblem& p = plan.exec;
  const int64_t of_slice = std::max<int64_t>(1, plan.rows.tiles * plan.cols.tiles);
  const int64_t most =
      shares_slices(p) ? kBlockSlices : std::clamp<int64_t>(wanted_tiles(plan) / of_slice, 1, kBlockSlices);
  return ceil_div(p.d.out, ceil_div(p.d.out, most));
}

}  // namespace

void choose_blocks(WinoPlan& plan, std::optional<WinoWeights> weights) noexcept {
  const ConvProblem& p = plan.exec;
  const int64_t of_image = plan.rows.tiles * plan.cols.tiles;
  plan.block_slices = slices_at_once(plan);
  const std::optional<WinoSpans> spans = spans_in_registers(plan);
  plan.weights = weights.value_or(spans ? WinoWeights::in_registers : packed_or_staged(plan));
  // For one image: the order of sums, where it depends on units, must not depend on the batch, nor packed weights.
  plan.block_tiles = tiles_at_once(plan, of_image);
  const int64_t tiles = plan.block_tiles * plan.block_slices;
  double best = -1;
  for (int64_t unit = 1; unit <= std::min(kMaxUnitBlocks, plan.oc_blocks); ++unit) {
    if (max_register_tiles(plan, unit) < 1) continue;
    // Each unit reads the inputs again.
    const double cost = (point_cycles(plan, unit, plan.oc_blocks, tiles) * (1 + 0.02 / static_cast<double>(unit)) +
                         static_cast<double>(ceil_div(plan.oc_blocks, unit)) * source_cycles(plan, tiles)) *
                        uneven_halves(plan.oc_blocks, unit);
    if (best >= 0 && cost > best * 0.995) continue;
    best = cost;
    plan.unit_blocks = unit;
    plan.register_tiles = max_register_tiles(plan, unit);
  }
  plan.block_tiles = tiles_at_once(plan, p.batch * of_image);
  plan.spans = {1, 1};
  if (plan.weights == WinoWeights::in_registers) {
    plan.spans = *spans;
    plan.unit_blocks = 1;
    plan.block_tiles = kMostSpanTiles;
  }
  plan.units = ceil_div(plan.oc_blocks, plan.unit_blocks) * phases_of(plan);
  // Few: products and inputs stay in L2. Of staged weights one unit: more would leave fewer input channels for a pass
  // over products in memory.
  plan.chunk_units = plan.weights == WinoWeights::packed
                         ? std::max<int64_t>(1, std::min(kChunkBlocks, plan.oc_blocks) / plan.unit_blocks)
                         : 1;
  if (plan.weights == WinoWeights::staged) plan.stage_blocks = stage_blocks(plan, plan.unit_blocks);
}

double box_cycles(const WinoPlan& plan, int64_t units, int64_t tiles, int64_t slices) noexcept {
  const ConvProblem& p = plan.exec;
  const int64_t s_blocks = ceil_div(tiles, plan.block_tiles), d_blocks = ceil_div(slices, plan.block_slices);
  const int64_t groups = ceil_div(units, plan.units);
  const int64_t oc_blocks = std::min(units * plan.unit_blocks, groups * plan.oc_blocks * phases_of(plan));
  const auto parts = static_cast<double>(plan.block / plan.lanes);
  const TransformCycles transform = transform_cycles(plan);
  const double input = static_cast<double>(groups * plan.ic_blocks * tiles * (slices + d_blocks * (p.d.kernel - 1))) *
                       parts * transform.input;
  const double output = static_cast<double>(oc_blocks * tiles * slices) * parts * transform.output;
  const auto points = static_cast<double>(plan.alpha * plan.alpha);
  const auto blocks = static_cast<double>(s_blocks * d_blocks);
  const int64_t tiles_of_block = ceil_div(tiles * slices, s_blocks * d_blocks);
  double products = points * points_share(plan) * live_share(plan) * blocks *
                    (point_cycles(plan, plan.unit_blocks, oc_blocks, tiles_of_block) +
                     static_cast<double>(units) * source_cycles(plan, tiles_of_block));
  const auto pairs = static_cast<double>(oc_blocks * plan.block * plan.ic_blocks * plan.block * p.d.kernel);
  const ConvProblem& whole = plan.problem;
  const double plain_bytes = 4 * pairs / static_cast<double>(plan.row_segments * plan.col_segments * phases_of(plan)) *
                             static_cast<double>(whole.h.kernel * whole.w.kernel);
  if (plan.weights == WinoWeights::staged)
    return input + products + output + pairs / static_cast<double>(plan.lanes) * stage_cycles(plan) * blocks +
           plain_bytes / kFirstReadBytes;
  if (plan.weights == WinoWeights::in_registers) {
    const double multiplied = points * points_share(plan) * static_cast<double>(tiles) * kLoadCycles[strided(plan)];
    const double parts_of_spans = static_cast<double>(tiles * plan.spans.parts) / static_cast<double>(plan.spans.tiles);
    products = pairs / static_cast<double>(plan.lanes) * (multiplied + transform.weights * parts_of_spans);
    if (plain_bytes > static_cast<double>(cache_sizes().l2)) products += (blocks - 1) * plain_bytes / kAgainBytes;
    return input + products + output + plain_bytes / kFirstReadBytes;
  }
  const double weight_bytes = 4 * static_cast<double>(plan.weights_side * plan.weights_side) * pairs;
  if (weight_bytes > static_cast<double>(cache_sizes().l2) / 2)
    products = std::max(products, weight_bytes * blocks / kStreamBytes);
  return input + products + output + weight_bytes / kFirstReadBytes;
}

double direct_products(const ConvProblem& p) noexcept {
  double products = 1;
  for (const ConvAxis* a : {&p.d, &p.h, &p.w}) {
    int64_t inside = 0;
    for (int64_t k = 0; k < a->kernel; ++k) {
      const int64_t at = k * a->dilation - a->pad, first = ceil_div(std::max<int64_t>(0, -at), a->stride);
      // Transposed: inputs whose output by the tap exists.
      const int64_t ends = p.transposed ? a->in : a->out, other = p.transposed ? a->out : a->in;
      const int64_t last = std::min(ends, ceil_div(std::max<int64_t>(0, other - at), a->stride));
      inside += std::max<int64_t>(0, last - first);
    }
    products *= static_cast<double>(inside);
  }
  return products;
}

}  // namespace wino

double wino_speedup(const ConvProblem& problem, const WinoKernel& kernel) noexcept {
  const WinoPlan plan = wino_plan(problem, kernel);
  const int64_t tiles = problem.batch * plan.rows.tiles * plan.cols.tiles;
  if (tiles == 0) return 0;
  // Measured beside the model, between 1.1 and 1.4: weights that are cut and transformed push others out of L1.
  const double cut = plan.weights == WinoWeights::staged && cuts_taps(plan) ? 1.2 : 1;
  // Likewise, between 1.03 and 1.1: sources of dilated tiles lie apart, and nothing fetches them.
  const double apart = dilated(plan) ? 1.05 : 1;
  double winograd = cut * apart * wino::box_cycles(plan, wino_units(plan), tiles, problem.d.out);
  const double ports = plan.fused ? 2.0 : 1.0, of_peak = 0.97;
  const int64_t taps = problem.d.kernel * problem.h.kernel * problem.w.kernel;
  const auto lanes = static_cast<double>(problem.groups * plan.oc_blocks * plan.block);
  const double weight_bytes = 4 * lanes * static_cast<double>(problem.ic / problem.groups * taps);
  const double vectors = lanes / static_cast<double>(plan.lanes);
  const auto inputs = static_cast<double>(problem.ic / problem.groups);
  const double products = static_cast<double>(problem.batch) * inputs * wino::direct_products(problem);
  const double tile_cycles = static_cast<double>(wino::max_register_tiles(plan, 1) * taps) * inputs / ports;
  const double begin_cycles = wino::strided(plan) ? wino::kDirectStridedTileCycles : wino::kDirectTileCycles;
  const double borders = 1 + std::min(wino::kDirectTileShare, begin_cycles / tile_cycles);
  constexpr double kPositions = 14, kVectors = 2;  // of a usual tile
  const double step = kPositions * kVectors / ports;
  const double shared = wino::with_shared_cycles(plan, kPositions, kVectors, step) / step;
  double direct = vectors * products / ports / of_peak * shared * borders + weight_bytes / wino::kFirstReadBytes;
  // Of two threads that share the tiles each reads all weights.
  if (const WinoSplit split = wino_split(plan, 2); split.oc == 1 && split.part_count() > 1) {
    winograd += 4 * static_cast<double>(plan.packed_floats) / wino::kFirstReadBytes;
    direct += weight_bytes / wino::kFirstReadBytes;
  }
  return direct / winograd;
}

}  // namespace terroir::cpu
