// Packed: [bias, up to a multiple of 16][group][outputs of a tile][input of group][kd][kh][kw][output of tile].
#include <algorithm>
#include <cmath>

#include "plugins/cpu/kernels/conv/planes.hpp"
#include "plugins/cpu/kernels/conv_planes/planes_types.hpp"

namespace terroir::cpu::conv {
namespace {

// What the planes of one unit take in scratch memory.
int64_t scratch_floats(const ConvPlan& plan) {
  const ConvProblem& e = plan.exec;
  const PlanesShape s = planes_shape(e, plan.rows, plan.w_tile);
  const int64_t together = planes_groups(plan);
  return planes_offset_floats(e) + together * (e.ic / e.groups * s.channel + e.oc / e.groups * s.result) +
         2 * kPlanesSlack;
}

// As many rows of results at once as have their planes in half of L2, but some units; of long rows some columns.
void set_units(ConvPlan& plan) {
  constexpr int64_t kFewUnits = 4, kFewRows = 8, kLeastColumns = 512, kReaches = 8;
  const ConvProblem& e = plan.exec;
  const int64_t sets = ceil_div(e.groups, planes_groups(plan)), most = cache_sizes().l2 / 2 / 4;
  plan.w_tile = e.w.out;
  plan.rows = 1;
  if (e.h.out == 1 || e.w.out > 2 * kLeastColumns) {
    const int64_t reach = ((e.w.kernel - 1) * e.w.dilation + 1) / e.w.stride;
    const int64_t units = e.h.out == 1 ? kWantedUnits : e.w.out;
    const int64_t wanted = std::max({kLeastColumns, kReaches * reach, ceil_div(e.w.out, units)});
    plan.w_tile = ceil_div(e.w.out, ceil_div(e.w.out, wanted));
  }
  plan.chunks = ceil_div(e.w.out, plan.w_tile);
  const auto scratch_of = [&](int64_t rows) {
    plan.rows = rows;
    return scratch_floats(plan);
  };
  int64_t rows = e.h.out;
  while (rows > 1 && scratch_of(rows) > most) rows = ceil_div(rows, 2);
  while (rows > kFewRows && sets * e.d.out * plan.chunks * ceil_div(e.h.out, rows) < kFewUnits)
    rows = ceil_div(rows, 2);
  plan.rows = ceil_div(e.h.out, ceil_div(e.h.out, rows));
  plan.grid = {e.batch, sets, e.d.out * ceil_div(e.h.out, plan.rows) * plan.chunks};
  plan.cached_rows = plan.grid.sp;
}

// More channels of one group fill the lanes of other kernels, and more that do not mix those of depthwise ones.
constexpr int64_t kFewChannels = 12, kImageChannels = 4;

double extent(const ConvAxis& a) {
  return static_cast<double>(a.in) + static_cast<double>(a.out) * static_cast<double>(a.stride) +
         static_cast<double>(a.kernel) * static_cast<double>(a.dilation) + std::abs(static_cast<double>(a.pad));
}

// Of extents that nobody would run no product may overflow.
bool is_moderate(const ConvProblem& p) {
  constexpr double kMost = 1ll << 40;
  return extent(p.d) * extent(p.h) * extent(p.w) * static_cast<double>(p.ic + p.oc) * static_cast<double>(p.d.kernel) <
         kMost;
}

// Cycles per output position and group: of this kernel. Measured: what moving takes is mostly waiting for memory.
double planes_cycles(const ConvPlan& plan) {
  const ConvProblem& e = plan.exec;
  const int64_t lanes = plan.block, inputs = e.ic / e.groups, outputs = e.oc / e.groups;
  const bool wide = lanes == 16;
  const PlanesShape s = planes_shape(e, plan.rows, plan.w_tile);
  const int64_t count = planes_outputs(outputs), vectors = planes_vectors(lanes, count), tile = vectors * lanes;
  const int64_t positions = (plan.rows - 1) * s.pitch + plan.w_tile, rest = positions % tile;
  const int64_t shorter = planes_short_vectors(lanes, count) * lanes;
  const int64_t computed = positions - rest + (rest == 0 ? 0 : rest <= shorter ? shorter : tile);
  const double waste = static_cast<double>(computed) / static_cast<double>(plan.rows * plan.w_tile);
  // Loads of vectors meet the end of a cache line nearly always, of half as wide ones every second time.
  const double loads_of_vector = wide ? 2 : 1.5, loads = wide ? 2 : 3;
  const auto v = static_cast<double>(vectors), n = static_cast<double>(count);
  double product = std::max(0.5, (v * loads_of_vector + n) / loads / (v * n));
  // Sources of a tile that do not stay in L1 come again for its other outputs.
  constexpr double kFillsL1 = 0.8, kAgain = 1.15;
  const int64_t tile_bytes = inputs * e.d.kernel * e.h.kernel * (tile + lanes) * 4;
  if (outputs > count && static_cast<double>(tile_bytes) > kFillsL1 * static_cast<double>(cache_sizes().l1d))
    product *= kAgain;
  // Cycles per float that is moved; of blocks of channels every second position is a cache line by itself.
  constexpr double kLine = 8;
  const bool plain = plan.src_format == ConvFormat::plain, strided = e.h.stride * e.w.stride > 1;
  const double strided_plain = e.w.stride <= 2 ? 0.9 : 1.5;  // by vectors, and one by one
  const double in = strided ? (plain ? strided_plain : 1) : plain ? 0.5 : 0.6;
  const double moved = in * static_cast<double>(inputs), read = strided && !plain ? std::max(moved, kLine) : moved;
  const double out = plan.dst_format == ConvFormat::plain ? 0.65 : 0.75;
  // What a row takes beside its floats is that of some more columns.
  constexpr double kBetweenTiles = 1.02, kRow = 3;
  const double copied = static_cast<double>(e.d.kernel * s.slice) / static_cast<double>(plan.rows * plan.w_tile);
  return kBetweenTiles * waste * product * static_cast<double>(inputs * planes_taps(e) * outputs) /
             static_cast<double>(lanes) +
         (copied * read + out * static_cast<double>(outputs)) * (1 + kRow / static_cast<double>(plan.w_tile));
}

// Of a group.
double products_per_position(const ConvProblem& p) {
  return static_cast<double>(p.ic / p.groups * (p.oc / p.groups) * planes_taps(p));
}

// Of the dense kernels, which pad the outputs of a group to whole blocks, or of the depthwise ones.
double dense_cycles(const ConvProblem& p, int64_t block) {
  const auto inputs = static_cast<double>(p.ic / p.groups), taps = static_cast<double>(planes_taps(p));
  const auto blocks = static_cast<double>(ceil_div(p.oc / p.groups, block));
  if (p.oc == p.groups && p.ic == p.groups) {
    // Nearly all that these move of so few channels is padding.
    constexpr double kTap = 0.55, kMoved = 4;
    return (kTap * taps + kMoved * static_cast<double>(1 + p.h.stride * p.w.stride)) / static_cast<double>(p.groups);
  }
  if (p.groups == 1) return 0.57 * taps * inputs * blocks + 2;
  if (block == 16 && blocks == 1) return taps * (4.3 + 0.47 * inputs);
  if (block == 16 && blocks == 2) return taps * (1 + 1.18 * inputs);
  return taps * (block == 16 ? 1 + 0.52 * blocks * inputs : 3 + 0.62 * blocks * inputs);
}

// Of the best other kernel: where outputs are few and wanted plain, lanes may be input channels.
double other_cycles(const ConvProblem& p, const ConvKernel& kernel) {
  constexpr double kSums = 4, kStep = 0.6;
  const int64_t block = channel_block(kernel.isa);
  const double dense = dense_cycles(p, block);
  if (p.groups > 1 || kernel.dst != ConvFormat::plain || kernel.src == ConvFormat::plain) return dense;
  const auto blocks = static_cast<double>(ceil_div(p.ic, block)), taps = static_cast<double>(planes_taps(p));
  return std::min(dense, kStep * static_cast<double>(p.oc) * (blocks * taps + kSums));
}

// The reason why it would not pay, or null.
const char* reject_slower(const ConvProblem& p, const ConvKernel& kernel) {
  // Close calls go to the kernels that take any layout.
  constexpr double kWorth = 0.93;
  ConvPlan plan;
  plan_planes(p, kernel, plan);
  if (static_cast<int64_t>(plan.scratch_floats * sizeof(float)) > cache_sizes().l2) return "planes beyond L2";
  return planes_cycles(plan) < kWorth * other_cycles(p, kernel) ? nullptr : "others take less";
}

}  // namespace

const char* reject_planes(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  if (const char* why = reject_malformed(p)) return why;
  if (p.transposed) return "transposed";
  if (!is_moderate(p)) return "large extents";
  if (planes_taps(p) == 1) return "pointwise";
  const int64_t block = channel_block(kernel.isa), inputs = p.ic / p.groups, outputs = p.oc / p.groups;
  const bool plain = kernel.src == ConvFormat::plain && kernel.dst == ConvFormat::plain;
  if (inputs * outputs == 1) {
    if (!plain || p.groups > kImageChannels) return "depthwise";
  } else if (p.groups == 1) {
    if (p.ic > kFewChannels || p.oc > kFewChannels) return "many channels";
  } else {
    if (kernel.src != ConvFormat::blocked || kernel.dst != ConvFormat::blocked) return "grouped";
    if (inputs % block == 0 && outputs % block == 0) return "groups of whole blocks";
    if (block % inputs == 0 && block % outputs == 0) return "groups inside of blocks";
  }
  return reject_slower(p, kernel);
}

void plan_planes(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept {
  plan_common(problem, kernel, plan);
  set_units(plan);
  const ConvProblem& e = plan.exec;
  plan.packed_floats = static_cast<size_t>(planes_bias_floats(e) + e.oc * (e.ic / e.groups) * planes_taps(e));
  plan.scratch_floats = static_cast<size_t>(scratch_floats(plan));
}

int64_t pack_planes_pieces(const ConvPlan& plan) noexcept { return plan.exec.groups; }

// A piece is a group; the first one brings the bias.
void pack_planes(const ConvPlan& plan, const ConvKernel&, const ConvConstants& constants, float* packed, int64_t begin,
                 int64_t end) noexcept {
  const ConvProblem& e = plan.exec;
  const int64_t inputs = e.ic / e.groups, outputs = e.oc / e.groups, row = inputs * planes_taps(e);
  const int64_t bias_floats = planes_bias_floats(e);
  if (begin == 0) pack_bias(constants.bias, 1, e.oc, bias_floats, bias_floats, packed);
  for (int64_t g = begin; g < end; ++g) {
    const float* from = constants.weights + g * outputs * row;
    float* to = packed + bias_floats + g * outputs * row;
    for (int64_t o = 0, count; o < outputs; o += count, from += count * row) {
      count = planes_outputs(outputs - o);
      for (int64_t i = 0; i < row; ++i)
        for (int64_t l = 0; l < count; ++l) *to++ = from[l * row + i];
    }
  }
}

double dense_groups_slowdown(const ConvProblem& p, int64_t block) noexcept {
  return dense_cycles(p, block) * 2 * static_cast<double>(block) / products_per_position(p);
}

double planes_slowdown(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  ConvPlan plan;
  plan_planes(p, kernel, plan);
  const double cycles = planes_cycles(plan);
  if (p.groups > 1) return cycles * 2 * static_cast<double>(plan.block) / products_per_position(p);
  // Beside those kernels of which it is said that they take as long as their padding.
  const double padding = static_cast<double>(round_up(p.oc, plan.block)) / static_cast<double>(p.oc);
  return padding * cycles / dense_cycles(p, plan.block);
}

}  // namespace terroir::cpu::conv
