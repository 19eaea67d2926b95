// Percentiles, the interval of the median, drift.
#include "samples/benchmark_app/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace benchmark_app {
namespace {

TEST(Percentile, IsTheSmallestValueThatEnoughDoNotExceed) {
  const std::vector<double> ten{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(percentile_of(ten, 50), 5.5);
  EXPECT_EQ(percentile_of({3}, 50), 3);
  EXPECT_EQ(percentile_of({1, 2, 9}, 50), 2);
  EXPECT_EQ(percentile_of(ten, 90), 9);
  EXPECT_EQ(percentile_of(ten, 91), 10);
  EXPECT_EQ(percentile_of(ten, 1), 1);
  EXPECT_EQ(percentile_of(ten, 100), 10);
}

TEST(MedianInterval, NeedsSixValues) {
  EXPECT_FALSE(median_interval({1, 2, 3, 4, 5}));
  const auto interval = median_interval({1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 1);
  EXPECT_EQ(interval->high, 6);
}

/// How often the interval of `count` values of a process with median 0 holds it.
double coverage(size_t count, double correlation) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> noise;
  constexpr int kTrials = 1000;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(count);
    double state = noise(engine) / std::sqrt(1 - correlation * correlation);
    for (double& value : values) value = state = correlation * state + noise(engine);
    const auto interval = median_interval(values);
    held += interval->low <= 0 && 0 <= interval->high ? 1 : 0;
  }
  return static_cast<double>(held) / kTrials;
}

TEST(MedianInterval, HoldsTheMedianOfIndependentValues) {
  for (const size_t count : {6u, 7u, 20u, 101u, 1000u}) EXPECT_GE(coverage(count, 0), 0.94) << count;
  EXPECT_LE(coverage(1000, 0), 0.995);  // and is not needlessly wide
}

TEST(MedianInterval, IsWiderWhenNeighboursResembleEachOther) {
  // As if independent, it would be held in about 65 %.
  EXPECT_GE(coverage(1000, 0.7), 0.9);
}

TEST(Statistics, AreThoseOfTheValues) {
  std::vector<double> values(100);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((37 * i) % 100);
  const Statistics s = statistics_of(values, 75);
  EXPECT_EQ(s.min, 0);
  EXPECT_EQ(s.max, 99);
  EXPECT_EQ(s.median, 49.5);
  EXPECT_EQ(s.average, 49.5);
  EXPECT_EQ(s.chosen, 74);
  EXPECT_EQ(s.p99, 98);
}

TEST(Statistics, DriftIsTheLastQuarterByTheFirst) {
  std::vector<double> values(40, 2.0);
  std::fill(values.begin() + 30, values.end(), 3.0);
  EXPECT_EQ(statistics_of(values, 50).drift, 1.5);
  EXPECT_FALSE(statistics_of({1, 2, 3}, 50).drift);
}

}  // namespace
}  // namespace benchmark_app
