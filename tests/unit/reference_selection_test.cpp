// The helpers that references of selecting ops share, each against the obvious way to do its work.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "ops/reference/detection/best_first.hpp"
#include "ops/reference/detection/kept_boxes.hpp"
#include "ops/reference/generation/random.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/reference/sort/search.hpp"

namespace terroir::ops::reference {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> few_different(size_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(engine() % 11) - 5;
  return values;
}

TEST(BestFirst, IsAStableSort) {
  for (const size_t count : {0, 1, 2, 17, 131}) {
    const std::vector<float> scores = few_different(count, 1);
    std::vector<int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
    });
    EXPECT_EQ(best_first(scores), order);
    for (const size_t most : {0, 1, 5, 16, 130, 500}) {
      const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, count));
      EXPECT_EQ(best_first(scores, static_cast<int64_t>(most)), std::vector<int64_t>(order.begin(), end)) << most;
    }
  }
  EXPECT_EQ(best_first(std::vector<float>{kNaN, 1, kNaN, 2}), (std::vector<int64_t>{3, 1, 0, 2}));
}

using Box = SizedBox<float>;

float overlap(const Box& a, const Box& b) {
  const float width = std::max(std::min(a.x1, b.x1) - std::max(a.x0, b.x0), 0.0f);
  const float height = std::max(std::min(a.y1, b.y1) - std::max(a.y0, b.y0), 0.0f);
  return width * height / (a.area + b.area - width * height);
}

std::vector<Box> random_boxes(size_t count) {
  std::mt19937 engine(2);
  std::uniform_real_distribution<float> place(0, 20), size(1, 6);
  std::vector<Box> boxes;
  for (size_t i = 0; i < count; ++i) {
    const float x = place(engine), y = place(engine), w = size(engine), h = size(engine);
    boxes.push_back({x, y, x + w, y + h, w * h});
  }
  return boxes;
}

TEST(KeptBoxes, AnyAboveLooksAtEachKeptBoxOnce) {
  const std::vector<Box> boxes = random_boxes(60);
  KeptBoxes<float> kept;
  for (size_t count = 0; count < boxes.size(); ++count) {
    EXPECT_EQ(kept.size(), static_cast<int64_t>(count));
    for (size_t first = 0; first <= count; ++first)
      for (const float threshold : {-0.5f, 0.0f, 0.3f}) {
        const Box& candidate = boxes[(count * 7 + first) % boxes.size()];
        const bool want = std::any_of(boxes.begin() + static_cast<std::ptrdiff_t>(first),
                                      boxes.begin() + static_cast<std::ptrdiff_t>(count),
                                      [&](const Box& box) { return overlap(candidate, box) > threshold; });
        ASSERT_EQ(kept.any_above(candidate, threshold, overlap, static_cast<int64_t>(first)), want)
            << count << " from " << first << " above " << threshold;
      }
    kept.add(boxes[count]);
  }
}

TEST(KeptBoxes, SuppressionIsGreedy) {
  for (const size_t count : {0, 1, 127, 128, 129, 700}) {
    const std::vector<Box> boxes = random_boxes(count);
    for (const float eta : {1.0f, 0.9f})
      for (const int64_t most : {int64_t{0}, int64_t{1}, int64_t{40}, INT64_MAX}) {
        std::vector<int64_t> want;
        float threshold = 0.7f;
        for (size_t i = 0; i < count && static_cast<int64_t>(want.size()) < most; ++i) {
          const bool dropped = std::any_of(want.begin(), want.end(), [&](int64_t other) {
            return overlap(boxes[i], boxes[static_cast<size_t>(other)]) > threshold;
          });
          if (dropped) continue;
          want.push_back(static_cast<int64_t>(i));
          if (eta < 1 && threshold > 0.5f) threshold *= eta;
        }
        EXPECT_EQ(suppressed(boxes, most, {0.7f, eta}, overlap), want) << count << " boxes, eta " << eta;
      }
  }
}

TEST(SearchSorted, PositionsAreThoseOfTheStandardLibrary) {
  for (const size_t length : {0, 1, 2, 3, 7, 8, 9, 100}) {
    std::vector<float> sequence = few_different(length, 3);
    std::sort(sequence.begin(), sequence.end());
    std::vector<float> values = few_different(67, 4);
    values.insert(values.end(), {-9.0f, 9.0f, -0.0f, 0.5f, kNaN});
    for (const bool after_equal : {false, true}) {
      std::vector<int64_t> found(values.size(), -1);
      const ir::Dims dims{static_cast<int64_t>(values.size())};
      search_sorted({element::f32, {static_cast<int64_t>(length)}, sequence.data()},
                    {element::f32, dims, values.data()}, after_equal, {element::i64, dims, found.data()});
      for (size_t i = 0; i < values.size(); ++i) {
        const auto want = after_equal ? std::upper_bound(sequence.begin(), sequence.end(), values[i])
                                      : std::lower_bound(sequence.begin(), sequence.end(), values[i]);
        ASSERT_EQ(found[i], want - sequence.begin()) << values[i] << " in " << length;
      }
    }
  }
}

TEST(RandomWords, SkippedWordsAreThoseNotDrawn) {
  for (const RandomAlignment alignment : {RandomAlignment::tensorflow, RandomAlignment::pytorch})
    for (const uint64_t before : {0, 1, 3, 4})
      for (const uint64_t skipped : {0, 1, 2, 3, 4, 5, 7, 8, 1001}) {
        RandomWords drawn(alignment, 5, 6), leaped(alignment, 5, 6);
        for (uint64_t i = 0; i < before; ++i) leaped.next();
        for (uint64_t i = 0; i < before + skipped; ++i) drawn.next();
        leaped.skip(skipped);
        for (int i = 0; i < 9; ++i) ASSERT_EQ(leaped.next(), drawn.next()) << before << " then " << skipped;
      }
}

TEST(LentThreads, RunLoopsUntilGivenBack) {
  int64_t lent = 0;
  const auto loop = [&](int64_t tasks, FunctionRef<void(int64_t)> body) {
    lent += tasks;
    for (int64_t task = tasks; task-- > 0;) body(task);
  };
  std::vector<int> visits(10);
  const auto visit = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
  };
  {
    const LentThreads::Loop borrowed(loop);
    const LentThreads lend(borrowed);
    parallel_ranges(10, 3, visit);
    EXPECT_EQ(lent, 4);
  }
  parallel_ranges(10, 3, visit);
  EXPECT_EQ(lent, 4);
  EXPECT_EQ(visits, std::vector<int>(10, 2));
}

}  // namespace
}  // namespace terroir::ops::reference
