// What: rejection, planning and slicing of the Winograd kernels.
#include "plugins/cpu/kernels/conv/plan.hpp"

#include <algorithm>
#include <cstdlib>

#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/kernels/conv_wino/cost.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_spans.hpp"
#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {

namespace {

constexpr int64_t kSegment = 3;

// Of a transposed one: outputs of the first phase, the longest.
ConvAxis axis_of_phases(const ConvAxis& a) {
  return {a.in, ceil_div(a.out, a.stride), kSegment, 1, 1, before_window(a)};
}

// As kernels see it: of segments of 3x3. All but the last one have whole blocks of channels.
ConvProblem of_segments(const ConvProblem& p, int64_t block) {
  ConvProblem e = p;
  if (p.transposed) {
    e.transposed = false;
    e.h = axis_of_phases(p.h);
    e.w = axis_of_phases(p.w);
    return e;
  }
  e.h.kernel = e.w.kernel = kSegment;
  const int64_t segments = ceil_div(p.h.kernel, kSegment) * ceil_div(p.w.kernel, kSegment);
  if (segments > 1) e.ic += (segments - 1) * round_up(p.ic, block);
  return e;
}

const char* reject_transposed(const ConvProblem& p, const WinoKernel& kernel) {
  if (!wino_transposes(kernel.tile, kernel.stride)) return "transposed";
  if (p.groups > 1) return "transposed in groups";
  if (p.d.in != 1 || p.d.out != 1 || p.d.kernel != 1) return "transposed in a volume";
  if (p.h.kernel * p.w.kernel > kMostSegments * kSegment * kMostSegments * kSegment) return "more than 81 taps";
  for (const ConvAxis* axis : {&p.h, &p.w}) {
    if (axis->stride > axis->kernel) return "outputs without a tap";
    if (axis->dilation != 1 || inputs_of_window(*axis) > kSegment)
      return "an output and its neighbours read more than three inputs a side";
  }
  return nullptr;
}

}  // namespace

const char* wino_reject(const ConvProblem& p, const WinoKernel& kernel) noexcept {
  if (const char* why = conv::reject_malformed(p)) return why;
  if (p.transposed) return reject_transposed(p, kernel);
  const int64_t block = channel_block(kernel.isa);
  if (p.h.kernel != kSegment || p.w.kernel != kSegment) {
    if (!wino_has_segments(kernel.tile, kernel.stride)) return "kernel is not 3x3";
    for (const ConvAxis* axis : {&p.h, &p.w})
      if (axis->kernel < 2 || axis->kernel > kMostSegments * kSegment) return "kernel has not 2 to 9 taps a side";
    if (p.groups > 1) return "kernel is not 3x3, in groups";
  }
  if (p.d.stride != 1 || p.h.stride != kernel.stride || p.w.stride != kernel.stride) return "stride does not fit";
  const bool dilated = p.h.dilation != 1 || p.w.dilation != 1;
  if ((p.d.kernel != 1 && p.d.dilation != 1) || (dilated && !wino_dilates(kernel.tile, kernel.stride)))
    return "dilation is not 1";
  if (kernel.stride != 1 && p.d.kernel != 1) return "stride in a volume";
  if (p.groups > 1 && (p.ic / p.groups % block != 0 || p.oc / p.groups % block != 0))
    return "channels per group are not whole blocks";
  return nullptr;
}

namespace {

WinoAxis wino_axis(const ConvAxis& a, int64_t tile) {
  WinoAxis axis{0, 0, a.dilation, a.out % a.dilation, {}, {}};
  for (int i = 0; i < 2; ++i) {
    const int64_t outputs = a.out / a.dilation + (i == 0 ? 1 : 0), tiles = ceil_div(outputs, tile);
    const int64_t phases = i == 0 ? axis.longer : a.dilation - axis.longer;
    axis.phase_tiles[i] = std::max<int64_t>(1, tiles);
    axis.phase_full[i] = std::max<int64_t>(0, outputs - tiles * (tile - 1));
    axis.tiles += phases * tiles;
    axis.full += phases * axis.phase_full[i];
  }
  return axis;
}

size_t scratch_floats(const WinoPlan& plan) {
  const int64_t v = plan.ic_blocks * plan.block_tiles * (plan.block_slices + plan.exec.d.kernel - 1);
  const int64_t m = std::min(plan.chunk_units * plan.unit_blocks, plan.oc_blocks * phases_of(plan)) * plan.block_tiles *
                    plan.block_slices;
  const int64_t inputs = plan.alpha * plan.alpha, sums = plan.sums_side * plan.sums_side;
  return static_cast<size_t>((inputs * (v + 1) + sums * (m + 1)) * plan.block + plan.stage_floats);
}

// Those that follow from how many tiles are transformed at once, and channels of weights.
void set_scratch(WinoPlan& plan) {
  const int64_t points = kStagedRows * plan.weights_side;
  plan.stage_floats =
      plan.stage_blocks * points * (plan.unit_blocks * plan.block + 1) * plan.block + stage_cut_floats(plan);
  plan.scratch_floats = scratch_floats(plan);
}

}  // namespace

WinoPlan wino_plan(const ConvProblem& p, const WinoKernel& kernel, std::optional<WinoWeights> weights) noexcept {
  WinoPlan plan{};
  const int64_t block = channel_block(kernel.isa);
  plan.problem = p;
  plan.exec = of_segments(p, block);
  plan.src = conv::dense_strides(p, ConvFormat::blocked, block, false);
  plan.dst = conv::dense_strides(p, ConvFormat::blocked, block, true);
  const conv::Machine machine = conv::machine(kernel.isa);
  plan.block = block;
  plan.lanes = machine.lanes;
  plan.registers = machine.registers;
  plan.fused = machine.fused;
  plan.tile = kernel.tile;
  plan.alpha = (kernel.tile - 1) * kernel.stride + 3;
  plan.weights_side = kernel.tile + 2;
  plan.sums_side = kernel.tile + (kernel.stride == 1 ? 2 : 1);
  plan.rows = wino_axis(plan.exec.h, plan.tile);
  plan.cols = wino_axis(plan.exec.w, plan.tile);
  plan.ic_blocks = ceil_div(plan.exec.ic / p.groups, block);
  plan.source_blocks = ceil_div(p.ic / p.groups, block);
  plan.row_segments = p.transposed ? 1 : ceil_div(p.h.kernel, kSegment);
  plan.col_segments = p.transposed ? 1 : ceil_div(p.w.kernel, kSegment);
  plan.row_phases = p.transposed ? p.h.stride : 1;
  plan.col_phases = p.transposed ? p.w.stride : 1;
  plan.oc_blocks = ceil_div(p.oc / p.groups, block);
  wino::choose_blocks(plan, weights);
  const int64_t points = plan.weights_side * plan.weights_side;
  const int64_t bias = round_up(p.groups * plan.oc_blocks * block, 16);
  const bool packed = plan.weights == WinoWeights::packed;
  const int64_t per_output =
      packed ? plan.ic_blocks * block * points * phases_of(plan) : p.ic / p.groups * p.h.kernel * p.w.kernel;
  const int64_t floats = p.groups * plan.oc_blocks * block * per_output * p.d.kernel;
  plan.packed_floats = static_cast<size_t>(bias + floats);
  plan.prefetch = conv::beyond_l2(floats);
  set_scratch(plan);
  return plan;
}

WinoPlan wino_with_small_blocks(const WinoPlan& plan, int halvings) noexcept {
  WinoPlan small = plan;
  small.block_tiles = ceil_div(plan.block_tiles, int64_t{1} << halvings);
  // At stride 2 the order of sums depends on them.
  if (plan.exec.h.stride == 1) small.stage_blocks = ceil_div(plan.stage_blocks, int64_t{1} << halvings);
  set_scratch(small);
  return small;
}

// Of a step's modelled time, for the sake of its scratch memory. Each block of tiles transforms staged weights again:
// of 512 to 512 channels at 14x14 half the tiles take 1.4 times as long. Beside the model, blocks of 7 tiles take 1.4
// times as long as those of 14.
constexpr double kMostLeanTimes = 1.15;
constexpr int64_t kLeastLeanTiles = 12;

int wino_halvings(const WinoPlan& plan) noexcept {
  // Of a transposed convolution each phase would transform the weights again, for scratch that is little beside
  // outputs.
  if (plan.weights == WinoWeights::in_registers || plan.problem.transposed) return 0;
  const int64_t tiles = plan.problem.batch * plan.rows.tiles * plan.cols.tiles;
  if (tiles * plan.problem.d.out == 0) return 0;
  const auto cycles = [&](const WinoPlan& of) { return wino::box_cycles(of, wino_units(of), tiles, of.problem.d.out); };
  const double most = kMostLeanTimes * cycles(plan);
  int halvings = 0;
  for (int64_t left = plan.block_tiles; left > 1; left = ceil_div(left, 2), ++halvings)
    if (ceil_div(left, 2) * plan.block_slices < std::max(plan.register_tiles, kLeastLeanTiles) ||
        cycles(wino_with_small_blocks(plan, halvings + 1)) > most)
      break;
  return halvings;
}

int64_t wino_units(const WinoPlan& plan) noexcept { return plan.problem.groups * plan.units; }

int64_t wino_span_parts(const WinoPlan& plan) noexcept {
  return plan.problem.batch * plan.rows.tiles * plan.cols.tiles / plan.spans.tiles * plan.spans.parts;
}

int64_t wino_first_output(const WinoPlan& plan, int64_t unit) noexcept {
  const ConvProblem& p = plan.problem;
  return unit / plan.units * (p.oc / p.groups) + unit % plan.units / phases_of(plan) * plan.unit_blocks * plan.block;
}

namespace {

struct Extents {
  int64_t oc, s, d;
};

Extents extents(const WinoPlan& plan) { return {wino_units(plan), wino_span_parts(plan), plan.problem.d.out}; }

// The blocks of tiles that a run over the part would take one by one, or where there are few, smaller ones, while the
// weights, which each reads again, and not transforms, are at hand.
int64_t choose_slices(const WinoPlan& plan, int64_t tiles, int64_t wanted) {
  const bool small =
      plan.weights == WinoWeights::packed && static_cast<int64_t>(plan.packed_floats) * 4 <= cache_sizes().l2 / 2;
  return std::clamp<int64_t>(small ? tiles / (2 * plan.register_tiles) : ceil_div(tiles, plan.block_tiles), 1, wanted);
}

// To read the sources of one of `oc` parts that share the same tiles, of one of `others` such sets: each of these
// threads wrote its share of them. Per cache line of another core, measured: 24 to 59 cycles.
double remote_cycles(const WinoPlan& plan, int64_t oc, int64_t others) {
  constexpr double kLineCycles = 30;
  const ConvProblem& p = plan.problem;
  if (p.groups > 1) return 0;  // parts of channels read their own
  const auto lines = static_cast<double>(p.batch * plan.source_blocks * p.d.in * p.h.in * p.w.in * plan.block / 16);
  return kLineCycles * lines / static_cast<double>(others) * static_cast<double>(oc - 1) / static_cast<double>(oc);
}

}  // namespace

// The fewest cycles in the largest part. Splitting channels reads and transforms the input once per part, splitting
// tiles reads the weights once per part.
WinoSplit wino_split(const WinoPlan& plan, int64_t threads) noexcept {
  threads = std::max<int64_t>(threads, 1);
  const Extents e = extents(plan);
  WinoSplit best{0, 0, 0, 0, 0};
  double least = -1;
  for (int64_t oc = 1; oc <= std::min(threads, e.oc); ++oc) {
    for (int64_t d = 1; oc * d <= threads && d <= e.d && e.s > 0; ++d) {
      const int64_t s = std::min(threads / (oc * d), e.s);
      const int64_t tiles = ceil_div(ceil_div(e.s, s) * plan.spans.tiles, plan.spans.parts);
      const double cycles =
          wino::box_cycles(plan, ceil_div(e.oc, oc), tiles, ceil_div(e.d, d)) + remote_cycles(plan, oc, s * d);
      if (least >= 0 && cycles >= least) continue;
      least = cycles;
      const int64_t wanted = slices_for(threads, cycles), slices = choose_slices(plan, tiles, wanted);
      const bool one_block = tiles <= plan.block_tiles && ceil_div(e.d, d) <= plan.block_slices;
      best = {oc, s, d, slices, slices == 1 && one_block ? std::min(wanted, e.oc / oc) : 1};
    }
  }
  return best;
}

WinoBox wino_part(const WinoPlan& plan, const WinoSplit& split, int64_t part) noexcept {
  const Extents e = extents(plan);
  const int64_t d = part % split.d, s = part / split.d % split.s, oc = part / split.d / split.s;
  return {oc * e.oc / split.oc,    (oc + 1) * e.oc / split.oc, s * e.s / split.s,
          (s + 1) * e.s / split.s, d * e.d / split.d,          (d + 1) * e.d / split.d};
}

WinoBox wino_slice(const WinoPlan& plan, const WinoSplit& split, int64_t slice) noexcept {
  const WinoBox part = wino_part(plan, split, slice / split.per_part());
  const int64_t i = slice % split.per_part();
  const Stretch oc = part_of({part.oc0, part.oc1}, i / split.slices, split.oc_slices),
                s = part_of({part.s0, part.s1}, i % split.slices, split.slices);
  return {oc.begin, oc.end, s.begin, s.end, part.d0, part.d1};
}

RemoteSources wino_remote_sources(const WinoPlan& plan, const WinoSplit& split, int64_t slice) noexcept {
  RemoteSources remote;
  remote.everywhere = split.oc > 1;
  if (remote.everywhere) return remote;
  const WinoBox part = wino_part(plan, split, slice / split.per_part());
  if (dilated(plan)) return remote;  // whose tiles fetch nothing ahead
  if (part.s0 > 0) remote.begin = first_tile_of(plan.spans, part.s0) + plan.cols.tiles;
  if (part.s1 < extents(plan).s) remote.end = first_tile_of(plan.spans, part.s1) - plan.cols.tiles;
  return remote;
}

int64_t wino_oc_ahead(const WinoPlan& plan, const WinoSplit& split, int64_t slice) noexcept {
  return split.slices == 1 ? wino_part(plan, split, slice / split.per_part()).oc1 : 0;
}

}  // namespace terroir::cpu
