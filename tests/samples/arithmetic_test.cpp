// Operations of one inference, counted by hand.
#include "samples/benchmark_app/arithmetic.hpp"

#include <gtest/gtest.h>

namespace benchmark_app {
namespace {

using terroir::Shape;
namespace element = terroir::element;

using Inputs = std::vector<Shape>;

double flops_of(const std::string& type, const std::string& opset, const Inputs& shapes,
                const terroir::AnyMap& attributes) {
  terroir::ModelBuilder builder;
  std::vector<terroir::Output<terroir::Node>> inputs;
  for (const Shape& shape : shapes) {
    inputs.push_back(inputs.empty() ? builder.parameter(element::f32, terroir::PartialShape(shape))
                     : shape.size() == 1 && type == "LSTMSequence" && inputs.size() == 3
                         ? builder.constant(element::i64, shape, {5})
                         : builder.constant(element::f32, shape, {0.5f}));
  }
  builder.result(builder.op(type, opset, inputs, attributes));
  return count_flops(*builder.build());
}

const terroir::AnyMap kWindow{
    {"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"auto_pad", "explicit"}};

TEST(CountFlops, OfConvolutions) {
  EXPECT_EQ(flops_of("Convolution", "opset1", {{2, 3, 6, 7}, {5, 3, 3, 2}}, kWindow),
            2.0 * (2 * 5 * 4 * 6) * (3 * 3 * 2));
  EXPECT_EQ(flops_of("GroupConvolution", "opset1", {{1, 4, 6, 6}, {2, 3, 2, 3, 3}}, kWindow),
            2.0 * (6 * 4 * 4) * (2 * 3 * 3));
  EXPECT_EQ(flops_of("ConvolutionBackpropData", "opset1", {{1, 4, 5, 5}, {4, 3, 2, 2}}, kWindow),
            2.0 * (4 * 5 * 5) * (3 * 2 * 2));
}

TEST(CountFlops, OfMatrixProducts) {
  EXPECT_EQ(flops_of("MatMul", "opset1", {{7, 2, 3}, {3, 5}}, {}), 2.0 * 7 * 2 * 5 * 3);
  EXPECT_EQ(flops_of("MatMul", "opset1", {{3, 2}, {3, 5}}, {{"transpose_a", "true"}}), 2.0 * 2 * 5 * 3);
  EXPECT_EQ(flops_of("MatMul", "opset1", {{3}, {3}}, {}), 2.0 * 3);
}

TEST(CountFlops, OfRecurrentLayers) {
  // N 2, T 5, I 3, H 4: X, H, C, lengths, W, R, B.
  EXPECT_EQ(flops_of("LSTMSequence", "opset5", {{2, 5, 3}, {2, 1, 4}, {2, 1, 4}, {2}, {1, 16, 3}, {1, 16, 4}, {1, 16}},
                     {{"hidden_size", "4"}, {"direction", "forward"}}),
            2.0 * (16 * 3 + 16 * 4) * 2 * 5);
  EXPECT_EQ(flops_of("GRUCell", "opset3", {{2, 3}, {2, 4}, {12, 3}, {12, 4}, {12}}, {{"hidden_size", "4"}}),
            2.0 * (12 * 3 + 12 * 4) * 2);
}

TEST(CountFlops, IsNothingForOtherLayersAndUnknownShapes) {
  EXPECT_EQ(flops_of("ReLU", "opset1", {{2, 3}}, {}), 0);
  terroir::ModelBuilder builder;
  const auto x = builder.parameter(element::f32, "[?,3]");
  builder.result(builder.op("MatMul", "opset1", {x, builder.constant(element::f32, Shape{3, 4}, {1.0f})}));
  EXPECT_EQ(count_flops(*builder.build()), 0);
}

}  // namespace
}  // namespace benchmark_app
