// What: rejection, planning and weight packing of the dense kernels (direct, 1x1, first layer, transposed).
// Packed: [bias, padded per group to whole blocks, to a multiple of 16 in all][group][oc unit][ic block][kd][kh][kw]
//   [ic in block][oc in unit], input blocks of dense_inner() channels. A unit is plan.oc_blocks blocks, the last one of
//   a group the blocks that are left.
#include <algorithm>
#include <cmath>

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv/dense.hpp"
#include "plugins/cpu/kernels/conv/gather.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"
#include "plugins/cpu/simd/broadcasts.hpp"

namespace terroir::cpu::conv {
namespace {

// One row in which every column has its one tap.
bool is_pointwise_row(const ConvProblem& p) {
  return !p.transposed && has_one_tap(p.d) && has_one_tap(p.h) && has_one_tap(p.w) && p.d.out == 1 && p.h.out == 1;
}

// What the cost of register tiles depends on, beside their extents.
struct TileLoops {
  double reduction;    // source indices per output
  double bookkeeping;  // cycles between its parts
  double turned_over;  // cycles for each row of a block of results
  bool half_block;     // the last block of a group may be half a one (half_tile.hpp)
  bool is_short;       // there are tiles for short reductions (short_tile.hpp)
  bool any_step;       // no kernel knows the distance between positions
  int vectors_per_block;
};

// Cycles of one source index of n positions x `vectors`, of which the last is half a one or not: the slowest of FMA
// ports, load ports, FMA latency, L2.
double step_cost(const Machine& m, double n, double vectors, bool half, const TileLoops& loops) {
  const double flops_ports = m.fused ? 2.0 : 1.0, loads = m.lanes == 16 ? 2.0 : 3.0;
  constexpr double kIssued = 6.0;  // instructions per cycle
  const double products = half ? n * (vectors - 1) + std::ceil(n / 2) : n * vectors;
  const double weight_bytes = vectors * m.lanes * 4.0;
  const double fills_l1 = static_cast<double>(cache_sizes().l1d) * (m.lanes == 16 ? 0.7 : 0.6);
  const bool streams = weight_bytes * loops.reduction > fills_l1;
  // Of few sums each waits for the one before; of eight lanes their additions never fill all the time, measured.
  const double latency = m.lanes == 8 ? 4.5 : 4.0;
  double step = std::max({products / flops_ports, (n + vectors) / loads, latency});
  if (m.lanes != 16) {
    step = std::max(step, (products + n + vectors + 3) / kIssued);
    return streams ? std::max(step, weight_bytes / 24.0) : step;
  }
  // What small tiles take beyond that, measured.
  if (half) {
    step += 0.8;
  } else if (vectors == 1) {
    step = std::max(step, (loops.any_step ? 0.9 : 0.53) * (n + 1));
  } else if (vectors == 2) {
    step = std::max(step, 0.64 * n + 2.1);
  } else if (n < 4) {
    step = std::max(step, (n + 1) * vectors / 2);
  }
  constexpr double kByteOfL2 = 0.0005;
  const int rows = static_cast<int>(n), blocks = static_cast<int>(vectors);
  step += half ? shared_cycles(products + n + vectors, n + vectors, step)
               : shared_cycles(tile_instructions(m.lanes, rows, blocks), tile_loads(m.lanes, rows, blocks), step);
  return streams ? step + kByteOfL2 * weight_bytes : step;
}

// Cycles of one register tile.
double tile_cost(const Machine& m, double n, double vectors, bool half, const TileLoops& loops) {
  const double step = step_cost(m, n, vectors, half, loops), sums = n * vectors;
  // With AVX2, where it was measured, the next tile's products wait long if each sum has a source of its own.
  const bool goes_on = m.lanes == 8 && vectors > 1;
  if (m.lanes != 16) return step * loops.reduction + (goes_on ? 3 + sums : 30 + 2 * sums);
  // Between the last products of a tile and the first ones of the next its sums are stored. All but the first few hold
  // up the next products, which after short reductions takes a tenth of the time.
  constexpr double kEnd = 5, kStored = 3.5, kFreelyStored = 12;
  const auto positions = static_cast<int64_t>(n), blocks = static_cast<int64_t>(vectors);
  if (loops.is_short && !half && has_short_tile(blocks, positions)) {
    // Of two blocks fewer products lie between the stores of two positions.
    constexpr double kTwo = 6, kMore = 2.5, kSoonStored = 1.6, kSoonEnough = 15;
    const double end = vectors == 2 ? kTwo : kMore + kSoonStored * std::max(0.0, sums - kSoonEnough);
    return step * loops.reduction + end;
  }
  const double end = kEnd + kStored * std::max(0.0, sums - kFreelyStored);
  return step * loops.reduction + loops.bookkeeping + end;
}

// The columns of register tiles, and those in the last unit if it has fewer blocks.
struct TileColumns {
  int64_t usual, last;
};

// Cycles of one output row group, all oc units.
double row_cost(const Machine& m, int64_t blocks_total, int64_t columns, const TileColumns& tile, int64_t rows,
                int64_t unit, const TileLoops& loops) {
  const auto unit_cost = [&](int64_t blocks, bool last) {
    const int64_t most = blocks < unit ? tile.last : tile.usual, tiles = ceil_div(columns, most);
    const int64_t wider = columns % tiles, width = columns / tiles;
    const bool half = last && loops.half_block && has_half_tile(blocks, most);
    const double turned_over =
        loops.turned_over * static_cast<double>(rows) * (static_cast<double>(blocks) - (half ? 0.5 : 0));
    const auto cost = [&](int64_t positions) {
      return turned_over + tile_cost(m, static_cast<double>(positions * rows),
                                     static_cast<double>(blocks * loops.vectors_per_block), half, loops);
    };
    return static_cast<double>(tiles - wider) * cost(width) + static_cast<double>(wider) * cost(width + 1);
  };
  // The first tile of a unit waits for its weights. Measured, of short reductions.
  constexpr double kBegin = 350;
  const int64_t units = ceil_div(blocks_total, unit);
  const double all = (loops.is_short ? kBegin * static_cast<double>(units) : 0) +
                     (units > 1 ? static_cast<double>(units - 1) * unit_cost(unit, false) : 0) +
                     unit_cost(blocks_total - (units - 1) * unit, true);
  return all / static_cast<double>(rows);
}

// Of one position there is nothing to share but the weights: large units, of which two threads get equally many blocks
// where there are weights enough for two.
int64_t unit_of_one_position(int64_t blocks, double weights) {
  constexpr double kWorthTwoThreads = 64 << 10;  // floats
  constexpr int64_t kMaxUnit = 4;
  const int64_t largest = std::min(kMaxUnit, blocks);
  if (weights < kWorthTwoThreads) return largest;
  const auto larger_half = [&](int64_t unit) { return ceil_div(ceil_div(blocks, unit), 2) * unit; };
  int64_t best = 1;
  for (int64_t unit = 2; unit <= largest; ++unit)
    if (larger_half(unit) <= larger_half(best)) best = unit;
  return best;
}

// Whether rows of every second position are tiles of kTwoRowColumns: no others are as wide, so no tap may need one.
bool cuts_to_two_row_tiles(const ConvAxis& w) {
  const bool ends_miss_one_tap = w.pad <= 1 && (w.out - 1) * w.stride - w.pad + w.kernel - 2 < w.in;
  return w.stride == 2 && w.dilation == 1 && w.kernel >= 3 && ends_miss_one_tap && w.out % kTwoRowColumns == 0;
}

// What the work is cut into, by the tile that was chosen.
void set_grid(ConvPlan& plan) {
  const ConvProblem& e = plan.exec;
  const int64_t row_units = e.d.out * ceil_div(e.h.out, plan.rows);
  const int64_t columns = e.transposed ? ceil_div(e.w.out, e.w.stride) : e.w.out;
  plan.column_units = is_pointwise_row(e);
  plan.chunks = plan.column_units
                    ? e.w.out
                    : std::clamp<int64_t>(ceil_div(kWantedUnits, row_units), 1, ceil_div(columns, plan.w_tile));
  const int64_t oc_blocks = ceil_div(e.oc / e.groups, plan.block);
  plan.grid = {e.batch, e.groups * ceil_div(oc_blocks, plan.oc_blocks), row_units * plan.chunks};
}

void choose_tiles(const ConvKernel& kernel, ConvPlan& plan) {
  const Machine m = machine(kernel.isa);
  const ConvProblem& e = plan.exec;
  const int64_t block = channel_block(kernel.isa);
  const int per_block = static_cast<int>(block / m.lanes);
  const int64_t blocks = ceil_div(e.oc / e.groups, block);
  // Of a row that may be cut anywhere, what one of two threads gets.
  const int64_t columns = e.transposed          ? ceil_div(e.w.out, e.w.stride)
                          : is_pointwise_row(e) ? ceil_div(e.w.out, 2)
                                                : e.w.out;
  const double taps = static_cast<double>(e.d.kernel * e.h.kernel * e.w.kernel) /
                      (e.transposed ? static_cast<double>(e.d.stride * e.h.stride * e.w.stride) : 1.0);
  const double reduction = std::max(1.0, static_cast<double>(e.ic / e.groups) * taps);
  if (has_one_position(plan)) {
    plan.oc_blocks = unit_of_one_position(blocks, reduction * static_cast<double>(blocks * block));
    plan.rows = plan.w_tile = plan.w_tile_last = 1;
    return;
  }
  // What the tables of tile_pass.hpp offer.
  const int64_t step = e.transposed ? 1 : e.w.stride;
  const bool blocked = kernel.src == ConvFormat::blocked;
  const bool plain_row = kernel.src == ConvFormat::plain && columns_follow(e) && step <= 2;
  const int64_t max_unit = blocked && step <= 2 ? 4 : !plain_row && has_any_step_units_of_three(m.lanes) ? 3 : 2;
  const bool two_rows = blocked && step <= 2 && !e.transposed && e.h.out > 1;
  const bool pointwise = blocked && step == 1 && is_pointwise_row(e);
  const int64_t in_last = e.oc / e.groups % block;
  // Results of a plain tensor are turned over tile by tile: a row for each channel, of as many columns as the tile has.
  constexpr double kTurnedOver = 56;
  TileLoops loops{
      reduction,
      0,
      m.lanes == 16 && kernel.dst == ConvFormat::plain && taps == 1 ? kTurnedOver : 0,
      m.lanes == 16 && pointwise && in_last > 0 && in_last <= block / 2,
      m.lanes == 16 && pointwise && kernel.dst != ConvFormat::plain && is_short_reduction(e.ic / e.groups, block),
      !plain_row && !(blocked && step <= 2),
      per_block};
  if (plain_row) {
    loops.bookkeeping = 1.5 * static_cast<double>(e.ic / e.groups * e.d.kernel * e.h.kernel);
  } else if (taps > 1) {
    loops.bookkeeping = reduction / 2;
  }
  constexpr double kShareOfOneThread = 0.25;
  double best = -1;
  // Of one image: the tile decides on the order of sums, which must not depend on the batch.
  ConvPlan offered = plan;
  offered.problem.batch = offered.exec.batch = 1;
  const auto longest_tile = [&](int64_t unit) {
    return max_tile_positions(m.registers, m.fused, static_cast<int>(unit) * per_block);
  };
  const auto consider_tiles = [&](const TileColumns& tiles, int64_t rows, int64_t unit) {
    offered.oc_blocks = unit;
    offered.rows = rows;
    offered.w_tile = tiles.usual;
    offered.w_tile_last = tiles.last;
    set_grid(offered);
    // Each unit reads the source again: a few percent, measured.
    const double again = (m.lanes == 16 ? 0.05 : 0.04) / static_cast<double>(unit), tie = m.lanes == 16 ? 0.999 : 0.995;
    double row = row_cost(m, blocks, columns, tiles, rows, unit, loops);
    // One thread has the whole row, which other tiles may fill better.
    if (columns < e.w.out && !e.transposed)
      row += kShareOfOneThread * (row_cost(m, blocks, e.w.out, tiles, rows, unit, loops) / 2 - row);
    // Short reductions are often the first of a chain, whose threads share units: one that two of them part takes
    // longer. Measured, of units of three whole blocks and of four.
    constexpr double kParted = 1.02;
    const bool parted = loops.is_short && !loops.half_block && blocks > unit && blocks % (2 * unit) != 0;
    // First layers with steps above two take longer by units of three than by those of two, but for the shortest
    // reductions: measured.
    constexpr double kFirstByThree = 1.06, kShortest = 32;
    const bool first_by_three =
        kernel.src == ConvFormat::plain && !plain_row && reduction >= kShortest && unit == 3 && blocks > 3;
    const double cost = row * (1 + again) * imbalance_of_two_threads(offered) * (parted ? kParted : 1) *
                        (first_by_three ? kFirstByThree : 1);
    if (best >= 0 && cost >= best * tie) return;
    best = cost;
    plan.oc_blocks = unit;
    plan.rows = rows;
    plan.w_tile = tiles.usual;
    plan.w_tile_last = tiles.last;
  };
  const auto consider = [&](int64_t tile, int64_t rows, int64_t unit) {
    const int64_t left = blocks % unit;
    const bool own_last = pointwise && left > 0;
    if (own_last) consider_tiles({tile, std::min<int64_t>(longest_tile(left), columns)}, rows, unit);
    // Shorter last ones pay for short reductions alone.
    if (!own_last || loops.is_short) consider_tiles({tile, tile}, rows, unit);
  };
  // The first unit of a layer that is gathered is the first one of the dense layer too.
  int64_t least_unit = 1, most_unit = std::min<int64_t>(blocks, max_unit);
  if (conv_gathers(e, kernel) && gathers_sources(m.lanes, e.w.stride)) {
    ConvPlan gathered;
    plan_dense(conv_gathered(e), kernel, gathered);
    least_unit = most_unit = gathered.oc_blocks;
  }
  for (int64_t unit = least_unit; unit <= most_unit; ++unit) {
    const int64_t positions = longest_tile(unit);
    if (positions < 1) continue;
    const int64_t max_rows = two_rows && unit <= 2 ? 2 : 1;
    for (int64_t rows = 1; rows <= max_rows; ++rows) {
      const bool wide = rows == 2 && blocks == 1 && cuts_to_two_row_tiles(e.w);
      const bool longer =
          (blocked && step == 1) || (plain_row && unit == 1) || (wide && positions >= 2 * kTwoRowColumns);
      const int64_t most = longer ? positions : std::min<int64_t>(positions, kMaxAnyStepPositions);
      const int64_t longest = std::min(most / rows, wide ? kTwoRowColumns : columns);
      if (longest < 1) continue;
      consider(longest, rows, unit);
      // Shorter ones pay where their sums are few, and one block alone is limited by its loads, the fewer the longer.
      if (m.lanes != 16 || unit == 1 || rows > 1) continue;
      constexpr int64_t kShortestSums = 12, kShortestTile = 4;
      const int64_t shortest = std::max(kShortestTile, ceil_div(kShortestSums, unit));
      for (int64_t tile = longest - 1; pointwise && tile >= shortest; --tile) consider(tile, rows, unit);
      constexpr int64_t kShortPlain = 6;  // measured
      if (plain_row && step == 2 && longest > kShortPlain) consider(kShortPlain, rows, unit);
    }
  }
}

// Input blocks whose weights, sources and sums of all positions fill L1; 0 if they are so few that sums would be read
// and written too often.
int64_t blocks_in_l1(const ConvProblem& e, int64_t block, int64_t block_bytes, int64_t sums_bytes) {
  constexpr int64_t kFewest = 3;
  const int64_t source_bytes = e.d.in * e.h.in * e.w.in * block * 4;
  const int64_t blocks = (cache_sizes().l1d - sums_bytes) / (block_bytes + source_bytes);
  return blocks >= kFewest ? blocks : 0;
}

// The weights of an oc unit are read once per row group. Where they would fill much of L2, beside the ones fetched
// ahead and the source, the reduction goes in rounds over blocks of input channels, each over all rows, with the sums
// so far in dst. Only where the rows of one box all stay in L2 themselves: else the sums would travel.
// Of pointwise weights that come from memory, in rounds that fill L1: the later tiles of a round then leave L2 to the
// weights on their way. Such layers take 5 to 10 % less; with weights in L3 they would take up to 5 % more.
void choose_ic_chunk(const ConvKernel& kernel, ConvPlan& plan) {
  const ConvProblem& e = plan.exec;
  const int64_t block = channel_block(kernel.isa);
  const int64_t taps = e.d.kernel * e.h.kernel * e.w.kernel;
  const int64_t block_bytes = block * plan.oc_blocks * block * taps * 4;  // weights of one input block
  const int64_t ic_blocks = ceil_div(e.ic / e.groups, block);
  const int64_t sums_bytes = e.d.out * e.h.out * e.w.out * plan.oc_blocks * block * 4;
  const int64_t l2 = cache_sizes().l2, weight_bytes = static_cast<int64_t>(plan.packed_floats) * 4;
  // Sums of whole blocks only lie in dst.
  const bool in_dst =
      kernel.dst == ConvFormat::blocked || (kernel.dst == ConvFormat::nhwc && e.oc / e.groups % block == 0);
  if (!in_dst || dense_inner(e, kernel.src, block) != block || weight_bytes <= l2 / 2) return;
  // Where a unit's weights are beyond L2, each tile would read them from further away: more sums may travel.
  if (sums_bytes > (block_bytes * ic_blocks > l2 ? l2 / 3 : l2 / 8)) return;
  const bool from_memory = e.cold_weights && weight_bytes > 2 * l2 && is_pointwise_row(e) && !has_one_position(plan);
  const int64_t in_l1 = from_memory ? blocks_in_l1(e, block, block_bytes, sums_bytes) : 0;
  const int64_t rounds =
      in_l1 > 0 ? ceil_div(ic_blocks, in_l1) : std::min(ic_blocks, ceil_div(block_bytes * ic_blocks, l2 / 8));
  if (rounds > 1) plan.ic_chunk = ceil_div(ic_blocks, rounds);
}

// The sources of a group follow those of the one before. Tiles that read one block of channels read it in the order of
// rows: those of the next tile come to L1 meanwhile. Of several blocks the next group's come to L2.
void set_source_lead(ConvPlan& plan) noexcept {
  const ConvProblem& e = plan.exec;
  const int64_t blocks = ceil_div(e.ic / e.groups, plan.block);
  plan.sources_soon = blocks == 1 && !e.transposed && e.d.kernel == 1;
  plan.source_lead = plan.sources_soon ? plan.rows * e.h.stride * plan.src.h : blocks * plan.src.c;
}

// Short rows are gathered before: measured, 14 columns of 512 channels take 6 % less so, 28 of 256 take 8 % more.
bool can_gather(const ConvKernel& kernel, const ConvPlan& plan) {
  constexpr int64_t kShortRow = 16;
  const ConvProblem& e = plan.exec;
  return plan.src_format == ConvFormat::blocked && e.groups == 1 && !e.transposed && has_one_tap(e.d) &&
         has_one_tap(e.h) && has_one_tap(e.w) && e.ic % plan.block == 0 && plan.rows == 1 && plan.ic_chunk == 0 &&
         !plan.column_units && e.w.out > kShortRow && e.w.out / ceil_div(e.w.out, plan.w_tile) > 1 &&
         gathers_sources(machine(kernel.isa).lanes, e.w.stride);
}

// Columns of an output row whose windows reach beyond it.
int64_t border_columns(const ConvAxis& w) {
  const int64_t left = ceil_div(w.pad, w.stride), last = w.in - (w.kernel - 1) * w.dilation - 1 + w.pad;
  return std::min(w.out, left) + std::max<int64_t>(0, w.out - 1 - (last < 0 ? -1 : last / w.stride));
}

// Of a plain source, with the tiles chosen: some output rows at a time, where these cost less than tiles of single
// columns, whose products wait for each other.
int64_t padded_rows(const ConvKernel& kernel, const ConvPlan& plan) {
  const ConvProblem& e = plan.exec;
  const int64_t columns = seen_columns(e.w), planes = e.ic * seen_planes(e.d);
  if (kernel.src != ConvFormat::plain || e.w.pad < 0 || e.w.pad >= columns || e.w.dilation > 1) return 0;
  constexpr int64_t kWaits = 4, kLeastOutputRows = 4;
  constexpr double kCopied = 0.4;  // cycles, measured
  const int64_t units = ceil_div(ceil_div(e.oc, plan.block), plan.oc_blocks);
  const int64_t taps = e.ic * e.d.kernel * e.h.kernel * e.w.kernel;
  // Extents of models nobody would run may have products beyond 64 bits.
  const double copied = kCopied * static_cast<double>(planes) * static_cast<double>(columns) *
                        static_cast<double>(plan.rows) * static_cast<double>(e.h.stride);
  if (static_cast<double>(border_columns(e.w) * units * taps * kWaits) <= copied) return 0;
  const int64_t row_bytes = planes * columns * static_cast<int64_t>(sizeof(float)), l2 = cache_sizes().l2;
  const int64_t reach = (kLeastOutputRows - 1) * e.h.stride + (e.h.kernel - 1) * e.h.dilation + 1;
  const int64_t rows = std::min(e.h.in, std::max(reach, l2 / 8 / row_bytes));
  return rows * row_bytes <= l2 / 4 ? rows : 0;
}

// Taps of all windows along an axis that reach the source, as a share.
double seen_share(const ConvAxis& a) {
  int64_t seen = 0;
  for (int64_t at = 0; at < a.out; ++at)
    for (int64_t tap = 0; tap < a.kernel; ++tap) {
      const int64_t x = at * a.stride - a.pad + tap * a.dilation;
      if (x >= 0 && x < a.in) ++seen;
    }
  return static_cast<double>(seen) / static_cast<double>(a.out * a.kernel);
}

// Images of few positions in short rows: tiles of two rows would pass over the weights several times, which shows where
// these leave L1. But what windows see beside the source is multiplied then. Measured.
bool copies_windows(const ConvProblem& p, const ConvKernel& kernel) {
  constexpr int64_t kMostPositions = 28, kLeastRows = 3, kLongestRow = 4;
  constexpr double kLeastSeen = 0.74;
  const int64_t block = channel_block(kernel.isa), rows = p.d.out * p.h.out;
  if (machine(kernel.isa).lanes != 16 || kernel.src != ConvFormat::blocked || p.transposed || p.groups > 1)
    return false;
  if (p.ic % block != 0 || rows < kLeastRows || p.w.out > kLongestRow || rows * p.w.out > kMostPositions) return false;
  const int64_t taps = p.d.kernel * p.h.kernel * p.w.kernel;
  if (taps == 1 || p.oc * p.ic * taps * static_cast<int64_t>(sizeof(float)) < cache_sizes().l2 / 2) return false;
  return seen_share(p.d) * seen_share(p.h) * seen_share(p.w) >= kLeastSeen;
}

void set_windows(ConvPlan& plan) {
  ConvProblem& e = plan.exec;
  const int64_t positions = e.d.out * e.h.out * e.w.out;
  e.ic *= e.d.kernel * e.h.kernel * e.w.kernel;
  e.d = e.h = {};
  e.w = {positions, positions};
  plan.src.w = plan.block;
  plan.src.c = plan.src.d = plan.src.h = positions * plan.block;
  plan.dst.d = plan.dst.h = positions * plan.dst.w;
  plan.scratch_floats = static_cast<size_t>(positions * e.ic);
}

}  // namespace

double shared_cycles(double instructions, double loads, double cycles) noexcept {
  constexpr double kShare = 0.1, kLoop = 2, kIssued = 2, kShareOfLoads = 0.03;
  return kShare * std::max(0.0, (instructions + kLoop) / kIssued - cycles) +
         kShareOfLoads * std::max(0.0, loads - cycles);
}

const char* reject_direct(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  if (const char* why = reject_malformed(p)) return why;
  if (p.transposed) return "transposed";
  return reject_blocks(p, kernel);
}

const char* reject_blocks(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  const int64_t block = channel_block(kernel.isa);
  const bool blocked = kernel.src == ConvFormat::blocked || kernel.dst == ConvFormat::blocked;
  if (blocked && p.groups > 1 && (p.ic / p.groups % block != 0 || p.oc / p.groups % block != 0)) {
    return "channels per group are not whole blocks";
  }
  if (p.groups > 1 && p.oc == p.groups && p.ic == p.groups) return "depthwise";
  return nullptr;
}

const char* reject_pointwise(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  if (const char* why = reject_direct(p, kernel)) return why;
  if (!has_one_tap(p.d) || !has_one_tap(p.h) || !has_one_tap(p.w)) return "kernel is not 1x1 without padding";
  return nullptr;
}

const char* reject_first(const ConvProblem& p, const ConvKernel&) noexcept {
  if (const char* why = reject_malformed(p)) return why;
  if (p.transposed) return "transposed";
  if (p.groups != 1) return "grouped";
  if (p.ic > 16) return "more than 16 input channels";
  return nullptr;
}

const char* reject_transposed(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  if (const char* why = reject_malformed(p)) return why;
  if (!p.transposed) return "not transposed";
  return reject_blocks(p, kernel);
}

void plan_dense(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept {
  plan_common(problem, kernel, plan);
  plan.copies_windows = copies_windows(problem, kernel);
  if (plan.copies_windows)
    set_windows(plan);
  else
    merge_axes(plan.exec, plan.src, plan.dst);
  const ConvProblem& e = plan.exec;
  const int64_t block = channel_block(kernel.isa);
  const int64_t ic = round_up(e.ic / e.groups, dense_inner(e, kernel.src, block));
  const int64_t padded_oc = e.groups * ceil_div(e.oc / e.groups, block) * block;
  plan.packed_floats =
      static_cast<size_t>(round_up(padded_oc, 16) + padded_oc * ic * e.d.kernel * e.h.kernel * e.w.kernel);
  choose_tiles(kernel, plan);
  plan.padded_rows = padded_rows(kernel, plan);
  if (plan.padded_rows > 0)
    plan.scratch_floats = static_cast<size_t>(plan.padded_rows * e.ic * seen_planes(e.d) * seen_columns(e.w));
  set_grid(plan);
  const int64_t source_bytes = e.ic / e.groups * e.d.in * e.h.in * e.w.in * 4;
  // Positions of nhwc hold all groups: those that come after read what lies between.
  const bool mixed = kernel.src == ConvFormat::nhwc;
  plan.cached_rows = rows_in_cache((mixed ? e.groups : 1) * source_bytes / plan.grid.sp);
  // Of one position the weights are a single stream, which the machine's own prefetchers follow.
  const int64_t weight_bytes = static_cast<int64_t>(plan.packed_floats) * 4;
  plan.prefetch = beyond_l2(weight_bytes / 4) && !has_one_position(plan);
  const int64_t result_bytes = e.oc * e.d.out * e.h.out * e.w.out * 4;
  const bool fetches_sources = e.groups > 1 && plan.grid.oc == e.groups && kernel.src == ConvFormat::blocked &&
                               source_bytes * e.groups > weight_bytes &&
                               source_bytes * e.groups + weight_bytes + result_bytes > cache_sizes().l2;
  if (fetches_sources) set_source_lead(plan);
  choose_ic_chunk(kernel, plan);
  plan.gathers = can_gather(kernel, plan);
}

int64_t pack_dense_pieces(const ConvPlan& plan) noexcept {
  const ConvProblem& e = plan.exec;
  return e.groups * ceil_div(ceil_div(e.oc / e.groups, plan.block), plan.oc_blocks);
}

int64_t dense_first_output(const ConvPlan& plan, int64_t piece) noexcept {
  const ConvProblem& e = plan.exec;
  const int64_t ocg = e.oc / e.groups, units = pack_dense_pieces(plan) / e.groups;
  return piece / units * ocg + piece % units * plan.oc_blocks * plan.block;
}

// A piece is one unit of output channels of one group; the first one brings the bias.
void pack_dense(const ConvPlan& plan, const ConvKernel& kernel, const ConvConstants& constants, float* packed,
                int64_t begin, int64_t end) noexcept {
  const ConvProblem& e = weights_of(plan);
  const int64_t inner = dense_inner(e, plan.src_format, plan.block);
  const int64_t icg = e.ic / e.groups, ocg = e.oc / e.groups, padded_ic = round_up(icg, inner);
  const int64_t oc_blocks = ceil_div(ocg, plan.block), units = ceil_div(oc_blocks, plan.oc_blocks);
  const int64_t taps = e.d.kernel * e.h.kernel * e.w.kernel;
  const auto transpose = reorder_kernels(kernel.isa).transpose_2d;
  const int64_t bias_floats = round_up(e.groups * oc_blocks * plan.block, 16);
  if (begin == 0) pack_bias(constants.bias, e.groups, ocg, oc_blocks * plan.block, bias_floats, packed);
  float* const base = packed + bias_floats;
  for (int64_t piece = begin; piece < end; ++piece) {
    const int64_t g = piece / units, first = piece % units * plan.oc_blocks;
    const int64_t lanes = std::min(plan.oc_blocks, oc_blocks - first) * plan.block;
    const int64_t o = first * plan.block, valid = std::min(lanes, ocg - o);
    float* const unit = base + (g * oc_blocks + first) * plan.block * padded_ic * taps;
    // Plain weights of input i: the taps of one output are adjacent, outputs are `stride` apart.
    const int64_t stride = (e.transposed ? 1 : icg) * taps;
    const auto source = [&](int64_t i) {
      const int64_t row = e.transposed ? (g * icg + i) * ocg + o : (g * ocg + o - constants.first_output) * icg + i;
      return constants.weights + row * taps;
    };
    const auto place = [&](int64_t i) { return unit + (i / inner * taps * inner + i % inner) * lanes; };
    if (!e.transposed && (taps == 1 || inner == 1)) {
      // The order of inputs and taps stays: one transposition.
      transpose(source(0), stride, unit, lanes, valid, icg * taps, lanes);
    } else {
      for (int64_t i = 0; i < icg; ++i) transpose(source(i), stride, place(i), inner * lanes, valid, taps, lanes);
    }
    for (int64_t i = icg; i < padded_ic; ++i)
      for (int64_t t = 0; t < taps; ++t) std::fill_n(place(i) + t * inner * lanes, lanes, 0.0f);
  }
}

}  // namespace terroir::cpu::conv
