// The constructors of terroir/op/*.hpp: what they make is what the operation's attributes say.
#include <gtest/gtest.h>

#include "tests/support/caught.hpp"
#include "tests/unit/layer_text.hpp"

namespace terroir {
namespace {

using namespace op;

TEST(LayerConstructors, Products) {
  const auto image = input({1, 8, 9, 9});
  const auto weights = [](const Shape& shape) { return std::make_shared<v0::Constant>(element::f32, shape, 0.5f); };
  EXPECT_EQ(text(v1::Convolution(image, weights({4, 8, 3, 3}), Strides{2, 2}, CoordinateDiff{0, 1},
                                 CoordinateDiff{2, 1}, Strides{1, 2}),
                 {"strides", "pads_begin", "pads_end", "dilations", "auto_pad"}),
            "[1,4,5,4] strides=2, 2 pads_begin=0, 1 pads_end=2, 1 dilations=1, 2 auto_pad=explicit");
  EXPECT_EQ(text(v1::GroupConvolution(image, weights({8, 1, 1, 3, 3}), Strides{2, 2}, CoordinateDiff{0, 0},
                                      CoordinateDiff{0, 0}, Strides{1, 1}, PadType::SAME_UPPER),
                 {"auto_pad"}),
            "[1,8,5,5] auto_pad=same_upper");
  EXPECT_EQ(
      text(v1::ConvolutionBackpropData(image, weights({8, 4, 2, 2}), Strides{2, 2}, CoordinateDiff{0, 0},
                                       CoordinateDiff{0, 0}, Strides{1, 1}, PadType::EXPLICIT, CoordinateDiff{1, 0})),
      "[1,4,19,18]");
  EXPECT_EQ(
      text(v1::ConvolutionBackpropData(image, weights({8, 4, 2, 2}), list({20, 21}), Strides{2, 2},
                                       CoordinateDiff{0, 0}, CoordinateDiff{0, 0}, Strides{1, 1}, PadType::VALID)),
      "[1,4,20,21]");
  EXPECT_EQ(text(v1::GroupConvolutionBackpropData(image, weights({2, 4, 3, 2, 2}), Strides{1, 1}, CoordinateDiff{1, 1},
                                                  CoordinateDiff{0, 0}, Strides{1, 1})),
            "[1,6,9,9]");
  EXPECT_EQ(text(v1::GroupConvolutionBackpropData(image, weights({2, 4, 3, 2, 2}), list({18, 18}), Strides{2, 2},
                                                  CoordinateDiff{0, 0}, CoordinateDiff{0, 0}, Strides{1, 1})),
            "[1,6,18,18]");
  EXPECT_EQ(text(v0::MatMul(input({2, 5, 3}), input({5, 7}), true)), "[2,3,7]");
  EXPECT_EQ(text(v0::MatMul(input({3, 5}), input({7, 5}), false, true)), "[3,7]");
}

TEST(LayerConstructors, Pooling) {
  const auto image = input({1, 8, 9, 9});
  const Shape none{0, 0}, kernel{2, 2};
  const Strides two{2, 2}, one{1, 1};
  EXPECT_EQ(text(v1::MaxPool(image, two, none, none, kernel, RoundingType::CEIL), {"rounding_type"}),
            "[1,8,5,5] rounding_type=ceil");
  EXPECT_EQ(text(v1::AvgPool(image, two, none, Shape{1, 1}, kernel, true), {"exclude-pad", "pads_end"}),
            "[1,8,5,5] exclude-pad=true pads_end=1, 1");
  EXPECT_EQ(text(v8::MaxPool(image, two, Strides{3, 3}, none, none, kernel, RoundingType::FLOOR, PadType::EXPLICIT,
                             element::i32, 2),
                 {"dilations", "axis", "index_element_type"}),
            "[1,8,3,3] dilations=3, 3 axis=2 index_element_type=i32");
  EXPECT_EQ(text(v14::MaxPool(image, two, one, none, none, kernel, RoundingType::CEIL_TORCH), {"rounding_type"}),
            "[1,8,5,5] rounding_type=ceil_torch");
  EXPECT_EQ(text(v14::AvgPool(image, two, none, none, kernel, false, RoundingType::CEIL_TORCH)), "[1,8,5,5]");
  EXPECT_EQ(text(v16::AvgPool(image, two, Strides{3, 3}, none, none, kernel, false)), "[1,8,3,3]");
  EXPECT_EQ(text(v8::AdaptiveAvgPool(image, list({4, 3}))), "[1,8,4,3]");
  EXPECT_EQ(text(v8::AdaptiveMaxPool(image, list({4, 3}), element::i32), {"index_element_type"}),
            "[1,8,4,3] index_element_type=i32");
}

TEST(LayerConstructors, Elementwise) {
  const auto data = input({2, 3});
  EXPECT_EQ(text(v0::Clamp(data, -1, 2.5), {"min", "max"}), "[2,3] min=-1 max=2.5");
  EXPECT_EQ(v0::Convert(data, element::i32).get_element_type(), element::i32);
  EXPECT_EQ(text(v0::Elu(data, 0.25), {"alpha"}), "[2,3] alpha=0.25");
  EXPECT_EQ(text(v0::FakeQuantize(data, real(0), real(1), real(0), real(1), 256), {"levels"}), "[2,3] levels=256");
  EXPECT_EQ(text(v0::Gelu(data)), "[2,3]");
  EXPECT_EQ(text(v7::Gelu(data, GeluApproximationMode::TANH), {"approximation_mode"}), "[2,3] approximation_mode=TANH");
  EXPECT_EQ(text(v0::HardSigmoid(data, real(0.2f), real(0.5f))), "[2,3]");
  EXPECT_EQ(text(v0::PRelu(data, real(0.2f))), "[2,3]");
  EXPECT_EQ(text(v0::Selu(data, real(1), real(2))), "[2,3]");
  EXPECT_EQ(text(v4::Swish(data)), "[2,3]");
  EXPECT_EQ(text(v4::Swish(data, real(2))), "[2,3]");
  EXPECT_EQ(text(v5::Round(data, v5::Round::RoundMode::HALF_AWAY_FROM_ZERO), {"mode"}),
            "[2,3] mode=half_away_from_zero");
  EXPECT_EQ(v1::ConvertLike(data, number(1)).get_element_type(), element::i64);
  EXPECT_EQ(text(v1::Divide(data, real(2)), {"m_pythondiv"}), "[2,3] m_pythondiv=true");
  EXPECT_EQ(text(v1::Divide(data, real(2), false), {"m_pythondiv"}), "[2,3] m_pythondiv=false");
  EXPECT_EQ(text(v1::Add(data, input({3}), AutoBroadcastSpec(AutoBroadcastType::PDPD, 1)),
                 {"auto_broadcast", "auto_broadcast.auto_broadcast_axis"}),
            "[2,3] auto_broadcast=pdpd auto_broadcast.auto_broadcast_axis=1");
  EXPECT_EQ(caught([&] { v1::Add(data, input({3}), AutoBroadcastType::NONE); }).code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(text(v1::Select(input({2, 1}, element::boolean), data, real(0))), "[2,3]");
  EXPECT_EQ(text(v1::ReduceSum(data, list({1}), true)), "[2,1]");
  EXPECT_EQ(text(v1::ReduceMean(data, list({1}))), "[2]");
}

TEST(LayerConstructors, Normalization) {
  const auto image = input({1, 8, 9, 9});
  const auto channels = [] { return std::make_shared<v0::Constant>(element::f32, Shape{8}, 1.0f); };
  EXPECT_EQ(text(v0::BatchNormInference(image, channels(), channels(), channels(), channels(), 0.01), {"epsilon"}),
            "[1,8,9,9] epsilon=0.01");
  EXPECT_EQ(text(v5::BatchNormInference(image, channels(), channels(), channels(), channels(), 0.01)), "[1,8,9,9]");
  EXPECT_EQ(text(v0::LRN(image, list({1}), 0.5, 0.75, 2, 5), {"alpha", "beta", "bias", "size"}),
            "[1,8,9,9] alpha=0.5 beta=0.75 bias=2 size=5");
  EXPECT_EQ(text(v0::MVN(image, false, true, 0.125), {"across_channels", "eps"}),
            "[1,8,9,9] across_channels=false eps=0.125");
  EXPECT_EQ(text(v6::MVN(image, list({2, 3}), true, 0.125f, MVNEpsMode::OUTSIDE_SQRT), {"eps_mode"}),
            "[1,8,9,9] eps_mode=OUTSIDE_SQRT");
  EXPECT_EQ(text(v0::NormalizeL2(image, list({1}), 0.5f, EpsMode::MAX), {"eps_mode"}), "[1,8,9,9] eps_mode=max");
  EXPECT_EQ(text(v12::GroupNormalization(image, channels(), channels(), 4, 0.5), {"num_groups"}),
            "[1,8,9,9] num_groups=4");
  EXPECT_EQ(text(v1::Softmax(image, 2), {"axis"}), "[1,8,9,9] axis=2");
  EXPECT_EQ(text(v8::Softmax(image, -1), {"axis"}), "[1,8,9,9] axis=-1");
  EXPECT_EQ(text(v5::LogSoftmax(image, -1), {"axis"}), "[1,8,9,9] axis=-1");
}

TEST(LayerConstructors, Movement) {
  const auto image = input({1, 8, 4, 6});
  EXPECT_EQ(text(v0::Concat(OutputVector{image, image}, -1)), "[1,8,4,12]");
  EXPECT_EQ(text(v0::DepthToSpace(image, v0::DepthToSpace::DepthToSpaceMode::DEPTH_FIRST, 2), {"mode"}),
            "[1,2,8,12] mode=depth_first");
  EXPECT_EQ(text(v0::SpaceToDepth(image, v0::SpaceToDepth::SpaceToDepthMode::BLOCKS_FIRST, 2), {"mode"}),
            "[1,32,2,3] mode=blocks_first");
  EXPECT_EQ(text(v0::ShapeOf(image)), "[4]");
  EXPECT_EQ(v3::ShapeOf(image, element::i32).get_element_type(), element::i32);
  EXPECT_EQ(text(v0::ShuffleChannels(image, 1, 4), {"group"}), "[1,8,4,6] group=4");
  EXPECT_EQ(text(v0::Squeeze(image)), "[8,4,6]");
  EXPECT_EQ(text(v0::Squeeze(image, list({0}))), "[8,4,6]");
  EXPECT_EQ(text(v15::Squeeze(image, list({0}), true), {"allow_axis_skip"}), "[8,4,6] allow_axis_skip=true");
  EXPECT_EQ(text(v0::Unsqueeze(image, list({0}))), "[1,1,8,4,6]");
  EXPECT_EQ(text(v0::Tile(image, list({2, 1, 1, 1}))), "[2,8,4,6]");
  EXPECT_EQ(text(v1::Broadcast(image, list({2, 8, 4, 6}))), "[2,8,4,6]");
  EXPECT_EQ(text(v3::Broadcast(input({3}), list({2, 3}), list({1}))), "[2,3]");
  EXPECT_EQ(text(v3::Broadcast(image, list({3, 1, 1, 1}), BroadcastType::BIDIRECTIONAL)), "[3,8,4,6]");
  EXPECT_EQ(text(v1::Pad(image, list({0, 0, 1, 2}), list({0, 0, 3, 0}), PadMode::EDGE), {"pad_mode"}),
            "[1,8,8,8] pad_mode=edge");
  EXPECT_EQ(text(v12::Pad(image, list({0, 0, -1, 2}), list({0, 0, 3, 0}), real(1), PadMode::CONSTANT)), "[1,8,6,8]");
  EXPECT_EQ(text(v1::Reshape(image, list({0, -1}), true)), "[1,192]");
  EXPECT_EQ(text(v1::Reverse(image, list({1}), v1::Reverse::Mode::INDEX), {"mode"}), "[1,8,4,6] mode=index");
  EXPECT_EQ(text(v1::Split(image, number(1), 4)), "[1,2,4,6]");
  EXPECT_EQ(text(v1::VariadicSplit(image, number(1), list({3, 5}))), "[1,3,4,6]");
  EXPECT_EQ(text(v1::StridedSlice(image, list({0, 2}), list({0, 0}), list({1, 3}), {1, 0}, {1, 1}, {}, {1, 0})),
            "[2,4,6]");
  EXPECT_EQ(text(v1::StridedSlice(image, list({0, 2}), list({0, 5}), {1, 0}, {1, 0})), "[1,3,4,6]");
  EXPECT_EQ(text(v1::Transpose(image, list({0, 2, 3, 1}))), "[1,4,6,8]");
  EXPECT_EQ(text(v7::Roll(image, list({1}), list({2}))), "[1,8,4,6]");
  EXPECT_EQ(text(v8::Slice(image, list({1}), list({7}), list({2}), list({1}))), "[1,3,4,6]");
  EXPECT_EQ(text(v8::Slice(image, list({0, 1}), list({1, 7}), list({1, 2}))), "[1,3,4,6]");
}

TEST(LayerConstructors, Selection) {
  const auto data = input({5, 7});
  const auto indices = input({2}, element::i32);
  EXPECT_EQ(text(v1::Gather(data, indices, number(1))), "[5,2]");
  EXPECT_EQ(text(v7::Gather(data, input({5, 2}, element::i32), number(1), 1), {"batch_dims"}), "[5,2] batch_dims=1");
  EXPECT_EQ(text(v8::Gather(data, indices, number(0))), "[2,7]");
  EXPECT_EQ(text(v5::GatherND(data, input({3, 2}, element::i32))), "[3]");
  EXPECT_EQ(text(v8::GatherND(data, input({5, 1}, element::i32), 1), {"batch_dims"}), "[5] batch_dims=1");
  EXPECT_EQ(text(v6::GatherElements(data, input({2, 7}, element::i32), 0)), "[2,7]");
  EXPECT_EQ(v3::NonZero(data, element::i32).get_element_type(), element::i32);
  EXPECT_EQ(text(v3::ScatterUpdate(data, indices, input({2, 7}), number(0))), "[5,7]");
  EXPECT_EQ(text(v3::ScatterElementsUpdate(data, input({1, 7}, element::i32), input({1, 7}), number(0))), "[5,7]");
  EXPECT_EQ(text(v12::ScatterElementsUpdate(data, input({1, 7}, element::i32), input({1, 7}), number(0),
                                            v12::ScatterElementsUpdate::Reduction::MEAN, false),
                 {"reduction", "use_init_val"}),
            "[5,7] reduction=mean use_init_val=false");
  EXPECT_EQ(text(v3::ScatterNDUpdate(data, input({3, 2}, element::i32), input({3}))), "[5,7]");
  EXPECT_EQ(text(v1::OneHot(indices, number(4), real(1), real(0), -1)), "[2,4]");
  EXPECT_EQ(text(v1::TopK(data, number(3), 1, TopKMode::MIN, TopKSortType::SORT_VALUES), {"mode", "sort"}),
            "[5,3] mode=min sort=value");
  EXPECT_EQ(text(v3::TopK(data, number(3), 1, TopKMode::MAX, TopKSortType::SORT_INDICES, element::i64), {"sort"}),
            "[5,3] sort=index");
  EXPECT_EQ(text(v11::TopK(data, number(3), 1, TopKMode::MAX, TopKSortType::NONE, element::i64, true),
                 {"stable", "sort", "index_element_type"}),
            "[5,3] stable=true sort=none index_element_type=i64");
  EXPECT_EQ(text(v0::CumSum(data, number(1), true, true), {"exclusive", "reverse"}),
            "[5,7] exclusive=true reverse=true");
  EXPECT_EQ(text(v0::Range(number(0), number(5), number(2))), "[3]");
  EXPECT_EQ(v4::Range(number(0), number(5), number(2), element::f32).get_element_type(), element::f32);
  const auto heads = input({1, 2, 6, 8});
  EXPECT_EQ(text(v13::ScaledDotProductAttention(heads, heads, heads, true), {"causal"}), "[1,2,6,8] causal=true");
  EXPECT_EQ(text(v13::ScaledDotProductAttention(heads, heads, heads, input({6, 6}), real(0.5f), false)), "[1,2,6,8]");
  EXPECT_EQ(text(v13::ScaledDotProductAttention(heads, heads, heads, real(0), real(0.5f), input({1, 2, 1, 1}), true),
                 {"causal"}),
            "[1,2,6,8] causal=true");
}

TEST(LayerConstructors, Interpolate) {
  const auto image = input({1, 8, 4, 6});
  v0::Interpolate::Attributes old;
  old.axes = AxisSet{2, 3};
  old.mode = "linear";
  EXPECT_EQ(text(v0::Interpolate(image, list({8, 9}), old), {"axes", "mode", "align_corners"}),
            "[1,8,8,9] axes=2, 3 mode=linear align_corners=true");
  using Base = op::util::InterpolateBase;
  Base::InterpolateAttrs attributes(Base::InterpolateMode::LINEAR_ONNX, Base::ShapeCalcMode::SIZES, {0, 0, 0, 0},
                                    {0, 0, 0, 0}, Base::CoordinateTransformMode::ASYMMETRIC, Base::NearestMode::CEIL,
                                    true, -0.5);
  const auto scales = std::make_shared<v0::Constant>(element::f32, Shape{2}, std::vector<float>{2, 1.5f});
  EXPECT_EQ(text(v4::Interpolate(image, list({8, 9}), scales, list({2, 3}), attributes),
                 {"mode", "shape_calculation_mode", "coordinate_transformation_mode", "nearest_mode", "antialias",
                  "cube_coeff"}),
            "[1,8,8,9] mode=linear_onnx shape_calculation_mode=sizes coordinate_transformation_mode=asymmetric "
            "nearest_mode=ceil antialias=true cube_coeff=-0.5");
  attributes.shape_calculation_mode = Base::ShapeCalcMode::SCALES;
  attributes.mode = Base::InterpolateMode::NEAREST;
  EXPECT_EQ(text(v11::Interpolate(image, scales, list({2, 3}), attributes)), "[1,8,8,9]");
}

}  // namespace
}  // namespace terroir
