#include "benchmark_app/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

#include "common/report.hpp"

namespace benchmark_app {
namespace {

constexpr size_t kLeastForInterval = 6;  // below, even minimum and maximum hold the median with less than 95 %
constexpr size_t kLeastForDrift = 20;

/// Half the width of a 95 % interval in standard errors, for a variance estimated with these degrees of freedom.
double student_quantile(double degrees) {
  constexpr double kNormal = 1.959964;
  return kNormal + (kNormal * kNormal * kNormal + kNormal) / (4 * degrees);
}

/// Standard error of the mean of 0/1 values, from the means of about sqrt(n) consecutive batches, and its degrees of
/// freedom.
std::pair<double, double> batched_error(const std::vector<char>& flags) {
  const size_t n = flags.size();
  const size_t batches = std::clamp<size_t>(static_cast<size_t>(std::sqrt(static_cast<double>(n))), 2, 40);
  double sum = 0, squares = 0;
  for (size_t b = 0; b < batches; ++b) {
    const size_t begin = n * b / batches, end = n * (b + 1) / batches;
    double mean = 0;
    for (size_t i = begin; i < end; ++i) mean += flags[i];
    mean /= static_cast<double>(end - begin);
    sum += mean;
    squares += mean * mean;
  }
  const double count = static_cast<double>(batches);
  const double variance = std::max(0.0, (squares - sum * sum / count) / (count - 1));
  return {std::sqrt(variance / count), count - 1};
}

}  // namespace

double percentile_of(const std::vector<double>& sorted, double percent) {
  const size_t n = sorted.size();
  if (percent == 50) return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  const double rank = std::ceil(percent / 100 * static_cast<double>(n));
  return sorted[static_cast<size_t>(std::clamp(rank, 1.0, static_cast<double>(n))) - 1];
}

std::optional<Interval> median_interval(const std::vector<double>& in_order) {
  const size_t n = in_order.size();
  if (n < kLeastForInterval) return std::nullopt;
  std::vector<double> sorted = in_order;
  std::sort(sorted.begin(), sorted.end());
  const double median = percentile_of(sorted, 50);
  std::vector<char> below(n);
  for (size_t i = 0; i < n; ++i) below[i] = in_order[i] < median ? 1 : 0;
  const double independent = 0.5 / std::sqrt(static_cast<double>(n));
  const auto [error, degrees] = batched_error(below);
  // Never narrower than for independent values, whose error is known and not estimated.
  const double half = std::max(student_quantile(1e9) * independent, student_quantile(degrees) * error);
  const auto at = [&](double rank) {
    return sorted[static_cast<size_t>(std::clamp(rank, 0.0, static_cast<double>(n - 1)))];
  };
  return Interval{at(std::floor((0.5 - half) * static_cast<double>(n))),
                  at(std::ceil((0.5 + half) * static_cast<double>(n)))};
}

Statistics statistics_of(const std::vector<double>& latencies, unsigned percentile) {
  std::vector<double> sorted = latencies;
  std::sort(sorted.begin(), sorted.end());
  Statistics s;
  s.median = percentile_of(sorted, 50);
  s.average = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  s.min = sorted.front();
  s.max = sorted.back();
  s.p90 = percentile_of(sorted, 90);
  s.p95 = percentile_of(sorted, 95);
  s.p99 = percentile_of(sorted, 99);
  s.percentile = percentile;
  s.chosen = percentile_of(sorted, percentile);
  s.median_interval = median_interval(latencies);
  if (latencies.size() >= kLeastForDrift) {
    const auto quarter = static_cast<std::ptrdiff_t>(latencies.size() / 4);
    std::vector<double> first(latencies.begin(), latencies.begin() + quarter);
    std::vector<double> last(latencies.end() - quarter, latencies.end());
    std::sort(first.begin(), first.end());
    std::sort(last.begin(), last.end());
    s.drift = percentile_of(last, 50) / percentile_of(first, 50);
  }
  return s;
}

void print_latency(const Statistics& s) {
  using samples::info;
  const std::string first =
      s.percentile == 50 ? "Median:           " : std::to_string(s.percentile) + " percentile:     ";
  info() << "   " << first << s.chosen << " ms\n";
  info() << "   Average:          " << s.average << " ms\n";
  info() << "   Min:              " << s.min << " ms\n";
  info() << "   Max:              " << s.max << " ms\n";
}

}  // namespace benchmark_app
