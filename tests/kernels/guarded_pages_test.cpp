// Guarded memory of the kernel tests: what is touched outside is a crash, also where pages are used again.
#include "tests/kernels/guarded_pages.hpp"

#include <gtest/gtest.h>

#include "tests/kernels/guarded_buffer.hpp"

namespace terroir::testing {
namespace {

void touch(volatile uint8_t* byte) { *byte = 1; }

TEST(GuardedPages, CrashOutside) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const uint8_t* first = nullptr;
  for (int use = 0; use < 2; ++use) {
    const GuardedPages pages(12345);
    EXPECT_TRUE(use == 0 || pages.begin() == first) << "kept for whoever wants as many";
    first = pages.begin();
    ASSERT_GE(pages.end() - pages.begin(), 12345);
    touch(pages.begin());
    touch(pages.end() - 1);
    EXPECT_DEATH(touch(pages.end()), "");
    EXPECT_DEATH(touch(pages.begin() - 1), "");
  }
}

TEST(GuardedPages, BuffersAreNewOnesEachTime) {
  for (int use = 0; use < 2; ++use) {
    GuardedBuffer<uint8_t> buffer(777);
    for (const uint8_t byte : buffer) ASSERT_EQ(byte, 0xff);
    EXPECT_TRUE(buffer.intact());
    std::fill(buffer.begin() - 1, buffer.end(), uint8_t{0});
    EXPECT_FALSE(buffer.intact());
  }
}

}  // namespace
}  // namespace terroir::testing
