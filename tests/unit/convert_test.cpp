// Conversion of the types that are packed or shorter than f16, checked against bytes written by hand.
#include "ops/reference/type/convert.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ir/base/small_float.hpp"

namespace terroir {
namespace {

using Bytes = std::vector<uint8_t>;

template <class T>
std::vector<T> unpack(element::Type type, const Bytes& bytes, int64_t count) {
  std::vector<T> result(static_cast<size_t>(count));
  ops::reference::convert({type, {count}, bytes.data()}, {element::from<T>(), {count}, result.data()});
  return result;
}

template <class T>
Bytes pack(element::Type type, const std::vector<T>& values) {
  const auto count = static_cast<int64_t>(values.size());
  Bytes bytes(ir::byte_size(type, count), 0xaa);
  ops::reference::convert({element::from<T>(), {count}, values.data()}, {type, {count}, bytes.data()});
  return bytes;
}

template <class T>
void expect_both_ways(element::Type type, const Bytes& bytes, const std::vector<T>& values) {
  EXPECT_EQ(unpack<T>(type, bytes, static_cast<int64_t>(values.size())), values) << type;
  EXPECT_EQ(pack<T>(type, values), bytes) << type;
}

TEST(Convert, PackedTypesFillBytesInTheirOrder) {
  expect_both_ways<int32_t>(element::u1, {0b10110010, 0b10000000}, {1, 0, 1, 1, 0, 0, 1, 0, 1});
  expect_both_ways<int32_t>(element::u2, {0b11100100, 0b00000010}, {0, 1, 2, 3, 2});
  // The lower two bits of eight elements, then the third one of each.
  expect_both_ways<int32_t>(element::u3, {0b01101100, 0b01101100, 0b00011110}, {1, 2, 3, 4, 5, 6, 7, 0});
  expect_both_ways<int32_t>(element::u3, {0b11000110, 0b00110110, 0b00001111, 0b01000000, 0, 0b10000000},
                            {3, 0, 1, 2, 4, 7, 5, 6, 5});
  expect_both_ways<int32_t>(element::u4, {0x21, 0x0f}, {1, 2, 15});
  expect_both_ways<int32_t>(element::i4, {0x8f, 0x07}, {-1, -8, 7});
  // The lower four bits of four elements, then the upper two.
  expect_both_ways<int32_t>(element::u6, {0x49, 0xf0, 0b00000001}, {4, 9, 15, 16});
  expect_both_ways<int32_t>(element::u6, {0xf1, 0x2f, 0b11001011, 0x10, 0, 0}, {63, 1, 34, 63, 1});
}

TEST(Convert, PackedIntegersFromRealNumbersSaturate) {
  EXPECT_EQ(pack<float>(element::u2, {-1.f, 9.f, 2.9f}), (Bytes{0b101100}));
  EXPECT_EQ(pack<float>(element::i4, {-9.f, 9.f, NAN, -1.5f}), (Bytes{0x78, 0xf0}));
}

TEST(Convert, SmallFloatsDecode) {
  EXPECT_EQ(unpack<float>(element::f4e2m1, {0x10, 0x32, 0x54, 0x76, 0xf9}, 10),
            (std::vector<float>{0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.5f, -6}));
  EXPECT_EQ(unpack<float>(element::f8e4m3, {0x00, 0x01, 0x08, 0x38, 0x7e, 0xb8}, 6),
            (std::vector<float>{0, 0.001953125f, 0.015625f, 1, 448, -1}));
  EXPECT_EQ(unpack<float>(element::f8e5m2, {0x01, 0x04, 0x3c, 0x7b, 0x7c, 0xfc}, 6),
            (std::vector<float>{std::ldexp(1.f, -16), std::ldexp(1.f, -14), 1, 57344, INFINITY, -INFINITY}));
  EXPECT_EQ(unpack<float>(element::f8e8m0, {0, 127, 128, 254}, 4),
            (std::vector<float>{std::ldexp(1.f, -127), 1, 2, std::ldexp(1.f, 127)}));
  EXPECT_EQ(unpack<float>(element::nf4, {0x70, 0x0f}, 3), (std::vector<float>{-1, 0, 1}));
  EXPECT_TRUE(std::isnan(unpack<float>(element::f8e4m3, {0x7f}, 1)[0]));
  EXPECT_TRUE(std::isnan(unpack<float>(element::f8e5m2, {0xfd}, 1)[0]));
  EXPECT_TRUE(std::isnan(unpack<float>(element::f8e8m0, {0xff}, 1)[0]));
}

TEST(Convert, SmallFloatsRoundToNearestEven) {
  // 1 + 1/16 lies halfway between the codes of 1 and 1.125, 1 + 3/16 between 1.125 and 1.25.
  EXPECT_EQ(pack<float>(element::f8e4m3, {1.0625f, 1.1875f, 1.07f, -0.f, 1e9f, -1e9f, NAN, 464.f}),
            (Bytes{0x38, 0x3a, 0x39, 0x80, 0x7f, 0xff, 0x7f, 0x7e}));
  EXPECT_EQ(pack<float>(element::f8e5m2, {1.125f, 1.375f, 61439.f, 61440.f, -INFINITY, NAN}),
            (Bytes{0x3c, 0x3e, 0x7b, 0x7c, 0xfc, 0x7e}));
  EXPECT_EQ(pack<float>(element::f4e2m1, {0.25f, 0.75f, 5.f, 100.f, -2.5f, NAN}), (Bytes{0x20, 0x76, 0x0c}));
  EXPECT_EQ(pack<float>(element::f8e8m0, {1.f, 1.4f, 1.6f, 0.f, -3.f, INFINITY, NAN}),
            (Bytes{127, 127, 128, 0, 0, 254, 255}));
  EXPECT_EQ(pack<float>(element::nf4, {-2.f, 0.01f, 0.9f, 0.5f}), (Bytes{0x70, 0xcf}));
}

TEST(Convert, EverySmallFloatSurvivesTheWayThroughF32) {
  for (const element::Type type : {element::nf4, element::f4e2m1, element::f8e4m3, element::f8e5m2, element::f8e8m0}) {
    const int codes = 1 << type.bitwidth();
    for (int code = 0; code < codes; ++code) {
      const float value = ir::small_float_values(type)[code];
      if (std::isnan(value)) continue;
      EXPECT_EQ(ir::encode_small_float(type, static_cast<double>(value)), code) << type << " " << value;
    }
  }
}

TEST(Convert, LongTensorsCrossBlocks) {
  std::vector<int32_t> values(1500);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 7 % 64);
  EXPECT_EQ(unpack<int32_t>(element::u6, pack<int32_t>(element::u6, values), 1500), values);
}

TEST(Convert, RefusesWhatHasNoNumbers) {
  float f = 0;
  std::string s;
  EXPECT_THROW(ops::reference::convert({element::string, {1}, &s}, {element::f32, {1}, &f}), Exception);
  EXPECT_THROW(ops::reference::convert({element::f32, {1}, &f}, {element::dynamic, {1}, &f}), Exception);
  EXPECT_THROW(ops::reference::convert({element::f32, {2}, &f}, {element::f16, {1}, &f}), Exception);
}

}  // namespace
}  // namespace terroir
