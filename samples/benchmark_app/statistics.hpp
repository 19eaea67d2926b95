// Statistics of latencies.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace benchmark_app {

struct Interval {
  double low, high;
};

struct Statistics {
  double median = 0, average = 0, min = 0, max = 0, p90 = 0, p95 = 0, p99 = 0;
  double chosen = 0;  // the percentile of --latency_percentile
  unsigned percentile = 50;
  std::optional<Interval> median_interval;  // 95 % confidence
  std::optional<double> drift;              // median of the last quarter by that of the first; none for short runs
};

/// The smallest value that at least `percent` % of the values do not exceed; for 50 the middle, or the mean of the two
/// in the middle. `sorted` is not empty.
double percentile_of(const std::vector<double>& sorted, double percent);

/// An interval that holds the median of the process with 95 % confidence, between two of the values; none for fewer
/// than 6 values. Neighbouring latencies resemble each other (clock, caches, other programs), so the values do not
/// count as independent: the variance of the share of values below the median comes from the means of consecutive
/// batches. Source: Heidelberger and Lewis, "Quantile estimation in dependent sequences", Operations Research 32
/// (1984); the quantile of Student's distribution to first order, Abramowitz and Stegun 26.7.5.
std::optional<Interval> median_interval(const std::vector<double>& in_order);

/// Of latencies in the order of their ends, at least one.
Statistics statistics_of(const std::vector<double>& latencies, unsigned percentile);

/// "   Median:           1.23 ms" ..., the lines that follow "Latency:".
void print_latency(const Statistics& statistics);

}  // namespace benchmark_app
