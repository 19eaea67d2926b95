// What: rejection, planning, packing, cost and error bound of the paired kernels. Baseline code.
// Packed: [bias][oc unit]: [starts of sums][scales of results][input channel], each of the unit's outputs; zeros in
//   outputs and inputs that do not exist.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plugins/cpu/kernels/conv/dense.hpp"
#include "plugins/cpu/kernels/conv/plan.hpp"
#include "plugins/cpu/kernels/conv_paired/entry_points.hpp"
#include "plugins/cpu/kernels/conv_paired/paired.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"
#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {
namespace {

using namespace paired;

// Unused where no bucket has a kernel, as those below.
[[maybe_unused]] const char* reject(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  if (const char* why = conv::reject_malformed(p)) return why;
  if (p.groups != 1) return "grouped";
  if (!conv::has_one_tap(p.d) || !conv::has_one_tap(p.h) || !conv::has_one_tap(p.w))
    return "kernel is not 1x1 without padding";
  for (const ConvAxis* a : {&p.d, &p.h, &p.w})
    if (p.transposed && (a->stride != 1 || a->in != a->out)) return "transposed, and positions are skipped";
  if (kernel.dst == ConvFormat::nhwc && p.oc % (kUnitBlocks * channel_block(kernel.isa)) != 0)
    return "outputs are not whole units";
  if (ceil_div(p.oc, channel_block(kernel.isa)) % kUnitBlocks != 0) return "an odd number of output blocks";
  return nullptr;
}

// Whether sources that are read for a tile stay in L1, and units of outputs pass over them: where all weights stay in
// L2, and positions are so many that they are soon there.
bool reads_weights_again(const ConvPlan& plan) {
  constexpr int64_t kManyPositions = 128;
  return static_cast<int64_t>(plan.packed_floats) * 4 <= cache_sizes().l2 / 2 && plan.grid.sp >= kManyPositions;
}

// Else they stay in L2, and the weights of a unit come once for many tiles, in rounds over as many inputs as fill two
// thirds of L1.
int64_t blocks_in_l1(const ConvPlan& plan) {
  return std::max<int64_t>(1, cache_sizes().l1d * 2 / 3 / (plan.block * unit_outputs(plan) * 4));
}

// Each round of positions reads all weights again, each unit of outputs all sources: those from memory, as a rule, and
// these from L2, or where more are prepared at once from L3.
int64_t positions_at_once(const ConvPlan& plan) {
  const int64_t position_bytes = padded_inputs(plan) * 4, all = std::max(kMaxPositions, plan.grid.sp);
  const auto fit = [&](int64_t bytes) {
    const int64_t tiles = std::max<int64_t>(1, bytes / (position_bytes * kMaxPositions));
    return std::min(tiles * kMaxPositions, all);
  };
  if (plan.sources_soon) return fit(cache_sizes().l1d * 2 / 3);
  constexpr int64_t kWeightsTimes = 3;  // the time of a byte of sources from L3
  const int64_t near = fit(cache_sizes().l2 / 2), far = fit(cache_sizes().l2 * 2);
  const int64_t spared = (ceil_div(all, near) - ceil_div(all, far)) * static_cast<int64_t>(plan.packed_floats) * 4;
  return spared * kWeightsTimes > plan.grid.oc * all * position_bytes ? far : near;
}

void plan_paired(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept {
  conv::plan_common(problem, kernel, plan);
  conv::merge_axes(plan.exec, plan.src, plan.dst);
  const ConvProblem& e = plan.exec;
  plan.oc_blocks = kUnitBlocks;
  plan.w_tile = plan.w_tile_last = kMaxPositions;
  plan.column_units = true;
  plan.grid = {e.batch, ceil_div(e.oc, unit_outputs(plan)), e.d.out * e.h.out * e.w.out};
  plan.packed_floats = static_cast<size_t>(unit_begin(plan, plan.grid.oc));
  plan.sources_soon = reads_weights_again(plan);
  plan.prefetch = !plan.sources_soon;
  plan.ic_chunk = plan.sources_soon ? padded_inputs(plan) / plan.block : blocks_in_l1(plan);
  plan.cached_rows = positions_at_once(plan);
  plan.scratch_floats = static_cast<size_t>(scratch_floats(plan));
}

constexpr int64_t kMostOutputs = kUnitBlocks * 16;

// The power of two that brings the mean magnitude to [1/4, 1/2): most sources of a position are a few times smaller
// than the largest of them.
float weights_scale(double mean) {
  if (!(mean > 0) || std::isinf(mean)) return 1;
  return static_cast<float>(std::ldexp(1.0, std::clamp(-1 - std::ilogb(mean) - 1, -100, 100)));
}

// Scales the weights of one unit, [input][output], and fills what is before them.
void finish_unit(int64_t inputs, int64_t outputs, float* starts, float* factors, float* weights) {
  std::array<float, kMostOutputs> magnitude{}, scale{}, pairs{};
  for (int64_t i = 0; i < inputs; ++i)
    for (int64_t o = 0; o < kMostOutputs; ++o) magnitude[static_cast<size_t>(o)] += std::fabs(weights[i * outputs + o]);
  for (int64_t o = 0; o < outputs; ++o) {
    const auto at = static_cast<size_t>(o);
    scale[at] = weights_scale(static_cast<double>(magnitude[at]) / static_cast<double>(inputs));
    factors[o] = 1 / scale[at];
  }
  constexpr int64_t kBlock = 16;
  for (int64_t first = 0; first < inputs; first += kBlock) {
    float* const block = weights + first * outputs;
    for (int64_t i = 0; i < kBlock; ++i)
      for (int64_t o = 0; o < kMostOutputs; ++o) block[i * outputs + o] *= scale[static_cast<size_t>(o)];
    for (int64_t t = 0; t < kTriples; ++t) {
      const float* const pair = block + 3 * t * outputs;
      for (int64_t o = 0; o < kMostOutputs; ++o) pairs[static_cast<size_t>(o)] += pair[o] * pair[outputs + o];
    }
  }
  for (int64_t o = 0; o < outputs; ++o) starts[o] = -pairs[static_cast<size_t>(o)];
}

// Of weights that are looked at in vectors: what the lanes have met.
template <int64_t Lanes>
struct Magnitudes {
  std::array<float, static_cast<size_t>(Lanes)> sum{}, largest{};

  void add(const float* weights, int64_t count) {
    for (size_t l = 0; l < static_cast<size_t>(count); ++l) {
      const float magnitude = std::fabs(weights[l]);
      sum[l] += magnitude;
      largest[l] = magnitude > largest[l] ? magnitude : largest[l];
    }
  }
};

// A piece is one unit of output channels; the first one brings the bias.
[[maybe_unused]] void pack_paired(const ConvPlan& plan, const ConvKernel& kernel, const ConvConstants& constants,
                                  float* packed, int64_t begin, int64_t end) noexcept {
  const int64_t ic = plan.exec.ic, oc = plan.exec.oc, outputs = unit_outputs(plan), inputs = padded_inputs(plan);
  const auto transpose = reorder_kernels(kernel.isa).transpose_2d;
  if (begin == 0) {
    const int64_t all = plan.grid.oc * outputs;
    conv::pack_bias(constants.bias, 1, oc, all, all, packed);
  }
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit * outputs;
    float* const starts = packed + unit_begin(plan, unit);
    float* const factors = starts + outputs;
    float* const weights = factors + outputs;
    const int64_t exist = std::min(outputs, oc - first);
    if (plan.exec.transposed) {
      std::fill_n(weights, ic * outputs, 0.0f);
      for (int64_t i = 0; i < ic; ++i) std::copy_n(constants.weights + i * oc + first, exist, weights + i * outputs);
    } else {
      transpose(constants.weights + (first - constants.first_output) * ic, ic, weights, outputs, exist, ic, outputs);
    }
    std::fill_n(weights + ic * outputs, (inputs - ic) * outputs, 0.0f);
    finish_unit(inputs, outputs, starts, factors, weights);
  }
}

#if TERROIR_HAVE_AVX512
constexpr ConvKernel avx512_kernel(const char* name, ConvFormat format) {
  return {name,        Isa::avx512,        format, format, reject, plan_paired, "pack_paired", conv::pack_dense_pieces,
          pack_paired, avx512::conv_paired};
}
constexpr ConvKernel kAvx512[] = {avx512_kernel("f32_conv_1x1_paired_nChw16c__avx512", ConvFormat::blocked),
                                  avx512_kernel("f32_conv_1x1_paired_nhwc__avx512", ConvFormat::nhwc)};
#endif

}  // namespace

std::span<const ConvKernel> paired_kernels(Isa isa) noexcept {
#if TERROIR_HAVE_AVX512
  if (isa == Isa::avx512) return kAvx512;
#endif
  static_cast<void>(isa);
  return {};
}

const ConvKernel* paired_kernel(Isa isa, ConvFormat format) noexcept {
  for (const ConvKernel& kernel : paired_kernels(isa))
    if (kernel.src == format) return &kernel;
  return nullptr;
}

ConvSplit paired_split(const ConvPlan& plan, int64_t threads) noexcept {
  ConvSplit split = conv_split(plan, threads);
  if (split.part_count() == 0) return split;
  constexpr int64_t kLeastTiles = 4;
  const int64_t wanted = split.per_part(), positions = std::max<int64_t>(plan.grid.sp / split.parts.sp, 1);
  const int64_t images = std::max<int64_t>(plan.grid.n / split.parts.n, 1);
  split.slices = {std::min(images, wanted), 1, 1};
  const int64_t left = ceil_div(wanted, split.slices.n);
  if (plan.sources_soon) {
    split.slices.sp = std::clamp<int64_t>(positions / (kLeastTiles * kMaxPositions), 1, left);
  } else {
    split.slices.sp = ceil_div(positions, plan.cached_rows);
  }
  const int64_t units = std::max<int64_t>(plan.grid.oc / split.parts.oc, 1);
  split.slices.oc = std::clamp<int64_t>(left / split.slices.sp, 1, units);
  return split;
}

// In cycles of a core that begins two additions, two multiply-adds and two loads in each: measured on one thread and on
// two, of layers with 64 to 2048 channels, between cores of one's own (where products take 3 % less) and those that
// another hardware thread uses too, which begin fewer instructions.
double paired_speedup(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  constexpr double kDirect = 0.5 / 0.92, kPaired = 11.0 / 32 / 0.86, kStored = 9.5;
  constexpr double kPrepared = 8, kCopied = 7;  // sources that are read where they are, or not
  constexpr double kLatency = 8;                // of a triple's two products in one sum
  ConvPlan plan;
  plan_paired(p, kernel, plan);
  const auto positions = static_cast<double>(plan.grid.sp), lanes = static_cast<double>(plan.block);
  const double blocks = static_cast<double>(padded_inputs(plan)) / lanes;
  const auto vectors = static_cast<double>(plan.grid.oc * kUnitBlocks);
  // Of a triple and a register tile; narrow ones wait for loads or for their own sums.
  const double width = positions / std::max(1.0, std::ceil(positions / static_cast<double>(kMaxPositions)));
  const double wait = std::max({2 * width, 3 + 1.5 * width, kLatency}) / (2 * width);
  // Two threads that share the outputs each prepare all positions.
  const double prepared =
      (plan.sources_soon ? kPrepared : kCopied) * static_cast<double>(paired_split(plan, 2).parts.oc);
  const double direct = static_cast<double>(p.ic) * vectors * kDirect;
  return direct / (blocks * (lanes * vectors * kPaired * wait + prepared) + vectors * kStored);
}

// With u = 2^-24, K channels, sources of magnitude m at most, and an output's weights scaled: its products are at most
//   N = m^2 K/3 + m (sum of the weights' magnitudes) + sum of the products of its pairs of weights,
// which is no more than m^2 K/3 + m S + S max/2, S the sum of the magnitudes, max the largest one. Each sum x + w is
// rounded, and so are what the sums begin with, and the result: kRoundings; the additions count 2 sqrt(K), as
// error_bound.cpp of conv_wino derives. Compared with m S, for the worst m in [kLeastSource, kMostSource).
double paired_amplification(const ConvProblem& p, const float* weights, int64_t outputs) noexcept {
  const auto channels = static_cast<double>(p.ic);
  double worst = 0;
  const auto add = [&](double sum, double largest) {  // of an output's magnitudes
    if (sum == 0) return;
    if (!(sum >= 0x1p-80 && sum <= 0x1p80)) worst = std::numeric_limits<double>::infinity();
    const double scale = static_cast<double>(weights_scale(sum / channels));
    worst = std::max(worst, static_cast<double>(kMostSource) * channels / 3 / (sum * scale) + 1 +
                                largest * scale / 2 / static_cast<double>(kLeastSource));
  };
  if (p.transposed) {
    constexpr int64_t kColumns = 256;
    for (int64_t o = 0; o < outputs; o += kColumns) {
      const int64_t count = std::min(kColumns, outputs - o);
      Magnitudes<kColumns> columns;
      for (int64_t i = 0; i < p.ic; ++i) columns.add(weights + i * p.oc + o, count);
      for (size_t k = 0; k < static_cast<size_t>(count); ++k)
        add(static_cast<double>(columns.sum[k]), static_cast<double>(columns.largest[k]));
    }
    return worst;
  }
  constexpr int64_t kLanes = 16;
  for (int64_t o = 0; o < outputs; ++o) {
    const float* const row = weights + o * p.ic;
    Magnitudes<kLanes> some;
    int64_t i = 0;
    for (; i + kLanes <= p.ic; i += kLanes) some.add(row + i, kLanes);
    some.add(row + i, p.ic - i);
    double sum = 0;
    for (const float lane : some.sum) sum += static_cast<double>(lane);
    add(sum, static_cast<double>(*std::max_element(some.largest.begin(), some.largest.end())));
  }
  return worst;
}

double paired_error_bound(const ConvProblem& p, double amplification) noexcept {
  constexpr double kRoundings = 8;
  return (kRoundings + 2 * std::sqrt(static_cast<double>(p.ic))) * 0x1p-24 * amplification;
}

}  // namespace terroir::cpu
