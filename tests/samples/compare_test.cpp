// What counts as slower.
#include "samples/benchmark_app/compare.hpp"

#include <gtest/gtest.h>

namespace benchmark_app {
namespace {

constexpr double kThreshold = 0.03;
constexpr Cost kOld{10, {9.9, 10.1}};

Cost around(double middle, double half) { return {middle, {middle - half, middle + half}}; }

TEST(Judge, WantsRangesThatDoNotTouch) {
  EXPECT_EQ(judge(kOld, around(11, 0.5), kThreshold, 1).verdict, Verdict::slower);
  EXPECT_EQ(judge(kOld, around(11, 0.9), kThreshold, 1).verdict, Verdict::same);
  EXPECT_EQ(judge(kOld, around(9, 0.5), kThreshold, 1).verdict, Verdict::faster);
  EXPECT_EQ(judge(kOld, around(9, 0.9), kThreshold, 1).verdict, Verdict::same);
  EXPECT_EQ(judge(kOld, kOld, 0, 1).verdict, Verdict::same);
  EXPECT_DOUBLE_EQ(judge(kOld, around(11, 0.5), kThreshold, 1).ratio, 1.1);
}

TEST(Judge, WantsMoreThanTheThreshold) {
  EXPECT_EQ(judge(kOld, around(10.25, 0.01), kThreshold, 1).verdict, Verdict::same);
  EXPECT_EQ(judge(kOld, around(10.25, 0.01), 0.02, 1).verdict, Verdict::slower);
  EXPECT_EQ(judge(kOld, around(9.75, 0.01), kThreshold, 1).verdict, Verdict::same);
  EXPECT_EQ(judge(kOld, around(9.75, 0.01), 0.02, 1).verdict, Verdict::faster);
}

TEST(Judge, LeavesOutWhatTheMachineExplains) {
  // A machine 1.2 times slower explains 12 ms, but not 13, and no gain.
  EXPECT_EQ(judge(kOld, around(12, 0.1), kThreshold, 1.2).verdict, Verdict::same);
  EXPECT_EQ(judge(kOld, around(13, 0.1), kThreshold, 1.2).verdict, Verdict::slower);
  EXPECT_EQ(judge(kOld, around(9, 0.1), kThreshold, 1.2).verdict, Verdict::faster);
  // A faster one explains a gain, but no loss.
  EXPECT_EQ(judge(kOld, around(8.4, 0.1), kThreshold, 1 / 1.2).verdict, Verdict::same);
  EXPECT_EQ(judge(kOld, around(7.5, 0.1), kThreshold, 1 / 1.2).verdict, Verdict::faster);
  EXPECT_EQ(judge(kOld, around(11, 0.1), kThreshold, 1 / 1.2).verdict, Verdict::slower);
}

TEST(Compare, TellsModelsThatAreOnlyOnOneSide) {
  const RunRecord run{kOld, 100, std::nullopt, {}, ""};
  const Comparison gone = compare({{"a", run}, {"b", run}}, {{"a", run}}, kThreshold);
  EXPECT_TRUE(gone.is_worse);
  const Comparison added = compare({{"a", run}}, {{"a", run}, {"b", run}}, kThreshold);
  EXPECT_FALSE(added.is_worse);
  ASSERT_EQ(added.lines.size(), 3u);
  EXPECT_EQ(added.lines[1], "new     b: only in the new reports");
}

TEST(Compare, TellsFailures) {
  const RunRecord run{kOld, 100, std::nullopt, {}, ""};
  const RunRecord failed{kOld, 0, std::nullopt, {}, "no memory"};
  EXPECT_TRUE(compare({{"a", run}}, {{"a", failed}}, kThreshold).is_worse);
  EXPECT_FALSE(compare({{"a", failed}}, {{"a", failed}}, kThreshold).is_worse);
  EXPECT_FALSE(compare({{"a", failed}}, {{"a", run}}, kThreshold).is_worse);
  const Comparison early = compare({{"a.xml on CPU", run}}, {{"a.xml", failed}}, kThreshold);
  EXPECT_TRUE(early.is_worse);
  EXPECT_EQ(early.lines.front(), "FAILED  a.xml on CPU: no memory");
}

TEST(Compare, NamesLayersThatMoved) {
  RunRecord before{kOld, 100, std::nullopt, {}, ""};
  before.layers["conv"] = {"Convolution", "fast", around(3, 0.05)};
  before.layers["tiny"] = {"Relu", "relu", around(0.001, 0.0001)};
  before.layers["same"] = {"Relu", "relu", around(1, 0.2)};
  RunRecord after = before;
  after.layers["conv"] = {"Convolution", "slow", around(5, 0.05)};
  after.layers["tiny"].cost = around(0.01, 0.0001);
  after.layers["same"].cost = around(1.2, 0.2);
  const Comparison comparison = compare({{"a", before}}, {{"a", after}}, kThreshold);
  ASSERT_EQ(comparison.lines.size(), 3u);
  EXPECT_EQ(comparison.lines[1], "    SLOWER +2.000 ms (x1.67)  Convolution 'conv', was fast, is slow");
  EXPECT_FALSE(comparison.is_worse);  // the model is not
}

}  // namespace
}  // namespace benchmark_app
