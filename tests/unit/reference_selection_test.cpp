// The helpers that references of selecting ops share, each against the obvious way to do its work.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "ops/reference/detection/best_first.hpp"
#include "ops/reference/detection/kept_boxes.hpp"
#include "ops/reference/floats.hpp"
#include "ops/reference/generation/random.hpp"
#include "ops/reference/movement/non_zero.hpp"
#include "ops/reference/movement/unique.hpp"
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

// Few of many: most are told apart by a bound that a part of them gives.
TEST(BestFirst, FewOfMany) {
  constexpr size_t kCount = 20000;
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> few = few_different(kCount, 5);
  std::vector<float> rising(kCount), nearly_all_nan(kCount, kNaN), lowest(kCount, -infinity);
  std::iota(rising.begin(), rising.end(), -1000.0f);
  std::vector<float> falling(rising.rbegin(), rising.rend());
  for (size_t i = 0; i < 40; ++i) nearly_all_nan[i * 401 + 3] = static_cast<float>(i % 7);
  lowest[17] = kNaN, lowest[kCount - 1] = -1;
  for (const std::vector<float>& scores : {few, rising, falling, nearly_all_nan, lowest}) {
    const std::vector<int64_t> order = best_first(scores);  // by sorting them all
    for (const int64_t most : {1, 2, 39, 41, 300})
      EXPECT_EQ(best_first(scores, most), std::vector<int64_t>(order.begin(), order.begin() + most)) << most;
  }
}

TEST(BestFirst, MoreScoresThanPositionsOf32BitsAreRefused) {
  const float score = 1;  // no other one is looked at
  EXPECT_THROW(best_first(std::span(&score, size_t{1} << 32)), Exception);
}

TEST(FromIndices, RefuseWhatTheTypeCannotHold) {
  int32_t written[2] = {};
  const ir::MutableTensorView tensor{element::i32, {2}, written};
  from_indices({INT32_MIN, INT32_MAX}, tensor);
  EXPECT_EQ(written[0], INT32_MIN);
  EXPECT_EQ(written[1], INT32_MAX);
  EXPECT_THROW(from_indices({0, int64_t{INT32_MAX} + 1}, tensor), Exception);
}

using Box = SizedBox<float>;

constexpr BoxOverlap kOverlap{OverlapRule::with_areas, 0, nullptr};

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
  KeptBoxes<float> kept(kOverlap);
  for (size_t count = 0; count < boxes.size(); ++count) {
    EXPECT_EQ(kept.size(), static_cast<int64_t>(count));
    for (size_t first = 0; first <= count; ++first)
      for (const float threshold : {-0.5f, 0.0f, 0.3f}) {
        const Box& candidate = boxes[(count * 7 + first) % boxes.size()];
        const bool want = std::any_of(boxes.begin() + static_cast<std::ptrdiff_t>(first),
                                      boxes.begin() + static_cast<std::ptrdiff_t>(count),
                                      [&](const Box& box) { return overlap(candidate, box) > threshold; });
        ASSERT_EQ(kept.any_above(candidate, threshold, static_cast<int64_t>(first)), want)
            << count << " from " << first << " above " << threshold;
      }
    kept.add(boxes[count]);
  }
}

TEST(KeptBoxes, MetAddsSquaresUntilOneIsAbove) {
  const std::vector<Box> boxes = random_boxes(60);
  KeptBoxes<float> kept(kOverlap);
  for (size_t count = 0; count < boxes.size(); ++count) {
    const Box& candidate = boxes[count * 7 % boxes.size()];
    for (size_t first = 0; first <= count; ++first)
      for (const float threshold : {-0.5f, 0.2f, 2.0f}) {
        double squares = 0;
        bool above = false;
        for (size_t i = first; i < count; ++i) {
          const float value = overlap(candidate, boxes[i]);
          squares += double(value) * value;
          above = above || value > threshold;
        }
        const auto met = kept.met(candidate, threshold, static_cast<int64_t>(first));
        ASSERT_EQ(met.above, above) << count << " from " << first << " above " << threshold;
        if (!above) {
          ASSERT_NEAR(met.squares, squares, 1e-5);
        }
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
        EXPECT_EQ(suppressed(boxes, most, {0.7f, eta}, kOverlap), want) << count << " boxes, eta " << eta;
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

/// Of each value in ascending order: where it is.
std::map<float, std::vector<int64_t>> places_of(const std::vector<float>& values) {
  std::map<float, std::vector<int64_t>> places;
  for (size_t i = 0; i < values.size(); ++i) places[values[i]].push_back(static_cast<int64_t>(i));
  return places;
}

TEST(Unique, ManyElements) {
  std::mt19937 engine(5);
  for (const size_t count : {1, 64, 65, 1000, 20000}) {
    std::vector<float> data(count);
    for (float& value : data) value = static_cast<float>(engine() % 3001) - 1500;
    std::vector<std::pair<float, std::vector<int64_t>>> groups;
    for (auto& group : places_of(data)) groups.push_back(group);
    for (const bool sorted : {true, false}) {
      if (!sorted) std::sort(groups.begin(), groups.end(), [](auto& a, auto& b) { return a.second[0] < b.second[0]; });
      std::vector<float> values(count);
      std::vector<int64_t> first(count), group_of(count), sizes(count);
      const auto n = static_cast<int64_t>(count);
      const ir::TensorView input{element::f32, {n}, data.data()};
      ir::MutableTensorView outputs[] = {{element::f32, {n}, values.data()},
                                         {element::i64, {n}, first.data()},
                                         {element::i64, {n}, group_of.data()},
                                         {element::i64, {n}, sizes.data()}};
      const ir::AttributesOf<ir::NoAttrs> none;
      unique({none, {&input, 1}, outputs}, sorted);
      ASSERT_EQ(outputs[0].dims, (ir::Dims{static_cast<int64_t>(groups.size())}));
      for (size_t g = 0; g < groups.size(); ++g) {
        ASSERT_EQ(values[g], groups[g].first);
        ASSERT_EQ(first[g], groups[g].second.front());
        ASSERT_EQ(sizes[g], static_cast<int64_t>(groups[g].second.size()));
        for (const int64_t place : groups[g].second)
          ASSERT_EQ(group_of[static_cast<size_t>(place)], static_cast<int64_t>(g));
      }
    }
  }
}

// Rows around the blocks, which begin anywhere in the bytes; few elements and many.
TEST(NonZero, CoordinatesOfEveryDensity) {
  std::mt19937 engine(6);
  for (const ir::Dims& dims : {ir::Dims{70000}, ir::Dims{3, 5}, ir::Dims{200, 131}, ir::Dims{7, 9, 301}})
    for (const uint32_t percent : {0, 1, 40, 100}) {
      std::vector<int32_t> data(static_cast<size_t>(ir::element_count(dims)));
      std::vector<std::vector<int64_t>> want(dims.size());
      for (size_t i = 0; i < data.size(); ++i) {
        data[i] = engine() % 100 < percent ? -1 : 0;
        auto rest = static_cast<int64_t>(i);
        for (size_t axis = dims.size(); data[i] != 0 && axis-- > 0; rest /= dims[axis])
          want[axis].push_back(rest % dims[axis]);
      }
      std::vector<int64_t> found(data.size() * dims.size() + 8, -7);
      const ir::TensorView input{element::i32, dims, data.data()};
      ir::MutableTensorView output{
          element::i64, {static_cast<int64_t>(dims.size()), static_cast<int64_t>(data.size())}, found.data()};
      const ir::AttributesOf<ir::NoAttrs> none;
      non_zero({none, {&input, 1}, {&output, 1}});
      const auto columns = static_cast<int64_t>(want[0].size());
      ASSERT_EQ(output.dims, (ir::Dims{static_cast<int64_t>(dims.size()), columns}));
      for (size_t axis = 0; axis < dims.size(); ++axis)
        for (int64_t i = 0; i < columns; ++i)
          ASSERT_EQ(found[axis * want[0].size() + static_cast<size_t>(i)], want[axis][static_cast<size_t>(i)])
              << dims.size() << " axes, " << percent << " %, axis " << axis << " column " << i;
      ASSERT_EQ(found[dims.size() * want[0].size()], -7);
    }
}

TEST(RandomWords, SkippedWordsAreThoseNotDrawn) {
  for (const RandomAlignment alignment : {RandomAlignment::tensorflow, RandomAlignment::pytorch})
    for (const uint64_t before : {0, 1, 3, 4})
      for (const uint64_t skipped : {0, 1, 2, 3, 4, 5, 7, 8, 1001}) {
        RandomWords drawn(alignment, 5, 6, 1), leaped(alignment, 5, 6, 1);
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
    const LentThreads lend(loop);
    parallel_ranges(10, 3, visit);
    EXPECT_EQ(lent, 4);
  }
  parallel_ranges(10, 3, visit);
  EXPECT_EQ(lent, 4);
  EXPECT_EQ(visits, std::vector<int>(10, 2));
}

}  // namespace
}  // namespace terroir::ops::reference
