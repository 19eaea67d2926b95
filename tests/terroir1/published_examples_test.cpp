// The examples of the published documents of Conv and ConvTranspose in ONNX Runtime's channels-last domain, with their
// numbers: from IR files and from the model builder, on both devices, as printed (channels first) and channels last.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/terroir1/layer_model.hpp"

namespace terroir::test {
namespace {

struct Example {
  std::string name;
  Texts attributes;
  Array x, w, y;

  // Names of tests hold the parameter: its bytes would differ from run to run.
  friend void PrintTo(const Example& example, std::ostream* out) { *out << example.name; }
};

/// 0, 1, 2 ...
std::vector<double> counted(size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}
std::vector<double> filled(size_t count, double value) { return std::vector<double>(count, value); }
/// Both channels have the same elements.
std::vector<double> twice(std::vector<double> values) {
  values.insert(values.end(), values.begin(), values.end());
  return values;
}

const std::vector<Example>& examples() {
  static const std::vector<Example> all = {
      {"basic_conv_with_padding",
       {{"kernel_shape", "3,3"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}},
       {{1, 1, 5, 5}, counted(25)},
       {{1, 1, 3, 3}, filled(9, 1)},
       {{1, 1, 5, 5},
        {12, 21, 27, 33, 24, 33, 54, 63, 72, 51, 63, 99, 108, 117, 81, 93, 144, 153, 162, 111, 72, 111, 117, 123, 84}}},
      {"basic_conv_without_padding",
       {{"kernel_shape", "3,3"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}},
       {{1, 1, 5, 5}, counted(25)},
       {{1, 1, 3, 3}, filled(9, 1)},
       {{1, 1, 3, 3}, {54, 63, 72, 99, 108, 117, 144, 153, 162}}},
      {"conv_with_strides_padding",
       {{"kernel_shape", "3,3"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}, {"strides", "2,2"}},
       {{1, 1, 7, 5}, counted(35)},
       {{1, 1, 3, 3}, filled(9, 1)},
       {{1, 1, 4, 3}, {12, 27, 24, 63, 108, 81, 123, 198, 141, 112, 177, 124}}},
      {"conv_with_strides_no_padding",
       {{"kernel_shape", "3,3"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"strides", "2,2"}},
       {{1, 1, 7, 5}, counted(35)},
       {{1, 1, 3, 3}, filled(9, 1)},
       {{1, 1, 3, 2}, {54, 72, 144, 162, 234, 252}}},
      {"conv_with_strides_and_asymmetric_padding",
       {{"kernel_shape", "3,3"}, {"pads_begin", "1,0"}, {"pads_end", "1,0"}, {"strides", "2,2"}},
       {{1, 1, 7, 5}, counted(35)},
       {{1, 1, 3, 3}, filled(9, 1)},
       {{1, 1, 4, 2}, {21, 33, 99, 117, 189, 207, 171, 183}}},
      {"conv_with_autopad_same",
       {{"auto_pad", "SAME_LOWER"}, {"kernel_shape", "3,3"}, {"strides", "2,2"}},
       {{1, 1, 5, 5}, counted(25)},
       {{1, 1, 3, 3}, filled(9, 1)},
       {{1, 1, 3, 3}, {12, 27, 24, 63, 108, 81, 72, 117, 84}}},
      {"convtranspose",
       {{"direction", "backward"}},
       {{1, 1, 3, 3}, counted(9)},
       {{1, 2, 3, 3}, filled(18, 1)},
       {{1, 2, 5, 5}, twice({0, 1, 3, 3, 2, 3, 8, 15, 12, 7, 9, 21, 36, 27, 15, 9, 20, 33, 24, 13, 6, 13, 21, 15, 8})}},
      {"convtranspose_1d",
       {{"direction", "backward"}},
       {{1, 1, 3}, counted(3)},
       {{1, 2, 3}, filled(6, 1)},
       {{1, 2, 5}, twice({0, 1, 3, 3, 2})}},
      {"convtranspose_3d",
       {{"direction", "backward"}},
       {{1, 1, 3, 4, 5}, counted(60)},
       {{1, 2, 3, 3, 3}, filled(54, 1)},
       {{1, 2, 5, 6, 7},
        twice({0,   1,   3,   6,   9,   7,   4,   5,   12,  21,  27,  33,  24,  13,  15,  33,  54,  63,  72,  51,
               27,  30,  63,  99,  108, 117, 81,  42,  25,  52,  81,  87,  93,  64,  33,  15,  31,  48,  51,  54,
               37,  19,  20,  42,  66,  72,  78,  54,  28,  50,  104, 162, 174, 186, 128, 66,  90,  186, 288, 306,
               324, 222, 114, 120, 246, 378, 396, 414, 282, 144, 90,  184, 282, 294, 306, 208, 106, 50,  102, 156,
               162, 168, 114, 58,  60,  123, 189, 198, 207, 141, 72,  135, 276, 423, 441, 459, 312, 159, 225, 459,
               702, 729, 756, 513, 261, 270, 549, 837, 864, 891, 603, 306, 195, 396, 603, 621, 639, 432, 219, 105,
               213, 324, 333, 342, 231, 117, 60,  122, 186, 192, 198, 134, 68,  130, 264, 402, 414, 426, 288, 146,
               210, 426, 648, 666, 684, 462, 234, 240, 486, 738, 756, 774, 522, 264, 170, 344, 522, 534, 546, 368,
               186, 90,  182, 276, 282, 288, 194, 98,  40,  81,  123, 126, 129, 87,  44,  85,  172, 261, 267, 273,
               184, 93,  135, 273, 414, 423, 432, 291, 147, 150, 303, 459, 468, 477, 321, 162, 105, 212, 321, 327,
               333, 224, 113, 55,  111, 168, 171, 174, 117, 59})}},
      {"convtranspose_output_shape",
       {{"direction", "backward"}, {"strides", "3,2"}, {"output_shape", "10,8"}},
       {{1, 1, 3, 3}, counted(9)},
       {{1, 2, 3, 3}, filled(18, 1)},
       {{1, 2, 10, 8}, twice({0, 0, 1, 1, 3,  2, 2,  0, 0, 0, 1, 1, 3,  2, 2,  0, 0, 0, 1, 1, 3, 2, 2, 0,  3, 3,  7,
                              4, 9, 5, 5, 0,  3, 3,  7, 4, 9, 5, 5, 0,  3, 3,  7, 4, 9, 5, 5, 0, 6, 6, 13, 7, 15, 8,
                              8, 0, 6, 6, 13, 7, 15, 8, 8, 0, 6, 6, 13, 7, 15, 8, 8, 0, 0, 0, 0, 0, 0, 0,  0, 0})}},
      {"convtranspose_pad",
       {{"direction", "backward"}, {"strides", "3,2"}, {"output_padding", "1,1"}},
       {{1, 1, 3, 3}, counted(9)},
       {{1, 2, 3, 3}, filled(18, 1)},
       {{1, 2, 10, 8}, twice({0, 0, 1, 1, 3,  2, 2,  0, 0, 0, 1, 1, 3,  2, 2,  0, 0, 0, 1, 1, 3, 2, 2, 0,  3, 3,  7,
                              4, 9, 5, 5, 0,  3, 3,  7, 4, 9, 5, 5, 0,  3, 3,  7, 4, 9, 5, 5, 0, 6, 6, 13, 7, 15, 8,
                              8, 0, 6, 6, 13, 7, 15, 8, 8, 0, 6, 6, 13, 7, 15, 8, 8, 0, 0, 0, 0, 0, 0, 0,  0, 0})}},
      {"convtranspose_kernel_shape",
       {{"direction", "backward"},
        {"strides", "3,2"},
        {"output_shape", "10,8"},
        {"kernel_shape", "3,3"},
        {"output_padding", "1,1"}},
       {{1, 1, 3, 3}, counted(9)},
       {{1, 2, 3, 3}, filled(18, 1)},
       {{1, 2, 10, 8}, twice({0, 0, 1, 1, 3,  2, 2,  0, 0, 0, 1, 1, 3,  2, 2,  0, 0, 0, 1, 1, 3, 2, 2, 0,  3, 3,  7,
                              4, 9, 5, 5, 0,  3, 3,  7, 4, 9, 5, 5, 0,  3, 3,  7, 4, 9, 5, 5, 0, 6, 6, 13, 7, 15, 8,
                              8, 0, 6, 6, 13, 7, 15, 8, 8, 0, 6, 6, 13, 7, 15, 8, 8, 0, 0, 0, 0, 0, 0, 0,  0, 0})}},
      {"convtranspose_pads",
       {{"direction", "backward"}, {"strides", "3,2"}, {"pads_begin", "1,2"}, {"pads_end", "1,2"}},
       {{1, 1, 3, 3}, counted(9)},
       {{1, 2, 3, 3}, filled(18, 1)},
       {{1, 2, 7, 3}, twice({1, 1, 3, 1, 1, 3, 7, 4, 9, 7, 4, 9, 7, 4, 9, 13, 7, 15, 13, 7, 15})}},
      {"convtranspose_dilations",
       {{"direction", "backward"}, {"dilations", "2,2"}},
       {{1, 1, 3, 3}, {3, 8, 1, 9, 5, 7, 3, 2, 6}},
       {{1, 1, 2, 2}, {7, 2, 1, 9}},
       {{1, 1, 5, 5}, {21, 56, 13, 16, 2, 63, 35, 67, 10, 14, 24, 22, 76, 76, 21, 9, 5, 88, 45, 63, 3, 2, 33, 18, 54}}},
      {"convtranspose_autopad_same",
       {{"direction", "backward"}, {"auto_pad", "SAME_UPPER"}, {"strides", "2,2"}},
       {{1, 1, 3, 3}, counted(9)},
       {{1, 2, 3, 3}, filled(18, 1)},
       {{1, 2, 6, 6}, twice({0, 0, 1, 1, 3, 2, 0, 0, 1,  1,  3,  2,  3, 3, 8,  5, 12, 7,
                             3, 3, 7, 4, 9, 5, 9, 9, 20, 11, 24, 13, 6, 6, 13, 7, 15, 8})}}};
  return all;
}

class Published : public testing::TestWithParam<Example> {};

TEST_P(Published, HasTheResultOfTheDocument) {
  const Example& example = GetParam();
  for (const bool last : {false, true}) {
    Layer layer{"Convolution", "terroir1", example.attributes, example.w, {}};
    layer.attributes.emplace_back("layout", last ? "channels_last" : "channels_first");
    const Array x = last ? channels_last(example.x) : example.x, y = last ? channels_last(example.y) : example.y;
    const std::shared_ptr<Model> models[] = {model_from_file(x.dims, element::f32, {layer}, {y.dims}),
                                             model_from_builder(x.dims, element::f32, {layer})};
    for (const auto& model : models)
      for (const char* device : {"INTERPRETER", "CPU"}) {
        SCOPED_TRACE(std::string(device) + (last ? ", channels last" : ", channels first") +
                     (model == models[0] ? ", from a file" : ", from the builder"));
        const Outcome result = run(model, device, 1, x);
        ASSERT_EQ(result.outputs.size(), 1u);
        EXPECT_EQ(difference(y, result.outputs[0], 1e-6), "");
        EXPECT_TRUE(result.references.empty());
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Terroir1, Published, testing::ValuesIn(examples()),
                         [](const auto& test) { return test.param.name; });

TEST(Published, AreSixConvolutionsAndNineTransposedOnes) {
  int transposed = 0;
  for (const Example& example : examples()) transposed += example.attributes[0].first == "direction" ? 1 : 0;
  EXPECT_EQ(examples().size(), 15u);
  EXPECT_EQ(transposed, 9);
}

}  // namespace
}  // namespace terroir::test
