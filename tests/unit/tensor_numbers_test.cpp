// Elements of tensors as numbers, as inference reads them.
#include <gtest/gtest.h>

#include "ir/base/error.hpp"
#include "ir/schema/infer_context.hpp"

namespace terroir::ir {
namespace {

TEST(TensorNumbers, IntegersOfEveryWidth) {
  const int8_t i8[] = {-128, 127};
  EXPECT_EQ(to_integers({element::i8, {2}, i8}), (std::vector<int64_t>{-128, 127}));
  const uint64_t u64[] = {0, 1ull << 40};
  EXPECT_EQ(to_integers({element::u64, {2}, u64}), (std::vector<int64_t>{0, int64_t{1} << 40}));
  const uint8_t packed[] = {0x81, 0x0f};
  EXPECT_EQ(to_integers({element::i4, {3}, packed}), (std::vector<int64_t>{1, -8, -1}));
  EXPECT_EQ(to_integers({element::u4, {4}, packed}), (std::vector<int64_t>{1, 8, 15, 0}));
  EXPECT_EQ(to_integers({element::u1, {9}, packed}), (std::vector<int64_t>{1, 0, 0, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(to_integers({element::u2, {5}, packed}), (std::vector<int64_t>{1, 0, 0, 2, 3}));
  const uint8_t split[] = {0x81, 0x0f, 0xc1};
  EXPECT_EQ(to_integers({element::u3, {5}, split}), (std::vector<int64_t>{6, 4, 0, 1, 0}));
  EXPECT_EQ(to_integers({element::u6, {2}, split}), (std::vector<int64_t>{56, 1}));
}

TEST(TensorNumbers, RealsOfEveryNumericType) {
  const float16 f16[] = {float16(1.5f), float16(-2.f)};
  EXPECT_EQ(to_reals({element::f16, {2}, f16}), (std::vector<double>{1.5, -2}));
  const int32_t i32[] = {7};
  EXPECT_EQ(to_reals({element::i32, {1}, i32}), std::vector<double>{7});
  const uint8_t f8e5m2[] = {0x3c, 0xbe};
  EXPECT_EQ(to_reals({element::f8e5m2, {2}, f8e5m2}), (std::vector<double>{1, -1.5}));
  const uint8_t nf4[] = {0xf0};
  EXPECT_EQ(to_reals({element::nf4, {2}, nf4}), (std::vector<double>{-1, 1}));
}

TEST(TensorNumbers, RefuseOtherTypes) {
  const float f32[] = {1};
  EXPECT_THROW(to_integers({element::f32, {1}, f32}), Exception);
  const std::string text = "1";
  EXPECT_THROW(to_integers({element::string, {1}, &text}), Exception);
  EXPECT_THROW(to_reals({element::string, {1}, &text}), Exception);
}

}  // namespace
}  // namespace terroir::ir
