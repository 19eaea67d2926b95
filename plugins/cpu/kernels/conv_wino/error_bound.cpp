// What: how large the rounding errors of a Winograd convolution can get, from its weights.
// Derivation. Let u = 2^-24, K the products summed per point (input channels x kernel slices), and inputs in [-1, 1].
//   Transformed inputs are at most beta_i beta_j, beta_i the sum of row i of |B^T|; transformed weights U = G g G^T
//   satisfy, summed over the channels and kernel slices of one output channel, sum |U| <= |G| S |G|^T elementwise with
//   S[x][y] = sum |g[x][y]|. A rounding of relative size u anywhere before the output transform reaches output (p,q)
//   as at most u N[p][q],
//     N[p][q] = sum over i,j of |A[i][p]| |A[j][q]| beta_i beta_j (|G| S |G|^T)[i][j],
//   once for every rounding on the way of a value: kTransformRoundings in the three transforms (each two-dimensional,
//   constants and bias included), and K for the sum. The worst case K for the sum needs all roundings to go one way;
//   they are nearly independent, and then, with the probability of at least 0.995 that lambda = 3.5 gives, the sum
//   counts lambda sqrt(K/3): the sqrt by Higham and Mary, the 3 because partial sums grow to their end value. So
//     |error| <= (kTransformRoundings + 2 sqrt(K)) u max N,
//   compared with the largest output that such inputs can give, the sum of S. (The same account for a direct
//   convolution has N = sum of S.) The ratio N : sum of S depends on where the weights of a kernel lie: for F(4,3) it
//   is 16 to 163, for F(2,3) at most 16, and with stride 2 at most 95 and 9.
//   Of kernels cut into segments, S is summed over these, and K counts them. Transposed, each phase has an S of its
//   own. At stride 2 the points i are the products of the sums (transforms.hpp), up to four of which per pair of
//   channels are summed at once: 4 K in the place of K.
// Source: N. J. Higham and T. Mary, A New Approach to Probabilistic Rounding Error Analysis (2019).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/kernels/conv_wino/error_factors.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_spans.hpp"

namespace terroir::cpu {
namespace {

constexpr double kTransformRoundings = 32;
// Sums outside lose values to overflow, for inputs up to 2^27, or precision to underflow.
constexpr float kLargest = 0x1p100f, kSmallest = 0x1p-90f;

constexpr size_t kTaps = 9;
using Taps = std::array<float, kTaps>;

// Sums of |weights| by tap of a segment, of `height` x `width` kernels that are not 3x3.
Taps segment_sums(const float* weights, int64_t kernels, int64_t height, int64_t width) {
  Taps result{};
  for (; kernels > 0; --kernels)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) result[static_cast<size_t>(y % 3 * 3 + x % 3)] += std::fabs(*weights++);
  return result;
}

// Sums of |weights| by tap.
Taps tap_sums(const float* weights, int64_t kernels) {
  // Several independent sums per tap, so that they vectorise.
  constexpr int64_t kRepeats = 4;
  std::array<float, kTaps * kRepeats> sums{};
  int64_t k = 0;
  for (; k + kRepeats <= kernels; k += kRepeats, weights += sums.size())
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += std::fabs(weights[i]);
  for (; k < kernels; ++k, weights += kTaps)
    for (size_t i = 0; i < kTaps; ++i) sums[i] += std::fabs(weights[i]);
  for (size_t i = kTaps; i < sums.size(); ++i) sums[i % kTaps] += sums[i];
  Taps result{};
  for (size_t i = 0; i < kTaps; ++i) result[i] = sums[i];
  return result;
}

// Likewise of a transposed convolution's output channel, in one phase, from its sums by tap of the kernel.
Taps phase_sums(const WinoTaps2d& some, const float* sums) {
  Taps result{};
  for (size_t t = 0; t < kTaps; ++t) {
    const auto y = static_cast<int64_t>(t / 3), x = static_cast<int64_t>(t % 3);
    if (some.rows.has(y) && some.columns.has(x))
      result[t] = sums[some.rows.at(y) * some.columns.kernel + some.columns.at(x)];
  }
  return result;
}

using wino::Factors;

// The largest N by the sum of S.
double amplification_of(const Factors& factors, const Taps& taps) {
  float sum = 0;
  for (float tap : taps) sum += tap;
  if (sum == 0) return 0;
  if (!(sum >= kSmallest && sum <= kLargest)) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (int64_t p = 0; p < factors.tile; ++p)
    for (int64_t q = 0; q < factors.tile; ++q) {
      double n = 0;
      for (size_t x = 0; x < 3; ++x)
        for (size_t y = 0; y < 3; ++y)
          n += factors.factor[p][x] * factors.factor[q][y] * static_cast<double>(taps[x * 3 + y]);
      largest = std::max(largest, n);
    }
  return largest / static_cast<double>(sum);
}

// The points `at` and infinity, for kernels of `taps` taps; x is `step` times the tap.
Factors factors_of(int64_t tile, std::span<const double> at, size_t taps, size_t step) {
  Factors result{tile, {}};
  for (size_t i = 0; i <= at.size(); ++i) {
    const bool finite = i < at.size();
    // Row i of B^T: the product of (x - at[j]) over j != i; infinity takes all.
    std::array<double, 6> row{1};
    size_t degree = 0;
    double scale = 1;
    for (size_t j = 0; j < at.size(); ++j) {
      if (j == i) continue;
      ++degree;
      for (size_t c = degree; c > 0; --c) row[c] = row[c - 1] - at[j] * row[c];
      row[0] *= -at[j];
      if (finite) scale *= at[i] - at[j];
    }
    double beta = 0;
    for (double c : row) beta += std::fabs(c);
    for (size_t p = 0; p < static_cast<size_t>(tile); ++p)
      for (size_t x = 0; x < taps; ++x) {
        const double output = finite ? std::pow(at[i], p) : p + 1 == static_cast<size_t>(tile) ? 1 : 0;
        const double weight = finite ? std::pow(at[i], x) / scale : x + 1 == taps ? 1 : 0;
        result.factor[p][x * step] += std::fabs(output) * beta * std::fabs(weight);
      }
  }
  return result;
}

Factors factors_of(int64_t tile) {
  constexpr double kTwo[] = {0, 1, -1};
  return tile == 4 ? wino::five_point_factors(4, 3) : factors_of(2, kTwo, 3, 1);
}

// Weights of several output channels lie side by side, those of an input channel behind those of another.
double transposed_amplification(const ConvProblem& p, const Factors& factors, const float* weights, int64_t outputs) {
  const int64_t phases = p.h.stride * p.w.stride, taps = p.h.kernel * p.w.kernel;
  std::array<float, 2048> sums;
  const int64_t at_once = static_cast<int64_t>(sums.size()) / taps;
  double worst = 0;
  for (int64_t first = 0; first < outputs; first += at_once) {
    const int64_t count = std::min(at_once, outputs - first);
    sums.fill(0);
    for (int64_t i = 0; i < p.ic; ++i) {
      const float* const row = weights + (i * p.oc + first) * taps;
      for (int64_t t = 0; t < count * taps; ++t) sums[static_cast<size_t>(t)] += std::fabs(row[t]);
    }
    for (int64_t o = 0; o < count; ++o)
      for (int64_t phase = 0; phase < phases; ++phase)
        worst = std::max(worst, amplification_of(factors, phase_sums(taps_of(p, 0, phase), sums.data() + o * taps)));
  }
  return worst;
}

// For two outputs, A, B and C of transforms.hpp; for four, even inputs are F(4,2), and the odd one of an output is in
// four sums.
Factors strided_factors_of(int64_t tile) {
  if (tile == 2) return {2, {{3, 1, 1}, {1, 1, 3}}};
  constexpr double a = kWinoStridedPair, a2 = a * a, kPoints[] = {0, a, -a, kWinoStridedSingle};
  Factors result = factors_of(4, kPoints, 2, 2);
  constexpr double at_zero = 1 + 1 / a2, at_pair = 1 / (2 * a2) + 1 / (2 * a), at_infinity = 1 + a2;
  for (size_t p = 0; p < 4; ++p)
    result.factor[p][1] = 2 * at_pair * std::pow(a, p) + (p == 0 ? at_zero : p == 3 ? at_infinity : 0);
  return result;
}

}  // namespace

Factors wino::five_point_factors(int64_t outputs, size_t taps) {
  constexpr double a = kWinoInner, b = kWinoOuter, kFour[] = {0, a, -a, b, -b};
  return factors_of(outputs, kFour, taps, 1);
}

double wino_amplification(const ConvProblem& problem, int64_t tile, const float* weights, int64_t outputs) noexcept {
  const Factors factors = wino_stride(problem) != 1 ? strided_factors_of(tile) : factors_of(tile);
  if (problem.transposed) return transposed_amplification(problem, factors, weights, outputs);
  double worst = 0;
  const int64_t kernels = problem.ic / problem.groups * problem.d.kernel, size = problem.h.kernel * problem.w.kernel;
  for (int64_t o = 0; o < outputs; ++o) {
    const float* const own = weights + o * kernels * size;
    const Taps taps = size == static_cast<int64_t>(kTaps) && problem.h.kernel == 3
                          ? tap_sums(own, kernels)
                          : segment_sums(own, kernels, problem.h.kernel, problem.w.kernel);
    worst = std::max(worst, amplification_of(factors, taps));
  }
  return worst;
}

double wino_error_bound(const ConvProblem& problem, double amplification) noexcept {
  const int64_t kernels = problem.ic / problem.groups * problem.d.kernel;
  const int64_t segments = problem.transposed ? 1 : ((problem.h.kernel + 2) / 3) * ((problem.w.kernel + 2) / 3);
  const int64_t summed = wino_stride(problem) != 1 ? 4 * kernels : kernels * segments;
  return (kTransformRoundings + 2 * std::sqrt(static_cast<double>(summed))) * 0x1p-24 * amplification;
}

double wino_error_bound(const ConvProblem& problem, int64_t tile, const float* weights) noexcept {
  return wino_error_bound(problem, wino_amplification(problem, tile, weights, problem.oc));
}

}  // namespace terroir::cpu
