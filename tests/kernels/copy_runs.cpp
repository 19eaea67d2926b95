// Runs of sources against the tables they stand for.
#include <gtest/gtest.h>

#include <random>

#include "plugins/cpu/kernels/copy/copy_runs.hpp"

namespace terroir::testing {
namespace {

using cpu::CopyRuns;
using cpu::kFill;

void expect_runs_of(const CopyRuns& runs, const std::vector<int64_t>& table) {
  int64_t end = 0;
  for (const cpu::CopyRun& run : runs) {
    EXPECT_EQ(run.begin, end);
    EXPECT_GT(run.count, 0);
    end += run.count;
  }
  EXPECT_EQ(cpu::sources_of(runs), table);
  for (size_t i = 0; i < table.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    EXPECT_EQ(cpu::run_at(runs, index)->at(index), table[i]) << "index " << i;
  }
}

TEST(CopyRunsTest, TablesAreCutIntoRunsAndPutTogetherAgain) {
  std::mt19937 engine(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> table;
    CopyRuns runs;
    for (unsigned part = 1 + engine() % 6; part-- > 0;) {
      const auto count = static_cast<int64_t>(engine() % 5), step = static_cast<int64_t>(engine() % 5) - 2;
      const int64_t src = engine() % 4 == 0 ? kFill : static_cast<int64_t>(engine() % 7);
      const bool at_once = engine() % 2 == 0;
      if (at_once) append_run(runs, count, src, step);
      for (int64_t i = 0; i < count; ++i) {
        table.push_back(src == kFill ? kFill : src + i * step);
        if (!at_once) append_run(runs, 1, table.back());
      }
    }
    SCOPED_TRACE(round);
    expect_runs_of(runs, table);
  }
}

TEST(CopyRunsTest, PlacesWithinAnExtent) {
  for (const int64_t count : {0, 1, 2, 7, 12})
    for (const int64_t first : {-40, -9, -3, -1, 0, 1, 4, 20})
      for (const int64_t step : {1, 2, 3, 50})
        for (const int64_t extent : {0, 1, 5, 9}) {
          std::vector<int64_t> table;
          for (int64_t i = 0; i < count; ++i) {
            const int64_t at = first + i * step;
            table.push_back(at >= 0 && at < extent ? at : kFill);
          }
          SCOPED_TRACE(::testing::Message() << count << " from " << first << " by " << step << " in " << extent);
          const CopyRuns runs = cpu::runs_within(count, first, step, extent);
          EXPECT_LE(runs.size(), 3u);
          expect_runs_of(runs, table);
        }
}

TEST(CopyRunsTest, WhatGoesOnIsOneRunOfAnyLength) {
  CopyRuns runs;
  append_run(runs, 1, 30);
  append_run(runs, int64_t{1} << 40, 34, 4);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].at(int64_t{1} << 40), 30 + (int64_t{4} << 40));
  append_run(runs, 2, 0, 4);
  append_run(runs, 5, kFill);
  append_run(runs, 5, kFill);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[2].count, 10);
  EXPECT_TRUE(has_fill(runs));
}

}  // namespace
}  // namespace terroir::testing
