#include "plugins/cpu/spare_buffers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace terroir::cpu {
namespace {

constexpr int64_t kManyElements = 1 << 20;

TEST(SpareBuffers, GivesAgainWhatNobodyHolds) {
  SpareBuffers memory;
  const void* first = memory.get(element::f32, kManyElements).get();
  EXPECT_EQ(memory.get(element::f32, kManyElements).get(), first);
  EXPECT_EQ(memory.get(element::i64, kManyElements / 2).get(), first);  // as many bytes
  EXPECT_EQ(memory.get(element::u8, 3 * kManyElements).get(), first);   // somewhat fewer
}

TEST(SpareBuffers, NeverGivesWhatIsHeld) {
  SpareBuffers memory;
  std::vector<std::shared_ptr<void>> held;
  for (int i = 0; i < 20; ++i) {
    held.push_back(memory.get(element::u8, kManyElements));
    for (int j = 0; j < i; ++j) EXPECT_NE(held[static_cast<size_t>(j)], held.back());
  }
}

TEST(SpareBuffers, HoldsNoBlockForAResultOfLessThanHalf) {
  SpareBuffers memory;
  const auto large = std::weak_ptr<void>(memory.get(element::u8, 4 * kManyElements));
  const auto small = memory.get(element::u8, kManyElements);
  EXPECT_NE(small, large.lock());
}

TEST(SpareBuffers, KeepsFewOfManySizes) {
  SpareBuffers memory;
  std::vector<std::weak_ptr<void>> given;
  for (int64_t bytes = 140000; given.size() < 10; bytes = bytes * 21 / 10) {
    given.push_back(memory.get(element::u8, bytes));
    EXPECT_LE(std::count_if(given.begin(), given.end(), [](const auto& one) { return !one.expired(); }), 8);
  }
  EXPECT_FALSE(given.back().expired());
  memory.clear();
  for (const auto& one : given) EXPECT_TRUE(one.expired());
}

TEST(SpareBuffers, TextsAreEmptyEachTime) {
  SpareBuffers memory;
  const auto texts = memory.get(element::string, kManyElements / 32);
  static_cast<std::string*>(texts.get())[0] = "kept";
  const auto others = memory.get(element::string, kManyElements / 32);
  EXPECT_EQ(static_cast<std::string*>(others.get())[0], "");
}

}  // namespace
}  // namespace terroir::cpu
