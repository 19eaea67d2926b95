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
  if (p.transposed || p.groups != 1) return "transposed or grouped";
  if (!conv::has_one_tap(p.d) || !conv::has_one_tap(p.h) || !conv::has_one_tap(p.w))
    return "kernel is not 1x1 without padding";
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

int64_t positions_at_once(const ConvPlan& plan) {
  const int64_t bytes = plan.sources_soon ? cache_sizes().l1d * 2 / 3 : cache_sizes().l2 / 2;
  const int64_t tiles = std::max<int64_t>(1, bytes / (padded_inputs(plan) * 4 * kMaxPositions));
  return std::min(tiles * kMaxPositions, std::max(kMaxPositions, plan.grid.sp));
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
  for (int64_t i = 0; i < inputs; ++i)
    for (int64_t o = 0; o < kMostOutputs; ++o) weights[i * outputs + o] *= scale[static_cast<size_t>(o)];
  for (int64_t first = 0; first < inputs; first += 16)
    for (int64_t t = 0; t < kTriples; ++t) {
      const float* const pair = weights + (first + 3 * t) * outputs;
      for (int64_t o = 0; o < kMostOutputs; ++o) pairs[static_cast<size_t>(o)] += pair[o] * pair[outputs + o];
    }
  for (int64_t o = 0; o < outputs; ++o) starts[o] = -pairs[static_cast<size_t>(o)];
}

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
    transpose(constants.weights + (first - constants.first_output) * ic, ic, weights, outputs,
              std::min(outputs, oc - first), ic, outputs);
    std::fill_n(weights + ic * outputs, (inputs - ic) * outputs, 0.0f);
    finish_unit(inputs, outputs, starts, factors, weights);
  }
}

#if TERROIR_HAVE_AVX512
constexpr ConvKernel kAvx512{"f32_conv_1x1_paired_nChw16c__avx512",
                             Isa::avx512,
                             ConvFormat::blocked,
                             ConvFormat::blocked,
                             reject,
                             plan_paired,
                             "pack_paired",
                             conv::pack_dense_pieces,
                             pack_paired,
                             avx512::conv_paired};
#endif

}  // namespace

const ConvKernel* paired_kernel(Isa isa) noexcept {
#if TERROIR_HAVE_AVX512
  if (isa == Isa::avx512) return &kAvx512;
#endif
  static_cast<void>(isa);
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
  constexpr double kPrepared = 8, kCopied = 14;  // sources that are read where they are, or not
  constexpr double kLatency = 8;                 // of a triple's two products in one sum
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
  double worst = 0;
  for (int64_t o = 0; o < outputs; ++o) {
    constexpr size_t kSums = 16;
    std::array<float, kSums> sums{}, most{};
    const float* const row = weights + o * p.ic;
    int64_t i = 0;
    for (; i + static_cast<int64_t>(kSums) <= p.ic; i += static_cast<int64_t>(kSums))
      for (size_t k = 0; k < kSums; ++k) {
        const float magnitude = std::fabs(row[i + static_cast<int64_t>(k)]);
        sums[k] += magnitude;
        most[k] = magnitude > most[k] ? magnitude : most[k];
      }
    for (; i < p.ic; ++i) {
      sums[0] += std::fabs(row[i]);
      most[0] = std::max(most[0], std::fabs(row[i]));
    }
    double sum = 0, largest = 0;
    for (size_t k = 0; k < kSums; ++k) {
      sum += static_cast<double>(sums[k]);
      largest = std::max(largest, static_cast<double>(most[k]));
    }
    if (sum == 0) continue;
    if (!(sum >= 0x1p-80 && sum <= 0x1p80)) return std::numeric_limits<double>::infinity();
    const auto channels = static_cast<double>(p.ic);
    const double scale = static_cast<double>(weights_scale(sum / channels));
    worst = std::max(worst, static_cast<double>(kMostSource) * channels / 3 / (sum * scale) + 1 +
                                largest * scale / 2 / static_cast<double>(kLeastSource));
  }
  return worst;
}

double paired_error_bound(const ConvProblem& p, double amplification) noexcept {
  constexpr double kRoundings = 8;
  return (kRoundings + 2 * std::sqrt(static_cast<double>(p.ic))) * 0x1p-24 * amplification;
}

}  // namespace terroir::cpu
