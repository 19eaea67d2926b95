// The portable rewrites: graph text before and after.
#include "ops/rewrites/rewrites.hpp"

#include <gtest/gtest.h>

#include <limits>

#include <algorithm>

#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

ir::Pass fold() { return ops::fold_constants(ops::builtin_registry()); }
ir::Pass convert_depthwise() { return ops::convert_depthwise_to_multiply(ops::builtin_registry()); }
ir::Pass decompose_batch_norm() { return ops::decompose_batch_norm(ops::builtin_registry()); }
ir::Pass fold_channels() { return ops::fold_channels_into_convolution(ops::builtin_registry()); }
ir::Pass fold_scale() { return ops::fold_scale_into_convolution(ops::builtin_registry()); }

TEST(FoldConstants, ComputesWhatIsKnown) {
  GraphMaker m;
  auto x = m.input({2, 3});
  auto c = m.op("Multiply", {m.op("Add", {m.constant({3}, {1, 2, 3}), m.scalar(1)}), m.constant({3}, {2, 2, 2})});
  m.result(m.op("Add", {x, c}));
  m.result(c);  // a constant may be a result
  expect_rewrite("fold_constants", m.graph(), {fold()});
}

TEST(FoldConstants, ComputesShapesAndEveryOutput) {
  GraphMaker m;
  auto x = m.input({2, 3, 4});
  auto last = m.op("Gather", {m.op("ShapeOf", {x}), m.integers({2}), m.scalar_integer(0)});
  auto target = m.op("Concat", {m.integers({-1}), last}, {{"axis", "0"}});
  m.result(m.op("Reshape", {x, target}, {{"special_zero", "false"}}));
  auto split = m.op("Split", {m.constant({4}, {1, 2, 3, 4}), m.scalar_integer(0)}, {{"num_splits", "2"}});
  m.result(m.op("Add", {m.op("ReduceSum", {x, m.integers({0, 1, 2})}), m.op("Add", {split, {split.node, 1}})}));
  expect_rewrite("fold_constants_of_shapes", m.graph(), {fold()});
}

TEST(FoldConstants, KeepsAValueForLaterReadersAndForThoseItDoesNotFold) {
  GraphMaker m;
  auto first = m.op("Add", {m.constant({2}, {1, 2}), m.scalar(1)});
  auto second = m.op("Multiply", {first, m.scalar(2)});
  auto third = m.op("Multiply", {m.op("Add", {second, first}), first});
  m.result(m.op("Add", {m.op("Multiply", {m.input({2}), second}), third}));
  test::expect_same_as_interpreter(m, 0);
  const auto rewritten = cpu::rewrite_portable(m.graph());
  EXPECT_EQ(rewritten->node_count(), 6u);  // the input, two operations, two constants, the result
}

TEST(FoldConstants, LeavesWhatARunBrings) {
  GraphMaker m;
  auto x = m.input(PartialShape("?,3"));
  m.result(m.op("ShapeOf", {x}));
  m.result(m.op("Add", {x, m.constant({3}, {1, 2, 3})}));
  m.result(m.op("RandomUniform", {m.integers({2}), m.scalar(0), m.scalar(1)},
                {{"output_type", "f32"}, {"global_seed", "0"}, {"op_seed", "0"}}));
  expect_refusal(m.graph(), {fold()});
}

TEST(FoldConstants, LeavesAnOpThatRefusesItsValues) {
  GraphMaker m;
  m.result(m.op("GatherElements", {m.constant({2}, {1, 2}), m.integers({5})}, {{"axis", "0"}}));
  expect_refusal(m.graph(), {fold()});
}

TEST(RemoveNoOps, TakesOutWhatComputesNothing) {
  GraphMaker m;
  auto x = m.input({1, 2, 3});
  auto y = m.op("ReLU", {x});
  y = m.op("Multiply", {y, m.scalar(1)});
  y = m.op("Add", {m.constant({3}, {0, 0, 0}), y});
  y = m.op("Subtract", {y, m.scalar(0)});
  y = m.op("Divide", {y, m.scalar(1)});
  y = m.op("Convert", {y}, {{"destination_type", "f32"}});
  y = m.op("Transpose", {y, m.integers({0, 1, 2})});
  y = m.op("Concat", {y}, {{"axis", "1"}});
  y = m.op("Reshape", {y, m.integers({1, 2, 3})}, {{"special_zero", "false"}});
  y = m.op("Pad", {y, m.integers({0, 0, 0}), m.integers({0, 0, 0})}, {{"pad_mode", "reflect"}});
  m.result(m.op("Sigmoid", {y}));
  expect_rewrite("remove_no_ops", m.graph(), {ops::remove_no_ops()});
}

TEST(RemoveNoOps, AlsoBehindAReshapeThatActs) {
  GraphMaker m;
  auto y = m.op("Reshape", {m.op("ReLU", {m.input({2, 3})}), m.integers({6})}, {{"special_zero", "false"}});
  m.result(m.op("Sigmoid", {m.op("Multiply", {y, m.scalar(1)})}));
  expect_rewrite("remove_no_ops_behind_a_reshape", m.graph(), {ops::remove_no_ops()});
}

// What computes nothing whatever the extents goes at once: passes must find the same in a dynamic model as in a static.
TEST(RemoveNoOps, OfUnknownExtents) {
  GraphMaker m;
  auto y = m.op("ReLU", {m.input(PartialShape("?,2,?"))});
  y = m.op("Multiply", {y, m.constant({2, 1}, {1, 1})});
  y = m.op("Add", {m.scalar(0), y});
  y = m.op("Convert", {y}, {{"destination_type", "f32"}});
  y = m.op("Transpose", {y, m.integers({0, 1, 2})});
  y = m.op("Concat", {y}, {{"axis", "1"}});
  y = m.op("Reshape", {y, m.integers({0, 0, 0})}, {{"special_zero", "true"}});
  y = m.op("Pad", {y, m.integers({0, 0, 0}), m.integers({0, 0, 0})}, {{"pad_mode", "edge"}});
  m.result(m.op("Sigmoid", {y}));
  expect_rewrite("remove_no_ops_unknown", m.graph(), {ops::remove_no_ops()});
}

TEST(RemoveNoOps, MayLeaveAParameterForAResult) {
  GraphMaker m;
  m.result(m.op("Multiply", {m.input({2}), m.scalar(1)}));
  expect_rewrite("remove_no_ops_all", m.graph(), {ops::remove_no_ops()});
}

TEST(RemoveNoOps, RefusesWhatActs) {
  GraphMaker m;
  auto x = m.input({3});
  auto wide = m.input({2, 3, 1});
  m.result(m.op("Multiply", {x, m.constant({2, 3}, {1, 1, 1, 1, 1, 1})}));  // broadcasts x
  m.result(m.op("Add", {x, m.constant({3}, {0, 0, 1})}));
  m.result(m.op("Subtract", {m.scalar(0), x}));
  m.result(m.op("Divide", {m.scalar(1), x}));
  m.result(m.op("Convert", {x}, {{"destination_type", "i32"}}));
  m.result(m.op("Transpose", {wide, m.integers({1, 0, 2})}));
  m.result(m.op("Squeeze", {wide, m.integers({2})}));
  m.result(m.op("Pad", {x, m.integers({0}), m.integers({1})}, {{"pad_mode", "edge"}}));
  m.result(m.op("Multiply", {m.input(PartialShape::dynamic()), m.constant({1}, {1})}));  // of unknown rank
  m.result(m.op("Multiply", {m.input(PartialShape("?")), m.constant({2}, {1, 1})}));     // of one element, perhaps
  m.result(m.op("Reshape", {m.input(PartialShape("?,?")), m.integers({0, -1})}, {{"special_zero", "true"}}));
  expect_refusal(m.graph(), {ops::remove_no_ops()});
}

ir::Value batch_norm(GraphMaker& m, ir::Value data, ir::Value mean) {
  return m.op("BatchNormInference",
              {data, m.constant({2}, {2, 4}), m.constant({2}, {1, -1}), mean, m.constant({2}, {0.75f, 3.75f})},
              {{"epsilon", "0.25"}});
}

TEST(DecomposeBatchNorm, IsAScaleAndAShift) {
  GraphMaker m;  // scale = {2, 4} / sqrt({0.75, 3.75} + 0.25) = {2, 2}; shift = {1, -1} - {3, 5} * scale = {-5, -11}
  auto x = m.input({1, 2, 3, 3}), mean = m.constant({2}, {3, 5});
  m.result(batch_norm(m, x, mean));
  expect_rewrite("decompose_batch_norm", m.graph(), {decompose_batch_norm()});
}

TEST(DecomposeBatchNorm, RefusesParametersOfARun) {
  GraphMaker m;
  auto x = m.input({1, 2, 3, 3}), mean = m.input({2});
  m.result(batch_norm(m, x, mean));
  expect_refusal(m.graph(), {decompose_batch_norm()});
}

TEST(DecomposeBatchNorm, RefusesAnUnknownNumberOfChannels) {
  GraphMaker m;
  auto x = m.input(PartialShape{1, Dimension(1, 7), 3}), mean = m.constant({2}, {3, 5});
  m.result(batch_norm(m, x, mean));
  expect_refusal(m.graph(), {decompose_batch_norm()});
}

TEST(DecomposeBatchNorm, RefusesAScaleThatIsNotFinite) {
  GraphMaker m;  // 1e30 / sqrt(1e-30 + 1e-30) = 7e44
  m.result(m.op("BatchNormInference",
                {m.input({1, 1, 3}), m.constant({1}, {1e30f}), m.constant({1}, {0}), m.constant({1}, {0}),
                 m.constant({1}, {1e-30f})},
                {{"epsilon", "1e-30"}}));
  expect_refusal(m.graph(), {decompose_batch_norm()});
}

TEST(ConvertDepthwise, OfOneElementIsAProduct) {
  GraphMaker m;
  const AttributeTexts window = {{"strides", "1,1"}, {"dilations", "3,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}};
  auto x = m.input(PartialShape("?,3,1..9,7"));
  auto y = m.op("GroupConvolution", {x, m.constant({3, 1, 1, 1, 1}, {2, 3, 4})}, window);
  m.result(m.op("Add", {y, m.constant({3, 1, 1}, {5, 6, 7})}));
  const AttributeTexts same = {
      {"strides", "1"}, {"dilations", "1"}, {"pads_begin", "7"}, {"pads_end", "7"}, {"auto_pad", "same_upper"}};
  m.result(m.op("Convolution", {m.input({2, 1, 5}), m.constant({1, 1, 1}, {0.5f})}, same));
  expect_rewrite("convert_depthwise", m.graph(), {convert_depthwise()});
}

TEST(ConvertDepthwise, Refuses) {
  const auto window = [](const char* stride, const char* begin, const char* end) {
    return AttributeTexts{{"strides", stride}, {"dilations", "1"}, {"pads_begin", begin}, {"pads_end", end}};
  };
  GraphMaker m;
  auto x = m.input({1, 2, 4}), w = m.constant({2, 1, 1, 1}, {2, 3});
  m.result(m.op("GroupConvolution", {x, w}, window("2", "0", "0")));
  m.result(m.op("GroupConvolution", {x, w}, window("1", "1", "0")));
  m.result(m.op("GroupConvolution", {x, w}, window("1", "0", "1")));
  m.result(m.op("GroupConvolution", {x, m.input({2, 1, 1, 1})}, window("1", "0", "0")));
  m.result(m.op("GroupConvolution", {x, m.constant({2, 1, 1, 2}, {1, 2, 3, 4})}, window("1", "0", "0")));
  m.result(m.op("GroupConvolution", {x, m.constant({2, 2, 1, 1}, {1, 2, 3, 4})}, window("1", "0", "0")));
  m.result(m.op("Convolution", {x, m.constant({1, 2, 1}, {1, 2})}, window("1", "0", "0")));
  m.result(m.op("Convolution", {x, m.constant({2, 2, 1}, {1, 2, 3, 4})}, window("1", "0", "0")));
  m.result(m.op("GroupConvolution", {m.input(PartialShape("1,2,?")), w}, window("1", "0", "0")));  // an error for 0
  // One channel would be broadcast to two.
  m.result(m.op("GroupConvolution", {m.input(PartialShape("1,?,4")), w}, window("1", "0", "0")));
  m.result(m.op("Convolution", {m.input({1, 1, 4}), m.constant({2, 1, 1}, {1, 2})}, window("1", "0", "0")));
  expect_refusal(m.graph(), {convert_depthwise()});
}

TEST(FoldScale, GoesIntoTheWeights) {
  GraphMaker m;
  const AttributeTexts window = {{"strides", "1"}, {"dilations", "1"}, {"pads_begin", "0"}, {"pads_end", "0"}};
  auto x = m.input({1, 2, 4});
  auto y = m.op("Convolution", {x, m.constant({2, 2, 1}, {1, 2, 3, 4})}, window);
  m.result(m.op("Multiply", {m.constant({1, 2, 1}, {2, 10}), y}));
  auto z = m.op("GroupConvolution", {x, m.constant({2, 1, 1, 1}, {5, 7})}, window);
  m.result(m.op("Multiply", {m.op("Add", {m.constant({2, 1}, {1, 2}), z}), m.constant({2, 1}, {3, -1})}));
  expect_rewrite("fold_scale", m.graph(), {fold_scale()});
}

TEST(FoldScale, BatchNormsVanishInConvolutions) {
  GraphMaker m;
  const AttributeTexts window = {{"strides", "1"}, {"dilations", "1"}, {"pads_begin", "0"}, {"pads_end", "0"}};
  auto y = m.op("Convolution", {m.input({1, 1, 4}), m.constant({2, 1, 2}, {1, 2, 3, 4})}, window);
  auto mean = m.constant({2}, {3, 5});
  m.result(m.op("ReLU", {batch_norm(m, y, mean)}));
  expect_rewrite("fold_batch_norm", m.graph(), {decompose_batch_norm(), ops::remove_no_ops(), fold_scale()});
}

TEST(FoldScale, Refuses) {
  const AttributeTexts window = {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}};
  GraphMaker m;
  auto x = m.input({2, 2, 2, 2});
  const auto conv = [&] { return m.op("Convolution", {x, m.constant({2, 2, 1, 1}, {1, 2, 3, 4})}, window); };
  m.result(m.op("Multiply", {conv(), m.constant({2}, {2, 3})}));           // along the width
  m.result(m.op("Multiply", {conv(), m.input({1, 2, 1, 1})}));             // known at run time only
  m.result(m.op("Multiply", {conv(), m.constant({2, 1, 1, 1}, {2, 3})}));  // along the images
  m.result(m.op("Multiply", {conv(), m.constant({2, 1, 1}, {2, 3})},       // along the images, too
                {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "0"}}));
  auto shared = conv();
  m.result(shared);
  m.result(m.op("Multiply", {shared, m.constant({1, 2, 1, 1}, {2, 3})}));  // somebody else reads it
  auto transposed = m.op("ConvolutionBackpropData", {x, m.constant({2, 2, 1, 1}, {1, 2, 3, 4})}, window);
  m.result(m.op("Multiply", {transposed, m.constant({1, 2, 1, 1}, {2, 3})}));
  m.result(m.op("Multiply", {m.op("Convolution", {x, m.input({2, 2, 1, 1})}, window),
                             m.constant({1, 2, 1, 1}, {2, 3})}));  // weights of a run
  // Along the images: a rank more puts the channels on axis 2 of the result.
  m.result(m.op("Multiply", {conv(), m.constant({1, 2, 1, 1, 1}, {2, 3})}));
  m.result(
      m.op("Multiply", {m.op("Add", {conv(), m.constant({1, 2, 1, 1, 1}, {1, 2})}), m.constant({2, 1, 1, 1}, {2, 3})}));
  // Products of weights, or of the bias, and the scale that are not finite.
  m.result(m.op("Multiply", {m.op("Convolution", {x, m.constant({2, 2, 1, 1}, {1, 1, 1e30f, 1})}, window),
                             m.constant({1, 2, 1, 1}, {2, 1e30f})}));
  m.result(m.op("Multiply",
                {m.op("Add", {conv(), m.constant({1, 2, 1, 1}, {1e30f, 1})}), m.constant({1, 2, 1, 1}, {1e30f, 2})}));
  expect_refusal(m.graph(), {fold_scale()});
}

/// What preprocessing puts in front of a convolution: bytes -> numbers, other order of colours, another size, means and
/// scales.
ir::Value preprocessed(GraphMaker& m, ir::Value image, bool channels_last) {
  const int64_t axis = channels_last ? 3 : 1;
  const ir::Dims per_channel = channels_last ? ir::Dims{1, 1, 1, 3} : ir::Dims{1, 3, 1, 1};
  auto y = m.op("Convert", {image}, {{"destination_type", "f32"}});
  y = m.op("Gather", {y, m.integers({2, 0, 1}), m.scalar_integer(axis)});
  y = m.op("Interpolate",
           {y, m.integers({6, 8}), m.constant({2}, {1, 1}), channels_last ? m.integers({1, 2}) : m.integers({2, 3})},
           {{"mode", "linear_onnx"}, {"shape_calculation_mode", "sizes"}}, "", "opset4");
  y = m.op("Subtract", {y, m.constant(per_channel, {100, 110, 120})});
  y = m.op("Divide", {y, m.constant(per_channel, {50, 60, 70})});
  return channels_last ? m.op("Transpose", {y, m.integers({0, 3, 1, 2})}) : y;
}

TEST(FoldChannels, OrderAndScaleGoIntoTheWeights) {
  for (const bool channels_last : {false, true}) {
    GraphMaker m;
    auto image = m.input(channels_last ? PartialShape{2, 5, 7, 3} : PartialShape{2, 3, 5, 7}, element::u8);
    m.result(m.conv(preprocessed(m, image, channels_last), 16, 3, 1));
    const auto folded = cpu::rewrite_portable(m.graph());
    for (const ir::NodeId id : folded->nodes()) {
      EXPECT_FALSE(folded->node(id).is("Gather"));
      EXPECT_FALSE(folded->node(id).is("Divide"));
    }
    HostTensor bytes(element::u8, channels_last ? ir::Dims{2, 5, 7, 3} : ir::Dims{2, 3, 5, 7});
    for (int64_t i = 0; i < bytes.view().count(); ++i)
      static_cast<uint8_t*>(bytes.writable().data)[i] = static_cast<uint8_t>(i * 37);
    const std::vector<std::vector<HostTensor>> inputs{{bytes}};
    expect_same_as_interpreter(m.graph(), inputs);
  }
}

TEST(FoldChannels, EachForm) {
  GraphMaker m;
  const AttributeTexts window = {{"strides", "1"}, {"dilations", "1"}, {"pads_begin", "1"}, {"pads_end", "0"}};
  auto x = m.input({1, 2, 4});
  const auto conv = [&](ir::Value y) {
    m.result(m.op("Convolution", {y, m.constant({1, 2, 2}, {1, 2, 3, 4})}, window));
  };
  conv(m.op("Multiply", {m.constant({2, 1}, {2, 10}), x}));
  conv(m.op("Divide", {x, m.constant({1, 2, 1}, {2, 4})}));
  conv(m.op("Multiply", {x, m.scalar(3)}));
  conv(m.op("Add", {m.op("Gather", {x, m.integers({-1, 0}), m.scalar_integer(-2)}), m.constant({1, 2, 1}, {5, 6})}));
  expect_rewrite("fold_channels", m.graph(), {fold_channels()});
  test::expect_same_as_interpreter(m);
}

TEST(FoldChannels, NoChannels) {
  GraphMaker m;
  auto x = m.input({1, 0, 4});
  auto gathered = m.op("Gather", {x, m.integers({}), m.scalar_integer(1)});
  auto scaled = m.op("Multiply", {x, m.constant({0, 1}, {})});
  for (const ir::Value y : {gathered, scaled})
    m.result(m.op("Convolution", {y, m.constant({2, 0, 1}, {})},
                  {{"strides", "1"}, {"dilations", "1"}, {"pads_begin", "0"}, {"pads_end", "0"}}));
  test::expect_same_as_interpreter(m);
}

TEST(FoldChannels, Refuses) {
  GraphMaker m;
  const AttributeTexts window = {{"strides", "1"}, {"dilations", "1"}, {"pads_begin", "1"}, {"pads_end", "0"}};
  auto x = m.input({1, 2, 2});
  const auto conv = [&](ir::Value y) {
    m.result(m.op("Convolution", {y, m.constant({1, 2, 2}, {1, 2, 3, 4})}, window));
  };
  conv(m.op("Multiply", {x, m.constant({1, 1, 2}, {2, 10})}));         // along the width
  conv(m.op("Divide", {m.constant({2, 1}, {2, 10}), x}));              // of the constant
  conv(m.op("Divide", {x, m.constant({2, 1}, {2, 0})}));               // not finite
  conv(m.op("Multiply", {x, m.input({1, 2, 1})}));                     // known at run time only
  conv(m.op("Gather", {x, m.integers({1, 1}), m.scalar_integer(1)}));  // takes one twice
  conv(m.op("Gather", {x, m.integers({1, 0}), m.scalar_integer(2)}));  // along the width
  conv(m.op("Multiply", {m.op("Exp", {x}), m.constant({2}, {1, 2})},   // along the images
            {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "2"}}));
  conv(m.op("ReLU", {m.op("Multiply", {x, m.constant({2, 1}, {2, -3})})}));  // a function between them
  auto shared = m.op("Multiply", {x, m.constant({2, 1}, {2, 3})});
  conv(shared);
  m.result(shared);  // somebody else reads it
  const auto images =
      m.op("Reshape", {m.input(PartialShape("?,2,?")), m.integers({0, 2, -1})}, {{"special_zero", "true"}});
  conv(m.op("Multiply", {images, m.constant({2, 1}, {2, 3})}));  // for the convolution before, if nothing is reshaped
  expect_refusal(m.graph(), {fold_channels()});
}

AttributeTexts window_of(const std::string& begin, const std::string& end, const std::string& auto_pad = "explicit") {
  return {{"strides", "2,1"}, {"dilations", "1,1"}, {"pads_begin", begin}, {"pads_end", end}, {"auto_pad", auto_pad}};
}

TEST(FoldPads, EachForm) {
  GraphMaker m;
  auto x = m.input({1, 4, 5, 6});
  const auto padded = [&](ir::Value y) {
    return m.op("Pad", {y, m.integers({0, 0, 1, 0}), m.integers({0, 0, 0, 3})}, {{"pad_mode", "constant"}});
  };
  auto zero =
      m.op("Pad", {x, m.integers({0, 0, 1, 2}), m.integers({0, 0, 2, 2}), m.scalar(0)}, {{"pad_mode", "constant"}});
  m.result(m.op("Convolution", {zero, m.random({2, 4, 3, 3}, 1)}, window_of("1,0", "0,1")));
  m.result(zero);  // another reader keeps it
  m.result(m.op("Convolution", {padded(x), m.random({2, 4, 2, 2}, 2)}, window_of("7,7", "7,7", "valid")));
  m.result(m.op("GroupConvolution", {padded(padded(m.input(PartialShape("?,4,2..,6")))), m.random({4, 1, 1, 3, 3}, 3)},
                window_of("0,0", "0,0")));
  expect_rewrite("fold_pads", m.graph(), {ops::fold_pads()});
  const std::vector<std::vector<HostTensor>> inputs = {
      {random_tensor({1, 4, 5, 6}, 1), random_tensor({2, 4, 3, 6}, 2)},
      {random_tensor({1, 4, 5, 6}, 3), random_tensor({1, 4, 9, 6}, 4)}};
  expect_same_as_interpreter(m.graph(), inputs);
}

TEST(FoldPads, Refuses) {
  GraphMaker m;
  auto x = m.input({1, 4, 5, 6});
  const auto conv = [&](ir::Value y, const std::string& auto_pad = "explicit") {
    m.result(m.op("Convolution", {y, m.random({2, 4, 2, 2}, 1)}, window_of("0,0", "0,0", auto_pad)));
  };
  const auto pad = [&](std::vector<int64_t> begin, std::vector<int64_t> end, const char* mode, float value) {
    return m.op("Pad", {x, m.integers(std::move(begin)), m.integers(std::move(end)), m.scalar(value)},
                {{"pad_mode", mode}});
  };
  conv(pad({0, 0, 1, 1}, {0, 0, 1, 1}, "constant", 1));   // other values
  conv(pad({0, 0, 1, 1}, {0, 0, 1, 1}, "reflect", 0));    // another mode
  conv(pad({0, 0, 1, -1}, {0, 0, 1, 1}, "constant", 0));  // cut
  conv(pad({1, 0, 1, 1}, {0, 0, 1, 1}, "constant", 0));   // more images
  conv(pad({0, 0, 1, 1}, {0, 0, 1, 1}, "constant", 0), "same_upper");
  conv(m.op("Pad",
            {m.op("Slice", {x, m.integers({0}), m.integers({2}), m.integers({1}), m.integers({1})}),
             m.integers({0, 1, 1, 0}), m.integers({0, 1, 0, 0})},
            {{"pad_mode", "constant"}}));  // more channels
  conv(m.op("Pad", {m.input({1, 4, 0, 6}), m.integers({0, 0, 3, 0}), m.integers({0, 0, 0, 0})},
            {{"pad_mode", "constant"}}));  // around nothing
  conv(m.op("Pad", {x, m.integers({0, 0, 1, 1}), m.integers({0, 0, 1, 1}), m.input({})}, {{"pad_mode", "constant"}}));
  // Products of positions.
  const ir::Value around = pad({0, 0, 1, 1}, {0, 0, 1, 1}, "constant", 0);
  m.result(m.op("Convolution", {around, m.random({2, 4, 1, 1}, 1)}, window_of("0,0", "0,0")));
  m.result(m.op("GroupConvolution", {around, m.random({2, 1, 2, 1, 1}, 1)}, window_of("0,0", "0,0")));
  expect_refusal(m.graph(), {ops::fold_pads()});
  test::expect_same_as_interpreter(m);
}

// Then the convolution would be refused for a number that is nowhere in the model.
TEST(FoldPads, RefusesMoreThanWindowsTake) {
  GraphMaker m;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const auto padded = [&](int64_t pads) {
    return m.op("Pad", {m.input({1, 1, 2, 2}), m.integers({0, 0, 0, pads}), m.integers({0, 0, 0, 0})},
                {{"pad_mode", "constant"}});
  };
  m.result(m.op("Convolution", {padded(kMost), m.random({1, 1, 1, 2}, 1)}, window_of("0,1", "0,0")));
  m.result(m.op("Convolution", {padded(kMost + 1), m.random({1, 1, 1, 2}, 1)}, window_of("0,0", "0,0")));
  expect_refusal(m.graph(), {ops::fold_pads()});
}

/// A maximum over windows of 3 by 2 of what two zeros before and one behind each axis surround.
ir::Value pool_of_padded(GraphMaker& m, ir::Value x, const AttributeTexts& more, const char* opset = "opset1") {
  AttributeTexts attributes = {{"strides", "2,1"}, {"kernel", "3,2"}, {"pads_begin", "0,0"}, {"pads_end", "1,0"}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  const ir::Value padded =
      m.op("Pad", {x, m.integers({0, 0, 2, 1}), m.integers({0, 0, 1, 1})}, {{"pad_mode", "constant"}});
  return m.op("MaxPool", {padded}, attributes, "", opset);
}

TEST(FoldPads, IntoMaximaOfWhatIsNotNegative) {
  GraphMaker m;
  auto x = m.input({2, 3, 5, 6});
  m.result(pool_of_padded(m, m.op("ReLU", {x}), {}));
  m.result(pool_of_padded(m, m.op("Sigmoid", {x}), {{"auto_pad", "valid"}}));
  m.result(pool_of_padded(m, m.op("Clamp", {x}, {{"min", "0"}, {"max", "6"}}), {{"dilations", "1,1"}}, "opset8"));
  m.result(pool_of_padded(m, m.op("ReLU", {m.input({1, 1, 1, 1})}), {}, "opset14"));
  expect_rewrite("fold_pads_into_maxima", m.graph(), {ops::fold_pads()});
  test::expect_same_as_interpreter(m);
}

TEST(FoldPads, RefusesMaximaThatZerosWouldChange) {
  GraphMaker m;
  auto x = m.op("ReLU", {m.input({2, 3, 5, 6})});
  m.result(pool_of_padded(m, m.op("Tanh", {x}), {}));                                  // negative, perhaps
  m.result(pool_of_padded(m, m.op("Clamp", {x}, {{"min", "-1"}, {"max", "1"}}), {}));  // likewise
  m.result(pool_of_padded(m, x, {{"rounding_type", "ceil"}}));                         // may see pads alone
  m.result(pool_of_padded(m, x, {{"dilations", "2,1"}}, "opset8"));                    // likewise
  m.result({pool_of_padded(m, x, {}, "opset8").node, 1});                              // places
  m.result(m.op("MaxPool",
                {m.op("Pad", {x, m.integers({0, 0, 1, 0}), m.integers({0, 0, 0, 2})}, {{"pad_mode", "constant"}})},
                {{"strides", "1,1"}, {"kernel", "2,2"}, {"pads_begin", "1,0"}, {"pads_end", "0,0"}}, "", "opset1"));
  expect_refusal(m.graph(), {ops::fold_pads()});
  test::expect_same_as_interpreter(m);
}

/// A Convolution with windows of 2 along each axis and a zero behind each.
ir::Value conv_of(GraphMaker& m, ir::Value y, const std::string& auto_pad = "explicit") {
  const PartialShape& shape = m.graph().port(y).shape;
  ir::Dims filter(shape.size(), 2);
  filter[1] = shape[1].get_length();
  std::string ones = "1", zeros = "0";
  for (size_t i = 3; i < shape.size(); ++i) ones += ",1", zeros += ",0";
  return m.op(
      "Convolution", {y, m.random(filter, 7)},
      {{"strides", ones}, {"dilations", ones}, {"pads_begin", zeros}, {"pads_end", ones}, {"auto_pad", auto_pad}});
}

ir::Value zeros_around(GraphMaker& m, ir::Value y, std::vector<int64_t> begin, std::vector<int64_t> end) {
  return m.op("Pad", {y, m.integers(std::move(begin)), m.integers(std::move(end))}, {{"pad_mode", "constant"}});
}

ir::Value transposed(GraphMaker& m, ir::Value y, std::vector<int64_t> order) {
  return m.op("Transpose", {y, m.integers(std::move(order))});
}

size_t count_of(const ir::Graph& graph, const char* type) {
  const std::vector<ir::NodeId> nodes = graph.nodes();
  return static_cast<size_t>(
      std::count_if(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return graph.node(id).is(type); }));
}

TEST(FoldPads, InFrontOfTransposes) {
  GraphMaker m;
  auto x = m.input({1, 5, 6, 4});
  auto padded = zeros_around(m, x, {0, 1, 2, 0}, {0, 3, 0, 0});
  m.result(padded);  // another reader keeps it
  auto channels_first = transposed(m, padded, {0, 3, 1, 2});
  m.result(conv_of(m, channels_first));
  m.result(conv_of(m, channels_first, "valid"));
  auto line = zeros_around(m, m.input(PartialShape("?,2..,3")), {0, 2, 0}, {0, 0, 0});
  m.result(conv_of(m, transposed(m, line, {0, 2, 1})));
  auto reversed = zeros_around(m, m.input({5, 3, 1}), {1, 0, 0}, {2, 0, 0});
  m.result(conv_of(m, transposed(m, reversed, {})));
  auto volume = zeros_around(m, m.input({1, 2, 3, 4, 1}), {0, 1, 2, 0, 0}, {0, 0, 0, 3, 0});
  m.result(conv_of(m, transposed(m, volume, {0, 4, 1, 2, 3})));
  auto positive = zeros_around(m, m.op("ReLU", {x}), {0, 1, 0, 0}, {0, 0, 1, 0});
  m.result(m.op("MaxPool", {transposed(m, positive, {0, 3, 1, 2})},
                {{"strides", "2,2"}, {"kernel", "2,3"}, {"pads_begin", "0,0"}, {"pads_end", "0,1"}}, "", "opset1"));
  expect_rewrite("fold_pads_in_front_of_transposes", m.graph(), {ops::fold_pads()});
  const auto inputs = [](int64_t batch, int64_t extent) {
    return std::vector<HostTensor>{random_tensor({1, 5, 6, 4}, 1), random_tensor({batch, extent, 3}, 2),
                                   random_tensor({5, 3, 1}, 3), random_tensor({1, 2, 3, 4, 1}, 4)};
  };
  const std::vector<std::vector<HostTensor>> sets = {inputs(1, 2), inputs(3, 9)};
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(FoldPads, InFrontOfSeveralTransposes) {
  GraphMaker m;
  auto first = transposed(m, zeros_around(m, m.input({4, 5, 2, 6}), {1, 2, 0, 0}, {0, 1, 0, 0}), {3, 2, 0, 1});
  m.result(conv_of(m, first));
  m.result(conv_of(m, transposed(m, transposed(m, first, {2, 3, 0, 1}), {2, 3, 1, 0})));
  expect_rewrite("fold_pads_in_front_of_several_transposes", m.graph(),
                 {ops::fuse_transposes(ops::builtin_registry()), ops::fold_pads()});
  test::expect_same_as_interpreter(m);
}

TEST(FoldPads, RefusesInFrontOfTransposes) {
  GraphMaker m;
  auto x = m.input({1, 5, 6, 4});
  const auto first = [&](ir::Value y) { return transposed(m, y, {0, 3, 1, 2}); };
  const auto around = [&](std::vector<int64_t> begin) { return zeros_around(m, x, std::move(begin), {0, 1, 1, 0}); };
  m.result(conv_of(m, first(around({0, 0, 0, 2}))));                        // more channels
  m.result(conv_of(m, first(around({2, 0, 0, 0}))));                        // more images
  m.result(conv_of(m, first(around({0, -1, 0, 0}))));                       // cut
  m.result(conv_of(m, transposed(m, around({0, 0, 1, 0}), {2, 3, 0, 1})));  // the width is the batch
  m.result(conv_of(m, first(around({0, 1, 0, 0})), "same_lower"));
  const auto filled = [&](ir::Value value, const char* mode) {
    return m.op("Pad", {x, m.integers({0, 1, 1, 0}), m.integers({0, 1, 1, 0}), value}, {{"pad_mode", mode}});
  };
  m.result(conv_of(m, first(filled(m.scalar(2), "constant"))));
  m.result(conv_of(m, first(filled(m.input({}), "constant"))));
  m.result(conv_of(m, first(filled(m.scalar(0), "edge"))));
  m.result(conv_of(m, first(zeros_around(m, m.input({1, 0, 6, 4}), {0, 3, 0, 0}, {0, 0, 0, 0}))));  // around nothing
  // The Transpose of what is padded would stay for others.
  auto shared = first(around({0, 1, 1, 0}));
  m.result(conv_of(m, shared));
  m.result(m.op("ReLU", {shared}));
  shared = first(around({0, 1, 1, 0}));
  m.result(conv_of(m, shared));
  m.result(conv_of(m, shared, "same_upper"));
  shared = first(around({0, 1, 1, 0}));
  m.result(conv_of(m, shared));
  m.result(shared);
  shared = first(around({0, 1, 1, 0}));
  m.result(conv_of(m, shared));
  m.result(m.op("Convolution", {m.input({1, 4, 9, 9}), shared}, window_of("0,0", "0,0")));  // as a filter
  expect_refusal(m.graph(), {ops::fold_pads()});
  test::expect_same_as_interpreter(m);
}

TEST(FoldPads, RefusesOrdersOfTheRun) {
  GraphMaker m;
  auto padded = zeros_around(m, m.input({1, 5, 6, 4}), {0, 1, 1, 0}, {0, 0, 0, 0});
  auto y = m.op("Transpose", {padded, m.input({4}, element::i64)});
  m.result(m.op("Convolution", {y, m.random({2, 4, 3, 3}, 1)}, window_of("0,0", "0,0")));
  expect_refusal(m.graph(), {ops::fold_pads()});
  const std::vector<std::vector<HostTensor>> inputs = {
      {random_tensor({1, 5, 6, 4}, 1), integer_tensor({4}, {0, 3, 1, 2})},
      {random_tensor({1, 5, 6, 4}, 2), integer_tensor({4}, {0, 3, 2, 1})}};
  expect_same_as_interpreter(m.graph(), inputs);
}

TEST(FoldPads, WaitsForExtentsThatMayBeNone) {
  GraphMaker m;
  auto padded = zeros_around(m, m.input(PartialShape("?,?,?,3")), {0, 1, 1, 0}, {0, 0, 2, 0});
  m.result(conv_of(m, transposed(m, padded, {0, 3, 1, 2})));
  expect_refusal(m.graph(), {ops::fold_pads()});
  EXPECT_EQ(count_of(*cpu::bound_graph(cpu::rewrite_portable(m.graph()), {{2, 3, 4, 3}}), "Pad"), 0u);
  const std::vector<std::vector<HostTensor>> inputs = {
      {random_tensor({2, 3, 4, 3}, 1)}, {random_tensor({1, 0, 4, 3}, 2)}, {random_tensor({1, 1, 1, 3}, 3)}};
  expect_same_as_interpreter(m.graph(), inputs);
}

TEST(FoldPads, OfChannelsLastModels) {
  for (const element::Type type : {element::f32, element::f16}) {
    SCOPED_TRACE(type.get_type_name());
    GraphMaker m;
    const auto converted = [&](ir::Value value, element::Type to) {
      return type == element::f32 ? value : m.op("Convert", {value}, {{"destination_type", to.get_type_name()}});
    };
    const auto random = [&](const ir::Dims& dims) { return converted(m.random(dims, 3), type); };
    auto y = converted(m.input(PartialShape("?,9..,8,3")), type);
    y = transposed(m, zeros_around(m, y, {0, 0, 0, 0}, {0, 1, 1, 0}), {0, 3, 1, 2});
    y = m.op("Convolution", {y, random({8, 3, 3, 3})}, window_of("0,0", "0,0", "valid"));
    auto last = m.op("Add", {transposed(m, y, {0, 2, 3, 1}), random({8})});
    m.result(converted(last, element::f32));
    y = transposed(m, zeros_around(m, last, {0, 1, 1, 0}, {0, 1, 1, 0}), {0, 3, 1, 2});
    y = m.op("GroupConvolution", {y, random({8, 1, 1, 3, 3})}, window_of("0,0", "0,0"), "named");
    y = converted(y, element::f32);
    m.graph().port(y).names = {"tensor"};
    m.result(y);
    const auto rewritten = cpu::rewrite_portable(m.graph());
    EXPECT_EQ(count_of(*rewritten, "Pad"), 0u);
    const ir::Value output = rewritten->node(rewritten->results()[1]).inputs[0];
    EXPECT_EQ(rewritten->port(output).names, std::vector<std::string>{"tensor"});
    if (type == element::f32) {
      EXPECT_EQ(rewritten->node(output.node).name, "named");
    }
    const std::vector<std::vector<HostTensor>> inputs = {{random_tensor({1, 9, 8, 3}, 1)},
                                                         {random_tensor({2, 12, 8, 3}, 2)}};
    expect_same_as_interpreter(m.graph(), inputs, type == element::f32 ? 2e-5 : 5e-3);
  }
}

TEST(FoldPads, IntoTerroir1ConvolutionsOfChannelsLast) {
  GraphMaker m;
  const auto conv = [&](ir::Value y, const char* auto_pad) {
    return m.op("Convolution", {y, m.random({8, 3, 3, 3}, 1), m.random({8}, 2)},
                {{"layout", "channels_last"}, {"auto_pad", auto_pad}, {"strides", "2,2"}}, "", "terroir1");
  };
  auto x = m.input({1, 6, 7, 3});
  for (const char* auto_pad : {"notset", "valid"})
    m.result(conv(zeros_around(m, x, {0, 1, 0, 0}, {0, 1, 2, 0}), auto_pad));
  EXPECT_EQ(count_of(*cpu::rewrite_portable(m.graph()), "Pad"), 0u);
  m.result(conv(zeros_around(m, x, {0, 1, 0, 0}, {0, 1, 2, 0}), "same_upper"));
  EXPECT_EQ(count_of(*cpu::rewrite_portable(m.graph()), "Pad"), 1u);
  test::expect_same_as_interpreter(m);
}

}  // namespace
}  // namespace terroir::test
