// Constants of types that no C++ type stores: below a byte, and floats of a byte; and the C++ types of the latter.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

using op::v0::Constant;

struct Packed {
  element::Type type;
  std::vector<int> values;
  std::vector<uint8_t> bytes;
};

TEST(NarrowConstants, IntegersArePackedAndUnpacked) {
  const Packed cases[] = {
      {element::u1, {1, 0, 1, 1, 0, 0, 0, 0, 1}, {0xb0, 0x80}},
      {element::u2, {0, 1, 2, 3, 2}, {0xe4, 0x02}},
      {element::u4, {1, 15, 7}, {0xf1, 0x07}},
      {element::i4, {-8, 7, -1}, {0x78, 0x0f}},
      {element::u3, {0, 1, 2, 3, 4, 5, 6, 7}, {0x1b, 0x1b, 0x0f}},
      {element::u6, {0, 63, 32, 1}, {0x0f, 0x01, 0x38}},
      {element::nf4, {0, 15, 7}, {0xf0, 0x07}},  // codes
  };
  for (const Packed& c : cases) {
    const auto constant = Constant::create(c.type, Shape{c.values.size()}, c.values);
    ASSERT_EQ(constant->get_byte_size(), c.bytes.size()) << c.type;
    EXPECT_EQ(std::memcmp(constant->get_data_ptr(), c.bytes.data(), c.bytes.size()), 0) << c.type;
    EXPECT_EQ(constant->cast_vector<int>(), c.values) << c.type;
    EXPECT_EQ(constant->cast_vector<int>(2), std::vector<int>(c.values.begin(), c.values.begin() + 2)) << c.type;
    EXPECT_EQ(constant->get_vector<int8_t>(), std::vector<int8_t>(c.values.begin(), c.values.end())) << c.type;
    if (c.type == element::nf4) continue;
    const std::vector<float> reals(c.values.begin(), c.values.end());
    EXPECT_EQ(constant->cast_vector<float>(), reals) << c.type;
    EXPECT_EQ(Constant(c.type, Shape{reals.size()}, reals).cast_vector<int64_t>(),
              std::vector<int64_t>(c.values.begin(), c.values.end()));
    std::vector<std::string> texts;
    for (const int value : c.values) texts.push_back(std::to_string(value));
    EXPECT_EQ(constant->get_value_strings(), texts) << c.type;
    EXPECT_EQ(Constant(c.type, Shape{texts.size()}, texts).cast_vector<int>(), c.values) << c.type;
  }
}

TEST(NarrowConstants, OneValueFillsTheShape) {
  EXPECT_EQ(Constant::create(element::u4, Shape{5}, {9})->cast_vector<int>(), std::vector<int>(5, 9));
  EXPECT_EQ(Constant(element::i4, Shape{3}, -3).cast_vector<int>(), std::vector<int>(3, -3));
  EXPECT_EQ(Constant(element::f8e5m2, Shape{2}, 1.5f).cast_vector<float>(), std::vector<float>(2, 1.5f));
}

/// With a text that names the type.
template <typename Number>
bool refuses(const element::Type& type, Number value) {
  const Exception error = caught([&] { Constant(type, Shape{2}, value); });
  return error.code() == ErrorCode::invalid_argument &&
         std::string(error.what()).find(type.get_type_name()) != std::string::npos;
}

TEST(NarrowConstants, ValuesThatDoNotFitAreRefused) {
  EXPECT_TRUE(refuses(element::u4, 16));
  EXPECT_TRUE(refuses(element::u4, -1));
  EXPECT_TRUE(refuses(element::i4, 8));
  EXPECT_TRUE(refuses(element::i4, -9));
  EXPECT_TRUE(refuses(element::u2, 4));
  EXPECT_TRUE(refuses(element::i4, NAN));
  EXPECT_EQ(caught([] { Constant(element::nf4, Shape{1}, 16); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([] {
              Constant(element::u4, Shape{3}, std::vector<int>{1, 2});
            }).code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(Constant(element::u1, Shape{1}, 7).cast_vector<int>().front(), 1);  // anything but 0, as a boolean
}

TEST(WideConstants, ASingleValueMustFit) {
  EXPECT_TRUE(refuses(element::u8, 300));
  EXPECT_TRUE(refuses(element::u8, -1));
  EXPECT_TRUE(refuses(element::i8, -129));
  EXPECT_TRUE(refuses(element::i32, 3e10));
  EXPECT_TRUE(refuses(element::i32, NAN));
  EXPECT_TRUE(refuses(element::u64, int64_t{-1}));
  EXPECT_TRUE(refuses(element::i64, uint64_t{1} << 63));
  EXPECT_TRUE(refuses(element::i64, 0x1p63));
  EXPECT_TRUE(refuses(element::f16, 1e6));
  EXPECT_TRUE(refuses(element::f32, 1e300));
  EXPECT_EQ(Constant(element::u8, Shape{2}, 255.0).cast_vector<int>(), std::vector<int>(2, 255));
  EXPECT_EQ(Constant(element::i64, Shape{}, INT64_MIN).cast_vector<int64_t>(), std::vector<int64_t>{INT64_MIN});
  EXPECT_EQ(Constant(element::f16, Shape{}, -INFINITY).cast_vector<float>(), std::vector<float>{-INFINITY});
  EXPECT_TRUE(std::isnan(Constant(element::f16, Shape{}, double{NAN}).cast_vector<float>().front()));
  // A list is cut, as programs that fill masks with -1 expect.
  EXPECT_EQ(Constant(element::u8, Shape{2}, std::vector<int>{-1, 256}).cast_vector<int>(), (std::vector<int>{255, 0}));
}

TEST(NarrowConstants, FloatsTakeTheNearestValue) {
  EXPECT_EQ(Constant::create(element::nf4, Shape{4}, {-1.0f, 0.0f, 0.4f, 2.0f})->cast_vector<float>(),
            (std::vector<float>{-1, 0, 0.44070982933044434f, 1}));
  EXPECT_EQ(Constant::create(element::f4e2m1, Shape{3}, {-6.5f, 0.3f, 2.4f})->cast_vector<float>(),
            (std::vector<float>{-6, 0.5f, 2}));
  EXPECT_EQ(Constant::create(element::f8e4m3, Shape{2}, {448.0, 0.1})->cast_vector<float>(),
            (std::vector<float>{448, 0.1015625f}));
  EXPECT_EQ(Constant::create(element::f8e8m0, Shape{2}, {3.5f, 0.5f})->cast_vector<float>(),
            (std::vector<float>{4, 0.5f}));
  EXPECT_TRUE(std::isinf(Constant(element::f8e5m2, Shape{1}, 1e9).cast_vector<float>().front()));
  EXPECT_TRUE(std::isnan(Constant(element::f8e4m3, Shape{1}, NAN).cast_vector<float>().front()));
  EXPECT_EQ(Constant(element::f8e5m2, Shape{2}, std::vector<std::string>{"1.5", "-2"}).get_value_strings(),
            (std::vector<std::string>{"1.5", "-2"}));
}

TEST(NarrowConstants, SmallFloatsAreTypesOfCpp) {
  EXPECT_EQ(float8_e4m3(0.1f).to_bits(), 0x1d);
  // Without an infinity, what rounds to more than the largest number is NaN.
  EXPECT_EQ(float8_e4m3(464.f).to_bits(), 0x7e);
  EXPECT_EQ(float8_e4m3(464.1f).to_bits(), 0x7f);
  EXPECT_EQ(float8_e4m3(-std::numeric_limits<float>::infinity()).to_bits(), 0xff);
  EXPECT_EQ(float(float8_e5m2::from_bits(0x3e)), 1.5f);
  EXPECT_EQ(float(float8_e8m0::from_bits(0x80)), 2.0f);
  EXPECT_EQ(float(float4_e2m1::from_bits(0x0f)), -6.0f);
  float8_e5m2 sum = 1.0f;
  sum += 0.5f;
  EXPECT_EQ(sum, 1.5f);
  EXPECT_EQ(element::from<float8_e4m3>(), element::f8e4m3);
  EXPECT_EQ(element::from<float4_e2m1>(), element::f4e2m1);
  EXPECT_TRUE((std::is_same_v<fundamental_type_for<element::Type_t::f8e8m0>, float8_e8m0>));
  EXPECT_TRUE((std::is_same_v<element_type_traits<element::Type_t::u4>::value_type, int8_t>));
  const Constant constant(element::f8e5m2, Shape{2}, std::vector<float8_e5m2>{1.5f, -2.0f});
  EXPECT_EQ(constant.get_vector<float8_e5m2>().at(1), -2.0f);
  EXPECT_EQ(float(constant.get_data_ptr<element::Type_t::f8e5m2>()[0]), 1.5f);
  EXPECT_EQ(caught([&] { constant.get_data_ptr<element::Type_t::f8e4m3>(); }).code(), ErrorCode::type_mismatch);
  EXPECT_EQ(constant.cast_vector<float8_e4m3>().at(0), 1.5f);
  EXPECT_EQ(Constant::create(element::f16, Shape{2}, std::vector<float16>{1.5f, 2.5f})->cast_vector<float>(),
            (std::vector<float>{1.5f, 2.5f}));
}

TEST(NarrowConstants, AreWeightsOfAModel) {
  const auto codes = Constant::create(element::u4, Shape{2, 2}, {1, 15, 0, 8});
  const auto weights = std::make_shared<opset13::Multiply>(std::make_shared<opset13::Convert>(codes, element::f32),
                                                           Constant::create(element::f32, Shape{}, {0.5f}));
  const auto x = std::make_shared<opset13::Parameter>(element::f32, Shape{1, 2});
  const auto model = std::make_shared<Model>(std::make_shared<opset13::MatMul>(x, weights, false, false)->outputs(),
                                             ParameterVector{x});
  InferRequest request = Core().compile_model(model, "CPU").create_infer_request();
  request.get_input_tensor().data<float>()[0] = 2;
  request.get_input_tensor().data<float>()[1] = 1;
  request.infer();
  const float* const result = request.get_output_tensor().data<float>();
  EXPECT_EQ(result[0], 1.0f);
  EXPECT_EQ(result[1], 19.0f);
}

TEST(NarrowConstants, CompareByTypeShapeAndElements) {
  const auto of = [](const element::Type& type, const Shape& shape, const std::vector<int>& values) {
    return std::shared_ptr<Node>(Constant::create(type, shape, values));
  };
  EXPECT_TRUE(compare_constants(of(element::u4, {2}, {1, 2}), of(element::u4, {2}, {1, 2})));
  EXPECT_FALSE(compare_constants(of(element::u4, {2}, {1, 2}), of(element::u4, {2}, {1, 3})));
  EXPECT_FALSE(compare_constants(of(element::u4, {2}, {1, 2}), of(element::i4, {2}, {1, 2})));
  EXPECT_FALSE(compare_constants(of(element::u4, {2}, {1, 2}), of(element::u4, {1, 2}, {1, 2})));
  const auto texts = [](const char* last) {
    return std::shared_ptr<Node>(
        std::make_shared<Constant>(element::string, Shape{2}, std::vector<std::string>{"a", last}));
  };
  EXPECT_TRUE(compare_constants(texts("b"), texts("b")));
  EXPECT_FALSE(compare_constants(texts("b"), texts("c")));
  EXPECT_FALSE(compare_constants(texts("b"), std::make_shared<opset13::Parameter>(element::f32, Shape{})));
}

}  // namespace
}  // namespace terroir
