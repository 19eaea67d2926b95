#include "plugins/cpu/kernels/select/select.hpp"

#include <algorithm>
#include <bit>
#include <random>

#include "tests/kernels/kernel_test.hpp"
#include "tests/kernels/special_floats.hpp"

namespace terroir::testing {
namespace {

/// Whether TopK puts `x` before `y` whatever their positions: NaN is above everything.
bool better(float x, float y, bool largest) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) != std::isnan(y) && std::isnan(largest ? x : y);
  return largest ? x > y : x < y;
}

/// Few different values, so that many are equal, and some special ones.
std::vector<float> values_with_ties(int64_t n, uint32_t seed) {
  const float special[] = {kNaN, -kNaN, kInf, -kInf, 0.0f, -0.0f};
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) {
    const uint32_t draw = engine() % 64;
    value = draw < 6 ? special[draw] : static_cast<float>(draw % 8) - 4.0f;
  }
  return values;
}

class SelectKernelsTest : public KernelTest {};

TEST_P(SelectKernelsTest, NextSkipsNothingThatIsBetter) {
  const auto& kernels = cpu::select_kernels(isa());
  for (const int64_t n : sizes_around(4 * lanes())) {
    const GuardedBuffer<float> row(values_with_ties(n, static_cast<uint32_t>(n)));
    for (const float bound : {-kInf, -5.0f, -3.0f, 0.0f, -0.0f, 2.0f, 3.0f, kInf, kNaN}) {
      for (const bool largest : {false, true}) {
        const auto next = largest ? kernels.next_above : kernels.next_below;
        for (int64_t begin = 0; begin <= n; ++begin) {
          const int64_t found = next(row.data(), begin, n, bound);
          ASSERT_TRUE(begin <= found && found <= n);
          for (int64_t i = begin; i < found; ++i) ASSERT_FALSE(better(row[i], bound, largest)) << i;
          // What it stops at is better, or a NaN is in play.
          if (found < n && !std::isnan(row[found]) && !std::isnan(bound)) {
            ASSERT_TRUE(better(row[found], bound, largest)) << row[found] << " and " << bound;
          }
        }
      }
    }
  }
}

// As many elements as there are bests are as good as the worst of them, and NaN is none.
TEST_P(SelectKernelsTest, BestsOfParts) {
  const auto& kernels = cpu::select_kernels(isa());
  ASSERT_LE(kernels.bests, 64);
  for (const int64_t n : {int64_t{0}, kernels.bests - 1, kernels.bests, 2 * kernels.bests + 1, 5 * kernels.bests - 3}) {
    const GuardedBuffer<float> row(values_with_ties(n, static_cast<uint32_t>(n)));
    for (const bool largest : {false, true}) {
      GuardedBuffer<float> bests(kernels.bests);
      kernels.bests_of(row.data(), n, largest, bests.data());
      EXPECT_TRUE(bests.intact());
      std::vector<float> expected(static_cast<size_t>(kernels.bests), largest ? -kInf : kInf);
      for (int64_t i = 0; i < n / kernels.bests * kernels.bests; ++i) {
        float& best = expected[static_cast<size_t>(i % kernels.bests)];
        if (largest ? row[i] > best : row[i] < best) best = row[i];
      }
      for (int64_t j = 0; j < kernels.bests; ++j) ASSERT_EQ(bests[j], expected[static_cast<size_t>(j)]) << j;
    }
  }
}

TEST_P(SelectKernelsTest, FirstLargest) {
  const auto& kernels = cpu::select_kernels(isa());
  for (const int64_t n : sizes_around(4 * lanes()))
    for (uint32_t seed = 0; seed < 40 && n > 0; ++seed) {
      const GuardedBuffer<float> row(values_with_ties(n, seed));
      int64_t best = 0;
      for (int64_t i = 1; i < n; ++i)
        if (row[i] > row[best]) best = i;
      ASSERT_EQ(kernels.first_largest(row.data(), n), best) << n << " seed " << seed;
    }
}

TEST_P(SelectKernelsTest, BestOfColumns) {
  for (const int64_t columns : sizes_around(64)) {
    for (const int64_t extent : {1, 2, 3, 21}) {
      const int64_t stride = columns + 3;
      const GuardedBuffer<float> src(values_with_ties((extent - 1) * stride + columns, 7));
      GuardedBuffer<float> values(columns);
      GuardedBuffer<int32_t> indices(columns);
      for (const bool largest : {false, true}) {
        cpu::select_kernels(isa()).best_of_columns(src.data(), extent, stride, columns, largest, values.data(),
                                                   indices.data());
        EXPECT_TRUE(values.intact() && indices.intact());
        for (int64_t c = 0; c < columns; ++c) {
          int64_t best = 0;
          for (int64_t i = 1; i < extent; ++i)
            if (better(src[i * stride + c], src[best * stride + c], largest)) best = i;
          ASSERT_EQ(indices[c], best) << columns << " columns of " << extent;
          ASSERT_EQ(std::bit_cast<uint32_t>(values[c]), std::bit_cast<uint32_t>(src[best * stride + c]));
        }
      }
    }
  }
}

TEST_P(SelectKernelsTest, PlacesInSortedRows) {
  for (const int64_t length : {0, 1, 2, 3, 7, 64, 65}) {
    std::vector<float> bounds = values_with_ties(length, 3);
    std::erase_if(bounds, [](float x) { return std::isnan(x); });
    std::sort(bounds.begin(), bounds.end());
    const GuardedBuffer<float> sorted(bounds);
    for (const int64_t n : sizes_around(4 * lanes())) {
      const GuardedBuffer<float> values(values_with_ties(n, static_cast<uint32_t>(n)));
      for (const bool right : {false, true}) {
        GuardedBuffer<int32_t> places(n);
        cpu::select_kernels(isa()).places(sorted.data(), static_cast<int64_t>(bounds.size()), values.data(), n, right,
                                          places.data());
        EXPECT_TRUE(places.intact());
        for (int64_t i = 0; i < n; ++i) {
          const auto place = right ? std::upper_bound(bounds.begin(), bounds.end(), values[i])
                                   : std::lower_bound(bounds.begin(), bounds.end(), values[i]);
          ASSERT_EQ(places[i], place - bounds.begin()) << values[i] << " among " << length;
        }
      }
    }
  }
}

TERROIR_INSTANTIATE_PER_ISA(SelectKernelsTest);

}  // namespace
}  // namespace terroir::testing
