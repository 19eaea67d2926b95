#include "terroir/element_type.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "terroir/exception.hpp"

namespace terroir {
namespace {

constexpr int kTypes = static_cast<int>(element::Type_t::f8e8m0) + 1;

TEST(ElementType, NamesRoundTripInAnyCase) {
  for (int i = 0; i < kTypes; ++i) {
    const element::Type type(static_cast<element::Type_t>(i));
    std::string name = type.get_type_name();
    EXPECT_EQ(element::Type(name), type) << name;
    for (char& c : name) c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(element::Type(name), type) << name;
    std::stringstream stream;
    stream << type;
    element::Type read;
    stream >> read;
    EXPECT_EQ(read, type);
  }
}

TEST(ElementType, ReadsIrPrecisions) {
  const std::pair<const char*, element::Type> cases[] = {{"FP32", element::f32},
                                                         {"FP16", element::f16},
                                                         {"BF16", element::bf16},
                                                         {"FP64", element::f64},
                                                         {"BOOL", element::boolean},
                                                         {"BIN", element::u1},
                                                         {"I64", element::i64},
                                                         {"U8", element::u8},
                                                         {"fp32", element::f32},
                                                         {"STRING", element::string},
                                                         {"UNSPECIFIED", element::dynamic},
                                                         {"undefined", element::dynamic},
                                                         {"F8E4M3", element::f8e4m3}};
  for (const auto& [name, type] : cases) EXPECT_EQ(element::Type(name), type) << name;
}

TEST(ElementType, RefusesUnknownNamesAndHintsAtTheNearest) {
  try {
    element::Type type("f33");
    FAIL();
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(), "unknown element type 'f33', did you mean 'f32'?");
  }
  EXPECT_THROW(element::Type(""), Exception);
}

TEST(ElementType, NamesOfCppTypes) {
  const std::pair<element::Type, const char*> cases[] = {
      {element::f32, "float"},      {element::f16, "float16"}, {element::boolean, "char"},  {element::i64, "int64_t"},
      {element::u8, "uint8_t"},     {element::u1, "uint1_t"},  {element::i4, "int4_t"},     {element::bf16, "bfloat16"},
      {element::f64, "double"},     {element::nf4, "nfloat4"}, {element::string, "string"}, {element::f8e4m3, "f8e4m3"},
      {element::dynamic, "dynamic"}};
  for (const auto& [type, name] : cases) EXPECT_EQ(type.c_type_string(), name);
}

TEST(ElementType, AllAreKnown) {
  const std::vector<const element::Type*> known = element::Type::get_known_types();
  ASSERT_EQ(known.size(), static_cast<size_t>(kTypes));
  element::TypeVector types;
  for (const element::Type* type : known) types.push_back(*type);
  EXPECT_EQ(types.front(), element::dynamic);
  EXPECT_EQ(types.back(), element::f8e8m0);
  for (size_t i = 0; i < types.size(); ++i) EXPECT_EQ(types[i].hash(), i);
}

TEST(ElementType, Properties) {
  EXPECT_EQ(element::f32.size(), 4u);
  EXPECT_EQ(element::i4.bitwidth(), 4u);
  EXPECT_EQ(element::i4.size(), 1u);
  EXPECT_EQ(element::dynamic.size(), 0u);
  EXPECT_EQ(element::boolean.size(), 1u);
  EXPECT_EQ(element::string.size(), sizeof(std::string));
  EXPECT_TRUE(element::bf16.is_real() && element::f8e5m2.is_real() && !element::i32.is_real());
  EXPECT_TRUE(element::boolean.is_integral() && !element::boolean.is_integral_number());
  EXPECT_TRUE(element::i8.is_signed() && !element::u8.is_signed() && element::f16.is_signed());
  EXPECT_FALSE(element::f8e8m0.is_signed());
  EXPECT_TRUE(element::u8.is_quantized() && !element::i32.is_quantized());
  EXPECT_EQ(element::undefined, element::dynamic);
  static_assert(element::f32 == element::Type_t::f32);
  switch (element::i32) {
    case element::Type_t::i32:
      break;
    default:
      FAIL();
  }
}

TEST(ElementType, MergesDynamic) {
  element::Type merged;
  EXPECT_TRUE(element::Type::merge(merged, element::dynamic, element::f32));
  EXPECT_EQ(merged, element::f32);
  EXPECT_FALSE(element::Type::merge(merged, element::f32, element::i32));
  EXPECT_EQ(merged, element::f32);
}

TEST(ElementType, CorrespondsToCppTypes) {
  static_assert(element::from<float>() == element::f32);
  static_assert(element::from<const int64_t>() == element::i64);
  static_assert(element::from<long long>() == element::i64);
  static_assert(element::from<bool>() == element::boolean);
  static_assert(element::from<char>() == element::boolean);
  static_assert(element::from<float16>() == element::f16);
  static_assert(std::is_same_v<fundamental_type_for<element::Type_t::u16>, uint16_t>);
  static_assert(std::is_same_v<fundamental_type_for<element::bf16>, bfloat16>);
}

// The value of a half by its definition, in double.
double half_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Float16, WidensEveryValueExactlyAndRoundsBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = float16::from_bits(static_cast<uint16_t>(bits));
    const float wide = half;
    if ((bits & 0x7c00) == 0x7c00) {
      EXPECT_EQ(std::isnan(wide), (bits & 0x3ff) != 0);
      EXPECT_EQ(std::isinf(wide), (bits & 0x3ff) == 0);
    } else {
      ASSERT_EQ(static_cast<double>(wide), half_value(static_cast<uint16_t>(bits))) << bits;
    }
    if (!std::isnan(wide)) {
      ASSERT_EQ(float16(wide).to_bits(), bits);
    }
  }
}

TEST(Float16, RoundsToNearestEvenBetweenAllNeighbours) {
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<float>(half_value(bits));
    const auto high = static_cast<float>(half_value(static_cast<uint16_t>(bits + 1)));
    const float middle = low + (high - low) / 2;  // exact: a float has 13 more bits
    const uint16_t even = (bits & 1) == 0 ? bits : static_cast<uint16_t>(bits + 1);
    ASSERT_EQ(float16(middle).to_bits(), even) << bits;
    ASSERT_EQ(float16(std::nextafter(middle, 0.f)).to_bits(), bits) << bits;
    ASSERT_EQ(float16(std::nextafter(middle, INFINITY)).to_bits(), bits + 1) << bits;
    ASSERT_EQ(float16(-middle).to_bits(), even | 0x8000) << bits;
  }
  EXPECT_EQ(float16(65519.99f).to_bits(), 0x7bff);
  EXPECT_EQ(float16(65520.f).to_bits(), 0x7c00);
  EXPECT_EQ(float16(1e30f).to_bits(), 0x7c00);
  EXPECT_EQ(float16(-0.f).to_bits(), 0x8000);
  EXPECT_EQ(float16(1e-30f).to_bits(), 0);
  EXPECT_TRUE(std::isnan(static_cast<float>(float16(std::nanf("")))));
  EXPECT_EQ(static_cast<float>(std::numeric_limits<float16>::epsilon()), std::ldexp(1.f, -10));
}

TEST(Bfloat16, RoundsToNearestEvenBetweenAllNeighbours) {
  for (uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    const auto low = bfloat16::from_bits(static_cast<uint16_t>(bits));
    ASSERT_EQ(bfloat16(static_cast<float>(low)).to_bits(), bits);
    uint32_t middle_bits = (bits << 16) + 0x8000;
    float middle;
    std::memcpy(&middle, &middle_bits, 4);
    ASSERT_EQ(bfloat16(middle).to_bits(), (bits & 1) == 0 ? bits : bits + 1);
    ASSERT_EQ(bfloat16(std::nextafter(middle, 0.f)).to_bits(), bits);
    ASSERT_EQ(bfloat16(std::nextafter(middle, INFINITY)).to_bits(), bits + 1);
  }
  EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()).to_bits(), 0x7f80);
  EXPECT_EQ(bfloat16(-INFINITY).to_bits(), 0xff80);
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16(std::nanf("")))));
  EXPECT_EQ(static_cast<float>(std::numeric_limits<bfloat16>::epsilon()), std::ldexp(1.f, -7));
}

}  // namespace
}  // namespace terroir
