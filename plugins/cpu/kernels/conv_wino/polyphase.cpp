// What: rejection, planning, packing, cost and error bound of the kernels of polyphase.hpp. Baseline code.
// Packed: [bias][oc unit][point of the rows, by stage][point of the columns][phase of the column][phase of the row][ic]
//   [oc in unit]; padded with zeros to whole units of plan.oc_blocks blocks.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plugins/cpu/kernels/conv/plan.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_conv.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_types.hpp"

namespace terroir::cpu {

namespace avx2 {
void wino_run_polyphase(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept;
}
namespace avx512 {
void wino_run_polyphase(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept;
}

namespace {

namespace pp = polyphase;

constexpr auto kTaps = static_cast<size_t>(pp::kPhaseTaps), kPoints = static_cast<size_t>(pp::kPoints);
constexpr size_t kFinite = kPoints - 1;
constexpr double a = kWinoInner, b = kWinoOuter;
constexpr std::array<double, kFinite> kAt{0, a, -a, b, -b};

// A row of G, times the scale of its products, and the sum of the magnitudes of that row of B^T; see transforms.hpp.
struct Point {
  std::array<double, kTaps> weights;
  double input, scale;
};
using Points = std::array<Point, kPoints>;

Points points() {
  Points result{};
  for (size_t i = 0; i < kPoints; ++i) {
    Point& point = result[i];
    std::array<double, kPoints> row{1};
    double divisor = 1;
    for (size_t j = 0; j < kFinite; ++j) {
      if (j == i) continue;
      for (size_t c = kPoints - 1; c > 0; --c) row[c] = row[c - 1] - kAt[j] * row[c];
      row[0] *= -kAt[j];
      if (i < kFinite) divisor *= kAt[i] - kAt[j];
    }
    for (const double c : row) point.input += std::fabs(c);
    point.scale = i == 0 || i == kFinite ? 1 : std::fabs(kAt[i]);
    for (size_t x = 0; x < kTaps; ++x)
      point.weights[x] = i < kFinite ? std::pow(kAt[i], x) / divisor * point.scale : x + 1 == kTaps ? 1 : 0;
  }
  return result;
}

// Of one tile, per pair of channels.
int64_t products(const ConvProblem& p) { return pp::slots_of(p.h.kernel) * pp::slots_of(p.w.kernel); }

int64_t unit_outputs(const ConvPlan& plan) { return plan.oc_blocks * plan.block; }
int64_t padded_outputs(const ConvPlan& plan) { return round_up(plan.problem.oc, unit_outputs(plan)); }

// Unused where no bucket has a kernel, as the two below.
[[maybe_unused]] const char* reject(const ConvProblem& p, const ConvKernel&) noexcept {
  if (const char* why = conv::reject_malformed(p)) return why;
  if (p.transposed || p.groups != 1) return "transposed or grouped";
  if (p.ic > pp::kMaxChannels) return "more than 4 input channels";
  if (p.d.in != 1 || p.d.out != 1 || !conv::has_one_tap(p.d)) return "has depth";
  for (const ConvAxis* axis : {&p.h, &p.w}) {
    if (axis->stride != pp::kStride || axis->dilation != 1) return "stride is not 2, or dilation not 1";
    if (axis->kernel > pp::kMaxTaps || axis->kernel < pp::kMaxTaps - 2) return "kernel has not 5 to 7 taps a side";
  }
  return nullptr;
}

void plan_polyphase(const ConvProblem& p, const ConvKernel& kernel, ConvPlan& plan) noexcept {
  conv::plan_common(p, kernel, plan);
  const int64_t lanes = conv::machine(kernel.isa).lanes;
  plan.oc_blocks = pp::kUnitBlocks;
  plan.w_tile = pp::strip_tiles(lanes) * pp::kTile;
  plan.rows = pp::kTile;
  plan.chunks = ceil_div(p.w.out, plan.w_tile);
  // All units of output channels share a strip's transformed inputs.
  plan.grid = {p.batch, 1, ceil_div(p.h.out, pp::kTile) * plan.chunks};
  plan.cached_rows = plan.grid.sp;
  plan.packed_floats = static_cast<size_t>(padded_outputs(plan) * (1 + p.ic * products(p)));
  plan.scratch_floats = static_cast<size_t>(
      pp::strip_columns(lanes) + pp::rows_floats(lanes) + pp::products_floats(lanes) + pp::columns_floats(lanes) +
      pp::inputs_floats(lanes) + pp::outputs_floats(lanes) + pp::lines_floats(lanes, p.ic));
}

[[maybe_unused]] int64_t pack_polyphase_pieces(const ConvPlan& plan) noexcept {
  return padded_outputs(plan) / unit_outputs(plan);
}

// Weights of one pair of channels, to `to` on: input channels, of which there are `ic`, are `step` floats apart.
void transform_weights(const ConvProblem& p, const Points& at, const float* weights, int64_t ic, int64_t step,
                       float* to) {
  const auto tap = [&](int64_t h, int64_t w) {
    return h < p.h.kernel && w < p.w.kernel ? static_cast<double>(weights[h * p.w.kernel + w]) : 0;
  };
  const auto phases = [&](int64_t point) { return point < pp::kPoints - 1 ? 2 : 1; };
  for (int64_t k = 0; k < pp::points_of(p.h.kernel); ++k) {
    const int64_t i = pp::kStageRows[k / 2][k % 2];
    // By phase of the row and column.
    double half[2][pp::kMaxTaps + 1] = {};
    for (int64_t r = 0; r < phases(i); ++r)
      for (int64_t w = 0; w < p.w.kernel; ++w)
        for (int64_t x = 0; x < pp::kPhaseTaps; ++x)
          half[r][w] += at[static_cast<size_t>(i)].weights[static_cast<size_t>(x)] * tap(2 * x + r, w);
    for (int64_t j = 0; j < pp::points_of(p.w.kernel); ++j)
      for (int64_t s = 0; s < phases(j); ++s)
        for (int64_t r = 0; r < phases(i); ++r, to += ic * step) {
          double sum = 0;
          for (int64_t y = 0; y < pp::kPhaseTaps; ++y)
            sum += at[static_cast<size_t>(j)].weights[static_cast<size_t>(y)] * half[r][2 * y + s];
          *to = static_cast<float>(sum);
        }
  }
}

// A piece is one unit of output channels; the first one brings the bias.
[[maybe_unused]] void pack_polyphase(const ConvPlan& plan, const ConvKernel&, const ConvConstants& constants,
                                     float* packed, int64_t begin, int64_t end) noexcept {
  const ConvProblem& p = plan.exec;
  const int64_t all = padded_outputs(plan), lanes = unit_outputs(plan);
  if (begin == 0) conv::pack_bias(constants.bias, 1, p.oc, all, all, packed);
  const Points at = points();
  const int64_t taps = p.h.kernel * p.w.kernel, per_channel = p.ic * products(p);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit * lanes;
    float* const to = packed + all + first * per_channel;
    if (first + lanes > p.oc) std::fill_n(to, lanes * per_channel, 0.0f);
    for (int64_t o = 0; o < std::min(lanes, p.oc - first); ++o)
      for (int64_t i = 0; i < p.ic; ++i)
        transform_weights(p, at, constants.weights + ((first - constants.first_output + o) * p.ic + i) * taps, p.ic,
                          lanes, to + i * lanes + o);
  }
}

#define TERROIR_POLYPHASE_KERNEL(isa, layout)                                   \
  constexpr ConvKernel k_##isa{"f32_conv_winograd_3x3_7x7s2_" layout "__" #isa, \
                               Isa::isa,                                        \
                               ConvFormat::plain,                               \
                               ConvFormat::blocked,                             \
                               reject,                                          \
                               plan_polyphase,                                  \
                               "pack_polyphase",                                \
                               pack_polyphase_pieces,                           \
                               pack_polyphase,                                  \
                               isa::wino_run_polyphase};
#if TERROIR_HAVE_AVX512
TERROIR_POLYPHASE_KERNEL(avx512, "nChw16c")
#endif
#if TERROIR_HAVE_AVX2
TERROIR_POLYPHASE_KERNEL(avx2, "nChw8c")
#endif

}  // namespace

const ConvKernel* polyphase_kernel(Isa isa) noexcept {
  switch (isa) {
#if TERROIR_HAVE_AVX512
    case Isa::avx512:
      return &k_avx512;
#endif
#if TERROIR_HAVE_AVX2
    case Isa::avx2:
      return &k_avx2;
#endif
    default:
      return nullptr;
  }
}

double polyphase_products(const ConvPlan& plan) noexcept {
  const ConvProblem& p = plan.problem;
  return static_cast<double>(plan.grid.n * plan.grid.sp * plan.w_tile / pp::kTile * padded_outputs(plan) * p.ic *
                             products(p));
}

// Cycles of one core by products at two ports, and transforms per tile, measured.
double polyphase_speedup(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  // Of a tile by lanes, and of a vector of its outputs.
  constexpr double kInputCycles = 2400, kOutputCycles = 55, kOfPeak = 0.9;
  ConvPlan plan;
  plan_polyphase(p, kernel, plan);
  const auto lanes = static_cast<double>(plan.block);
  const double tiles = static_cast<double>(plan.grid.n * plan.grid.sp * plan.w_tile / pp::kTile);
  const double outputs = static_cast<double>(padded_outputs(plan)) / lanes;
  const double winograd =
      polyphase_products(plan) / lanes / 2 / kOfPeak + tiles * (outputs * kOutputCycles + kInputCycles / lanes);
  const double direct = static_cast<double>(conv_flops(p) / p.oc * round_up(p.oc, plan.block)) / lanes / 4;
  return direct / winograd;
}

// The derivation is that of error_bound.cpp, with four phases and their taps in place of one.
double polyphase_error_bound(const ConvProblem& p, const float* weights) noexcept {
  constexpr double kTransformRoundings = 32;
  const Points at = points();
  // factor[p][x] = sum over points i of |A[i][p]| beta_i |G[i][x]|.
  double factor[pp::kTile][pp::kPhaseTaps] = {};
  for (size_t i = 0; i < kPoints; ++i)
    for (size_t k = 0; k < pp::kTile; ++k)
      for (size_t x = 0; x < kTaps; ++x) {
        const double output = i < kFinite ? std::pow(std::fabs(kAt[i]), k) : k + 1 == pp::kTile ? 1 : 0;
        factor[k][x] += output / at[i].scale * at[i].input * std::fabs(at[i].weights[x]);
      }
  const int64_t taps = p.h.kernel * p.w.kernel;
  double worst = 0;
  for (int64_t o = 0; o < p.oc; ++o) {
    double sums[pp::kMaxTaps][pp::kMaxTaps] = {}, all = 0;
    for (int64_t i = 0; i < p.ic; ++i)
      for (int64_t t = 0; t < taps; ++t)
        sums[t / p.w.kernel][t % p.w.kernel] += std::fabs(static_cast<double>(weights[(o * p.ic + i) * taps + t]));
    for (const auto& row : sums)
      for (const double sum : row) all += sum;
    if (all == 0) continue;
    // Sums outside lose values to overflow, for inputs up to 2^27, or precision to underflow.
    if (!(all >= 0x1p-90 && all <= 0x1p100)) return std::numeric_limits<double>::infinity();
    for (const auto& rows : factor)
      for (const auto& columns : factor) {
        double n = 0;
        for (int64_t h = 0; h < pp::kMaxTaps; ++h)
          for (int64_t w = 0; w < pp::kMaxTaps; ++w) n += rows[h / 2] * columns[w / 2] * sums[h][w];
        worst = std::max(worst, n / all);
      }
  }
  const double summed = static_cast<double>(4 * p.ic);
  return (kTransformRoundings + 2 * std::sqrt(summed)) * 0x1p-24 * worst;
}

}  // namespace terroir::cpu
