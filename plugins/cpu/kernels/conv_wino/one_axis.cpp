// What: rejection, planning, cost and error bound of the kernels of one_axis.hpp. Baseline code.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv/plan.hpp"
#include "plugins/cpu/kernels/conv_wino/cost.hpp"
#include "plugins/cpu/kernels/conv_wino/error_factors.hpp"
#include "plugins/cpu/kernels/conv_wino/one_axis_conv.hpp"
#include "plugins/cpu/kernels/conv_wino/one_axis_types.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_types.hpp"

namespace terroir::cpu {

#define TERROIR_ONE_AXIS_ENTRY_POINTS(isa)                                                                \
  namespace isa {                                                                                         \
  void wino_run_one_axis(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept;       \
  void wino_pack_one_axis(const ConvPlan& plan, const ConvKernel& kernel, const ConvConstants& constants, \
                          float* packed, int64_t begin, int64_t end) noexcept;                            \
  }
TERROIR_ONE_AXIS_ENTRY_POINTS(avx2)
TERROIR_ONE_AXIS_ENTRY_POINTS(avx512)
#undef TERROIR_ONE_AXIS_ENTRY_POINTS

namespace {

bool is_unit(const ConvAxis& a) { return conv::has_one_tap(a) && a.stride == 1 && a.in == a.out; }

// Unused where no bucket has a kernel, as the two below.
[[maybe_unused]] const char* reject(const ConvProblem& p, const ConvKernel&) noexcept {
  if (const char* why = conv::reject_malformed(p)) return why;
  if (p.groups != 1) return "grouped";
  int with_taps = 0;
  for (const ConvAxis* a : {&p.d, &p.h, &p.w}) {
    if (is_unit(*a)) continue;
    ++with_taps;
    if (a->kernel < one_axis::kLeastTaps || a->kernel > one_axis::kMostTaps) return "kernel has not 2 to 32 taps";
    if (a->stride != 1 && a->dilation != 1) return "stride and dilation";
    if (!p.transposed) continue;
    ConvProblem e = p;
    e.h = *a;
    if (a->stride > a->kernel) return "outputs without a tap";
    if (a->dilation != 1 || a->out % a->stride != 0 || one_axis::axis_of(e).kernel < one_axis::kLeastTaps ||
        one_axis::axis_of(e).kernel > one_axis::kMostTaps)
      return "transposed, and phases have not as many outputs, of 2 to 32 inputs";
  }
  return with_taps == 1 ? nullptr : "taps do not lie along one axis";
}

// Beyond this, transformed weights are not kept, but made by each run: to read half of the bytes, which come from
// memory in a network, pays for it, and the model takes half of the memory.
constexpr int64_t kMostPackedBytes = int64_t{4} << 20;
// Input blocks whose weights are made at once.
constexpr int64_t kStagedBlocks = 16;

// Tiles worked on at once: so many that each round's reading of weights beyond L2, and of transformed inputs where
// these are, once for each unit, is the least. To make weights is like reading what is made.
int64_t tiles_at_once(const ConvPlan& plan, int64_t depth, int64_t weights) {
  constexpr int64_t kMostTiles = 112;
  const int64_t tiles = std::max<int64_t>(1, plan.grid.sp), l2 = cache_sizes().l2;
  const int64_t units = ceil_div(ceil_div(plan.exec.oc, plan.block), plan.oc_blocks);
  int64_t best = plan.w_tile;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t count = plan.w_tile; count <= kMostTiles; count += plan.w_tile) {
    const int64_t inputs = 4 * one_axis::kPoints * depth * plan.block * std::min(count, tiles);
    const int64_t bytes = (weights > l2 / 2 ? weights : 0) + (inputs > l2 / 2 ? inputs * units : 0);
    // Extents of models nobody would run may have products beyond 64 bits.
    const double cost = static_cast<double>(ceil_div(tiles, count)) * static_cast<double>(bytes);
    if (cost > least) continue;
    least = cost;
    best = count;
  }
  return best;
}

void plan_one_axis(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept {
  conv::plan_common(problem, kernel, plan);
  ConvProblem& p = plan.exec;
  // Neighbours across the axis: before it as d, behind it as w.
  int64_t before = 1, behind = 1;
  const ConvAxis* with_taps = nullptr;
  for (const ConvAxis* a : {&problem.d, &problem.h, &problem.w}) {
    if (!is_unit(*a)) {
      with_taps = a;
    } else {
      (with_taps ? behind : before) *= a->in;
    }
  }
  p.h = *with_taps;
  p.d = p.w = {};
  p.d.in = p.d.out = before;
  p.w.in = p.w.out = behind;
  plan.src.h = plan.dst.h = behind * plan.block;
  plan.src.d = p.h.in * plan.src.h;
  plan.dst.d = p.h.out * plan.dst.h;
  const conv::Machine machine = conv::machine(kernel.isa);
  const int64_t oc_blocks = ceil_div(p.oc, plan.block);
  const int64_t depth = one_axis::segments(one_axis::axis_of(p)) * ceil_div(p.ic, plan.block);
  plan.oc_blocks = oc_blocks == 3 ? 3 : std::min<int64_t>(oc_blocks, 2);
  plan.w_tile = max_tile_positions(machine.registers, machine.fused,
                                   static_cast<int>(plan.oc_blocks * plan.block / machine.lanes));
  plan.grid = {problem.batch, 1, one_axis::image_tiles(p)};
  plan.column_units = true;
  const int64_t phases = one_axis::phases_of_outputs(p);
  const int64_t transformed = one_axis::kPoints * depth * oc_blocks * phases * plan.block * plan.block;
  if (4 * transformed > kMostPackedBytes) plan.ic_chunk = std::min(kStagedBlocks, ceil_div(p.ic, plan.block));
  const int64_t weights = one_axis::weights_per_output(plan) * oc_blocks * plan.block;
  plan.packed_floats = static_cast<size_t>(round_up(oc_blocks * plan.block, 16) + weights);
  plan.prefetch = conv::beyond_l2(weights);
  plan.cached_rows = tiles_at_once(plan, depth, 4 * transformed);
  const int64_t blocks = (depth + plan.oc_blocks) * plan.cached_rows + 3;
  const int64_t staged = plan.ic_chunk * plan.block * plan.oc_blocks;
  plan.scratch_floats = static_cast<size_t>(one_axis::kPoints * (blocks + staged) * plan.block);
}

[[maybe_unused]] int64_t pack_one_axis_pieces(const ConvPlan& plan) noexcept {
  return ceil_div(ceil_div(plan.exec.oc, plan.block), plan.oc_blocks);
}

#define TERROIR_ONE_AXIS_KERNEL(isa, layout)                                   \
  constexpr ConvKernel k_##isa{"f32_conv_winograd_one_axis_" layout "__" #isa, \
                               Isa::isa,                                       \
                               ConvFormat::blocked,                            \
                               ConvFormat::blocked,                            \
                               reject,                                         \
                               plan_one_axis,                                  \
                               "pack_one_axis",                                \
                               pack_one_axis_pieces,                           \
                               isa::wino_pack_one_axis,                        \
                               isa::wino_run_one_axis};
#if TERROIR_HAVE_AVX512
TERROIR_ONE_AXIS_KERNEL(avx512, "nChw16c")
#endif
#if TERROIR_HAVE_AVX2
TERROIR_ONE_AXIS_KERNEL(avx2, "nChw8c")
#endif

}  // namespace

const ConvKernel* one_axis_kernel([[maybe_unused]] Isa isa) noexcept {
#if TERROIR_HAVE_AVX512
  if (isa == Isa::avx512) return &k_avx512;
#endif
#if TERROIR_HAVE_AVX2
  if (isa == Isa::avx2) return &k_avx2;
#endif
  return nullptr;
}

double one_axis_products(const ConvPlan& plan) noexcept {
  const ConvProblem& p = plan.exec;
  const int64_t inputs = one_axis::segments(one_axis::axis_of(p)) * p.ic;
  const int64_t outputs = round_up(p.oc, plan.block) * one_axis::phases_of_outputs(p);
  return static_cast<double>(plan.grid.n * plan.grid.sp * one_axis::kPoints) * static_cast<double>(inputs * outputs);
}

// Cycles of one core by products at two ports; transforms per tile and vector, measured.
double one_axis_speedup(const ConvProblem& problem, const ConvKernel& kernel) noexcept {
  constexpr double kInputCycles = 22, kOutputCycles = 26, kPassCycles = 30, kOfPeak = 0.95, kLoads = 2, kPorts = 2;
  constexpr double kStreamBytes = 7, kFirstReadBytes = 12, kStageCycles = 14;
  ConvPlan plan;
  plan_one_axis(problem, kernel, plan);
  const ConvProblem& p = plan.exec;
  const ConvAxis a = one_axis::axis_of(p);
  const auto segments = static_cast<double>(one_axis::segments(a)), inputs = static_cast<double>(p.ic);
  const auto ic_blocks = static_cast<double>(ceil_div(p.ic, plan.block));
  const auto own_blocks = static_cast<double>(ceil_div(p.oc, plan.block));
  const double oc_blocks = own_blocks * static_cast<double>(one_axis::phases_of_outputs(p));
  const auto points = static_cast<double>(one_axis::kPoints), tiles = static_cast<double>(plan.grid.n * plan.grid.sp);
  const auto rounds = static_cast<double>(plan.grid.n * ceil_div(plan.grid.sp, plan.cached_rows));
  const double passes = std::ceil(tiles / rounds / static_cast<double>(plan.w_tile));
  const double width = tiles / rounds / passes, vectors = static_cast<double>(plan.oc_blocks);
  const double step = std::max({width * vectors / kPorts, (width + vectors) / kLoads, 4.0});
  const double products =
      rounds * passes * oc_blocks / vectors * points * (step * segments * inputs / kOfPeak + kPassCycles);
  const double transforms = tiles * (segments * ic_blocks * kInputCycles + oc_blocks * kOutputCycles);
  const double weight_bytes = 4 * static_cast<double>(plan.packed_floats);
  const double plain_bytes =
      4 * static_cast<double>(p.h.kernel) * (ic_blocks * own_blocks * static_cast<double>(plan.block * plan.block));
  double winograd = products + transforms + weight_bytes / kFirstReadBytes;
  if (plan.ic_chunk > 0)
    winograd += rounds * segments * inputs * oc_blocks * kStageCycles;
  else if (weight_bytes > static_cast<double>(cache_sizes().l2) / 2)
    winograd = std::max(winograd, weight_bytes * rounds / kStreamBytes);
  const double direct =
      own_blocks * inputs * static_cast<double>(p.batch) * wino::direct_products(problem) / kPorts / kOfPeak;
  return (direct + plain_bytes / kFirstReadBytes) / winograd;
}

namespace {

double of_roundings(double summed, double worst) {
  constexpr double kTransformRoundings = 16;
  return (kTransformRoundings + 2 * std::sqrt(summed)) * 0x1p-24 * worst;
}

// Sums outside lose values to overflow, for inputs up to 2^27, or precision to underflow.
bool in_range(double sum) { return sum >= 0x1p-90 && sum <= 0x1p100; }

// Each phase has sums of its own.
double transposed_error_bound(const ConvProblem& problem, const ConvAxis& axis, const float* weights) {
  ConvProblem e = problem;
  e.h = axis;
  const ConvAxis window = one_axis::axis_of(e);
  const int64_t segment = one_axis::segment_taps(window), outputs = one_axis::tile_outputs(window);
  const wino::Factors factors = wino::five_point_factors(outputs, static_cast<size_t>(segment));
  constexpr int64_t kAtOnce = 32;
  double worst = 0;
  for (int64_t first = 0; first < problem.oc; first += kAtOnce) {
    const int64_t outputs_there = std::min(kAtOnce, problem.oc - first);
    double sums[kAtOnce * one_axis::kMostTaps] = {};
    for (int64_t i = 0; i < problem.ic; ++i) {
      const float* const row = weights + (i * problem.oc + first) * axis.kernel;
      for (int64_t t = 0; t < outputs_there * axis.kernel; ++t) sums[t] += std::fabs(static_cast<double>(row[t]));
    }
    for (int64_t of = 0; of < outputs_there * axis.stride; ++of) {
      const int64_t o = of / axis.stride, phase = of % axis.stride;
      const WinoTaps taps = taps_of_phase(axis, phase);
      double all = 0, n[one_axis::kMostOutputs] = {};
      for (int64_t x = 0; x < window.kernel; ++x) {
        if (!taps.has(x)) continue;
        const double sum = sums[o * axis.kernel + taps.at(x)];
        all += sum;
        for (int64_t k = 0; k < outputs; ++k) n[k] += factors.factor[k][x % segment] * sum;
      }
      if (all == 0) continue;
      if (!in_range(all)) return std::numeric_limits<double>::infinity();
      for (const double of_output : n) worst = std::max(worst, of_output / all);
    }
  }
  return of_roundings(static_cast<double>(one_axis::segments(window) * problem.ic), worst);
}

}  // namespace

// The derivation is that of error_bound.cpp, with one axis.
double one_axis_error_bound(const ConvProblem& problem, const float* weights) noexcept {
  const ConvAxis& axis = problem.d.kernel > 1 ? problem.d : problem.h.kernel > 1 ? problem.h : problem.w;
  if (problem.transposed) return transposed_error_bound(problem, axis, weights);
  const int64_t taps = axis.kernel, segment = one_axis::segment_taps(axis), outputs = one_axis::tile_outputs(axis);
  const wino::Factors factors = wino::five_point_factors(outputs, static_cast<size_t>(segment));
  double worst = 0;
  for (int64_t o = 0; o < problem.oc; ++o, weights += problem.ic * taps) {
    double sums[one_axis::kMostTaps] = {}, all = 0;
    for (int64_t i = 0; i < problem.ic; ++i)
      for (int64_t x = 0; x < taps; ++x) sums[x] += std::fabs(static_cast<double>(weights[i * taps + x]));
    for (const double sum : sums) all += sum;
    if (all == 0) continue;
    if (!in_range(all)) return std::numeric_limits<double>::infinity();
    for (int64_t k = 0; k < outputs; ++k) {
      double n = 0;
      for (int64_t x = 0; x < taps; ++x) n += factors.factor[k][x / axis.stride % segment] * sums[x];
      worst = std::max(worst, n / all);
    }
  }
  return of_roundings(static_cast<double>(one_axis::segments(axis) * problem.ic), worst);
}

}  // namespace terroir::cpu
