// What: rejection, planning, packing, cost and error bound of the kernels of polyphase_2x2.hpp. Baseline code.
// Packed: [bias][oc unit], then by group of slots of the rows (see kGroups)
//   [slot of the row][ic][oc in unit] of x2, then for the first and the last output of a row
//   [slot of the row][ic][slot of the column][oc in unit]; padded with zeros to whole blocks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/cpu/kernels/conv/plan.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_2x2_types.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_conv.hpp"

namespace terroir::cpu {

namespace avx512 {
void wino_run_polyphase_2x2(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept;
}

namespace {

namespace p2 = polyphase_2x2;

constexpr int64_t kTaps2 = p2::kTaps * p2::kTaps, kProducts = p2::kSlots * p2::kSlots;

// What each slot is multiplied with: of taps 0, 1, 2. The sources are x0-x2, x1, x2, x3, x2-x4 of rows; of columns
// x2-x4 comes before x3.
constexpr int kRowWeights[p2::kSlots][p2::kTaps] = {{1, 0, 0}, {0, 1, 0}, {1, 0, 1}, {0, 1, 0}, {0, 0, -1}};
constexpr int kBothWeights[p2::kTaps] = {1, 0, 1};
constexpr int kSideWeights[2][2][p2::kTaps] = {{{1, 0, 0}, {0, 1, 0}}, {{0, 0, -1}, {0, 1, 0}}};

int64_t blocks_of(const ConvPlan& plan) { return ceil_div(plan.problem.oc, plan.block); }
int64_t unit_outputs(const ConvPlan& plan) { return p2::unit_blocks(blocks_of(plan)) * plan.block; }

// Unused where no bucket has a kernel, as the two below.
[[maybe_unused]] const char* reject(const ConvProblem& p, const ConvKernel&) noexcept {
  if (const char* why = conv::reject_malformed(p)) return why;
  if (p.transposed || p.groups != 1) return "transposed or grouped";
  if (p.ic > p2::kMaxChannels) return "more than 4 input channels";
  if (p.d.in != 1 || p.d.out != 1 || !conv::has_one_tap(p.d)) return "has depth";
  for (const ConvAxis* axis : {&p.h, &p.w})
    if (axis->kernel != p2::kTaps || axis->stride != p2::kStride || axis->dilation != 1)
      return "kernel is not 3x3 with stride 2";
  return nullptr;
}

void plan_polyphase_2x2(const ConvProblem& p, const ConvKernel& kernel, ConvPlan& plan) noexcept {
  conv::plan_common(p, kernel, plan);
  // All channels share a strip's transformed inputs.
  plan.oc_blocks = blocks_of(plan);
  plan.w_tile = p2::strip_tiles(p2::unit_blocks(plan.oc_blocks)) * p2::kTile;
  plan.rows = p2::kTile;
  plan.chunks = ceil_div(p.w.out, plan.w_tile);
  plan.grid = {p.batch, 1, ceil_div(p.h.out, plan.rows) * plan.chunks};
  plan.cached_rows = plan.grid.sp;
  plan.packed_floats = static_cast<size_t>(plan.oc_blocks * plan.block * (1 + p.ic * kProducts));
}

[[maybe_unused]] int64_t pack_polyphase_2x2_pieces(const ConvPlan& plan) noexcept {
  return blocks_of(plan) * plan.block / unit_outputs(plan);
}

// A piece is one unit of output channels; the first one brings the bias.
[[maybe_unused]] void pack_polyphase_2x2(const ConvPlan& plan, const ConvKernel&, const ConvConstants& constants,
                                         float* packed, int64_t begin, int64_t end) noexcept {
  const ConvProblem& p = plan.exec;
  const int64_t all = blocks_of(plan) * plan.block, lanes = unit_outputs(plan);
  if (begin == 0) conv::pack_bias(constants.bias, 1, p.oc, all, all, packed);
  float* to = packed + all + begin * lanes * p.ic * kProducts;
  for (int64_t first = begin * lanes; first < end * lanes; first += lanes) {
    const auto put = [&](const int(&row)[p2::kTaps], int64_t i, const int(&column)[p2::kTaps]) {
      for (int64_t o = first; o < first + lanes; ++o) {
        double sum = 0;
        for (int64_t t = 0; o < p.oc && t < kTaps2; ++t)
          sum += row[t / p2::kTaps] * column[t % p2::kTaps] *
                 static_cast<double>(constants.weights[((o - constants.first_output) * p.ic + i) * kTaps2 + t]);
        *to++ = static_cast<float>(sum);
      }
    };
    for (int g = 0; g < p2::kGroups; ++g) {
      const int64_t slot = p2::kFirstSlot[g], slots = p2::kGroupSlots[g];
      for (int64_t r = slot; r < slot + slots; ++r)
        for (int64_t i = 0; i < p.ic; ++i) put(kRowWeights[r], i, kBothWeights);
      for (const auto& side : kSideWeights)
        for (int64_t r = slot; r < slot + slots; ++r)
          for (int64_t i = 0; i < p.ic; ++i)
            for (const auto& column : side) put(kRowWeights[r], i, column);
    }
  }
}

#if TERROIR_HAVE_AVX512
constexpr ConvKernel kAvx512{"f32_conv_winograd_first_2x2_3x3s2_nChw16c__avx512",
                             Isa::avx512,
                             ConvFormat::plain,
                             ConvFormat::blocked,
                             reject,
                             plan_polyphase_2x2,
                             "pack_polyphase_2x2",
                             pack_polyphase_2x2_pieces,
                             pack_polyphase_2x2,
                             avx512::wino_run_polyphase_2x2};
#endif

}  // namespace

const ConvKernel* polyphase_2x2_kernel([[maybe_unused]] Isa isa) noexcept {
#if TERROIR_HAVE_AVX512
  if (isa == Isa::avx512) return &kAvx512;
#endif
  return nullptr;
}

double polyphase_2x2_products(const ConvPlan& plan) noexcept {
  const ConvProblem& p = plan.problem;
  return static_cast<double>(plan.grid.n * plan.grid.sp * plan.w_tile / p2::kTile * plan.oc_blocks * plan.block * p.ic *
                             kProducts);
}

// Cycles of one core: products at two ports, transforms by the vectors they store, outputs beside their products;
// measured.
double polyphase_2x2_speedup(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  constexpr double kOfPeak = 0.88, kDirectOfPeak = 0.9, kStoredCycles = 1.5, kOutputCycles = 0.8;
  ConvPlan plan;
  plan_polyphase_2x2(p, kernel, plan);
  const auto lanes = static_cast<double>(plan.block);
  const int64_t strips = plan.grid.n * plan.grid.sp;
  const auto outputs = static_cast<double>(strips * plan.w_tile * plan.rows * plan.oc_blocks);
  const auto stored = static_cast<double>(strips * p.ic * p2::kSlots * (plan.w_tile * 5 / 2)) / lanes;
  const double winograd =
      polyphase_2x2_products(plan) / lanes / 2 / kOfPeak + stored * kStoredCycles + outputs * kOutputCycles;
  const double direct =
      static_cast<double>(conv_flops(p) / p.oc * round_up(p.oc, plan.block)) / lanes / 4 / kDirectOfPeak;
  return direct / winograd;
}

// The derivation is that of error_bound.cpp: a product of weights and of the differences they meet, for each output and
// tap, by the sums it is part of.
double polyphase_2x2_error_bound(const ConvProblem& p, const float* weights) noexcept {
  constexpr double kTransformRoundings = 12;
  constexpr double kFactor[p2::kTile][p2::kTaps] = {{3, 1, 1}, {1, 1, 3}};
  double worst = 0;
  for (int64_t o = 0; o < p.oc; ++o) {
    double sums[kTaps2] = {}, all = 0;
    for (int64_t i = 0; i < p.ic * kTaps2; ++i)
      sums[i % kTaps2] += std::fabs(static_cast<double>(weights[o * p.ic * kTaps2 + i]));
    for (const double sum : sums) all += sum;
    if (all == 0) continue;
    // Sums outside lose values to overflow, for inputs up to 2^27, or precision to underflow.
    if (!(all >= 0x1p-90 && all <= 0x1p100)) return std::numeric_limits<double>::infinity();
    for (const auto& rows : kFactor)
      for (const auto& columns : kFactor) {
        double n = 0;
        for (int64_t t = 0; t < kTaps2; ++t) n += rows[t / p2::kTaps] * columns[t % p2::kTaps] * sums[t];
        worst = std::max(worst, n / all);
      }
  }
  return (kTransformRoundings + 2 * std::sqrt(static_cast<double>(kTaps2 * p.ic))) * 0x1p-24 * worst;
}

}  // namespace terroir::cpu
