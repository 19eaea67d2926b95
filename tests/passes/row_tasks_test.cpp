// Tasks of layers that pass over rows of channel blocks.
#include <gtest/gtest.h>

#include <vector>

#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {
namespace {

struct Case {
  int64_t images, planes, rows, most, threads;
};

// Each row of each plane once, and no more than `most` at once.
void expect_all_once(const Case& c) {
  const RowTasks tasks(c.images, c.planes, c.rows, c.most, c.threads);
  std::vector<int> times(static_cast<size_t>(c.images * c.planes * c.rows));
  for (int64_t task = 0; task < tasks.count(); ++task) {
    const auto [plane, begin, end] = tasks[task];
    EXPECT_LE(begin, end);
    EXPECT_LE(end - begin, c.most);
    for (int64_t row = begin; row < end; ++row) ++times[static_cast<size_t>(plane * c.rows + row)];
  }
  for (const int n : times) EXPECT_EQ(n, 1);
}

TEST(RowTasks, HaveEveryRowOfEveryPlaneOnce) {
  for (const int64_t images : {1, 2, 3})
    for (const int64_t planes : {1, 2, 5})
      for (const int64_t rows : {1, 2, 7, 13, 26, 100})
        for (const int64_t most : {1, 2, 9, 1000})
          for (const int64_t threads : {1, 2, 3, 8, 64}) {
            SCOPED_TRACE(testing::Message() << images << ' ' << planes << ' ' << rows << ' ' << most << ' ' << threads);
            expect_all_once({images, planes, rows, most, threads});
          }
  EXPECT_EQ(RowTasks(2, 3, 0, 5, 4).count(), 0);
  EXPECT_EQ(RowTasks(0, 3, 4, 5, 4).count(), 0);
}

TEST(RowTasks, GiveEachThreadItsPartOfTheRowsOfEveryPlane) {
  constexpr int64_t kPlanes = 16, kRows = 26;
  const RowTasks tasks(1, kPlanes, kRows, 39, 2);
  ASSERT_EQ(tasks.count(), 2 * kPlanes);
  for (int64_t task = 0; task < tasks.count(); ++task) {
    EXPECT_EQ(tasks[task].plane, task % kPlanes);
    EXPECT_EQ(tasks[task].begin, task < kPlanes ? 0 : kRows / 2);
    EXPECT_EQ(tasks[task].end, task < kPlanes ? kRows / 2 : kRows);
  }
}

TEST(RowTasks, GiveEachThreadItsImagesWhereThereAreEnough) {
  const RowTasks tasks(2, 16, 26, 39, 2);
  ASSERT_EQ(tasks.count(), 32);
  for (int64_t task = 0; task < tasks.count(); ++task) EXPECT_EQ(tasks[task].plane, task);
}

TEST(RowTasks, AreNotCutIntoCrumbs) {
  EXPECT_EQ(RowTasks(1, 64, 7, 73, 8).count(), 64);   // seven rows are less than an eighth of a task
  EXPECT_EQ(RowTasks(1, 64, 7, 16, 8).count(), 192);  // three parts
}

}  // namespace
}  // namespace terroir::cpu
