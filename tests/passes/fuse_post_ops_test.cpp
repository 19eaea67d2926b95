// Elementwise ops that become chains: graph text before and after, and what must stay a node of its own.
#include "plugins/cpu/passes/fuse_post_ops.hpp"

#include <gtest/gtest.h>

#include "ops/registry.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::cpu {
namespace {

using test::AttributeTexts;
using test::GraphMaker;

const AttributeTexts kWindow = {{"strides", "1"}, {"dilations", "1"}, {"pads_begin", "0"}, {"pads_end", "0"}};

ir::Pass post_ops_pass() {
  static const CpuOps ops(ops::builtin_registry());
  return fuse_post_ops(ops);
}

ir::Value conv(GraphMaker& m, ir::Value data) {
  return m.op("Convolution", {data, m.constant({2, 2, 1}, {1, 2, 3, 4})}, kWindow);
}

TEST(FusePostOps, BiasAndActivation) {
  GraphMaker m;
  auto y = m.op("Add", {conv(m, m.input({1, 2, 4})), m.constant({1, 2, 1}, {1, 2})});
  m.result(m.op("Clamp", {m.op("Multiply", {m.scalar(2), y})}, {{"min", "0"}, {"max", "6"}}));
  test::expect_rewrite("fuse_bias_and_activation", m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, TheLaterConvolutionTakesTheResidual) {
  GraphMaker m;
  auto x = m.input({1, 2, 4});
  auto a = conv(m, x);
  auto b = conv(m, m.op("ReLU", {conv(m, x)}));
  m.result(m.op("ReLU", {m.op("Add", {a, b})}));
  test::expect_rewrite("fuse_residual", m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, ResidualOfAValueThatIsReadTwice) {
  GraphMaker m;
  auto x = m.op("ReLU", {conv(m, m.input({1, 2, 4}))});
  m.result(m.op("ReLU", {m.op("Add", {x, conv(m, x)})}));
  test::expect_rewrite("fuse_residual_shared", m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, ResidualOfAPool) {
  GraphMaker m;
  auto x = m.input({1, 2, 4});
  const AttributeTexts window = {{"strides", "1"}, {"pads_begin", "1"}, {"pads_end", "1"}, {"kernel", "3"}};
  m.result(m.op("ReLU", {m.op("Add", {m.op("MaxPool", {x}, window, "", "opset1"), conv(m, x)})}));
  test::expect_rewrite("fuse_residual_of_a_pool", m.graph(), {post_ops_pass()});
}

// Of two enlarged images the later one takes the sum; a convolution before either.
TEST(FusePostOps, EnlargedImages) {
  GraphMaker m;
  const auto resized = [&](const PartialShape& from, const std::vector<int64_t>& to) {
    return m.op("Interpolate", {m.input(from), m.integers(to), m.integers({2, 3})},
                {{"mode", "nearest"}, {"shape_calculation_mode", "sizes"}});
  };
  auto sum = m.op("Add", {resized({1, 16, 16, 17}, {32, 34}), resized({1, 16, 8, 17}, {32, 34})});
  m.result(m.op("ReLU", {m.op("Multiply", {sum, m.random({1, 16, 1, 1}, 2)})}));
  m.result(m.op("Add", {resized({1, 16, 16, 17}, {32, 34}), m.conv(m.input({1, 16, 32, 34}), 16, 1, 1)}));
  m.result(m.op("ReLU", {resized({1, 16, 64, 34}, {32, 34})}));  // not enlarged
  m.result(m.op("ReLU", {resized({1, 16, 15, 15}, {31, 31})}));  // small
  m.result(m.op("ReLU", {resized({1, 24, 16, 17}, {32, 34})}));  // no whole vectors of channels
  test::expect_rewrite("fuse_enlarged_images", m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, MatrixProducts) {
  GraphMaker m;
  auto x = m.input({3, 2});
  auto y = m.op("MatMul", {x, m.constant({2, 2}, {1, 2, 3, 4})});
  y = m.op("Add", {m.constant({2}, {5, 6}), y});
  m.result(m.op("Subtract", {m.input({3, 2}), m.op("Gelu", {y}, {{"approximation_mode", "tanh"}})}));
  test::expect_rewrite("fuse_matmul", m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, ElementwiseChains) {
  GraphMaker m;
  auto x = m.input({1, 2, 4});
  auto y = m.op("Add", {m.op("Multiply", {x, m.constant({2, 1}, {2, 3})}), m.constant({1, 2, 1}, {4, 5})});
  m.result(m.op("PReLU", {m.op("Power", {m.scalar(2), y}), m.constant({2}, {0.25, 0.5})}));
  test::expect_rewrite("fuse_elementwise", m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, PReluSlopesRunAlongTheChannels) {
  GraphMaker m;
  m.result(m.op("PReLU", {conv(m, m.input({1, 2, 4})), m.constant({2}, {0.25, 0.5})}));
  test::expect_rewrite("fuse_prelu", m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, ScaleAndShiftOfANormalisation) {
  GraphMaker m;
  auto y = m.op("MVN", {m.input({2, 3}), m.integers({-1})},
                {{"eps", "0.00001"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}});
  y = m.op("Add", {m.op("Multiply", {y, m.constant({3}, {1, 2, 3})}), m.constant({1, 3}, {4, 5, 6})});
  m.result(m.op("Add", {m.input({2, 3}), y}));
  test::expect_rewrite("fuse_mvn", m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, LongChainsAreCut) {
  GraphMaker m;
  auto x = m.input({2});
  for (int i = 0; i < 18; ++i) x = m.op(i % 2 == 0 ? "Abs" : "Negative", {x});
  m.result(x);
  test::expect_rewrite("fuse_long", m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, RefusesAValueThatIsReadTwice) {
  GraphMaker m;
  auto y = conv(m, m.input({1, 2, 4}));
  m.result(m.op("ReLU", {y}));
  m.result(y);
  auto z = conv(m, m.input({1, 2, 4}));
  m.result(m.op("Multiply", {z, z}));
  test::expect_refusal(m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, RefusesOperandsThatBroadcastOtherwise) {
  GraphMaker m;
  auto x = m.input({2, 2, 2});
  const AttributeTexts pdpd = {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "0"}};
  m.result(m.op("Add", {conv(m, x), m.constant({2}, {1, 2})}));                         // along the width
  m.result(m.op("Add", {conv(m, x), m.constant({1, 2, 2}, {1, 2, 3, 4})}));             // along two axes
  m.result(m.op("Add", {conv(m, x), m.constant({2, 1}, {1, 2})}, pdpd));                // another rule
  m.result(m.op("Add", {conv(m, x), m.input({1, 2, 1})}));                              // channels of a run
  m.result(m.op("Multiply", {conv(m, x), m.input({})}));                                // a scalar of a run
  m.result(m.op("Add", {conv(m, x), m.constant({3, 1, 1, 1}, {1, 2, 3})}));             // the result is larger
  m.result(m.op("Add", {m.op("MatMul", {x, m.input({2})}), m.constant({2}, {1, 2})}));  // no channels
  test::expect_refusal(m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, AChannelVectorAsLargeAsTheResultIsStillOne) {
  // Otherwise an image alone would get its bias after the sum, and in a batch before.
  GraphMaker m;
  m.result(m.op("Add", {m.conv(m.input({1, 3, 1, 1}), 8, 1, 1), m.random({1, 8, 1, 1}, 2)}));
  m.result(m.op("Add", {m.op("MatMul", {m.input({1, 6}), m.random({6, 5}, 3)}), m.random({1, 5}, 4)}));
  m.result(m.op("Add", {m.op("MatMul", {m.input({1, 6}), m.random({6, 5}, 5)}), m.input({1, 5})}));  // of a run
  auto graph = m.graph().clone();
  ir::PassManager passes;
  passes.add(post_ops_pass());
  passes.run(*graph);
  for (size_t i = 0; i < 3; ++i) {
    const ir::Node& fused = graph->node(graph->node(graph->results()[i]).inputs[0].node);
    ASSERT_TRUE(is_fused(fused)) << i;
    EXPECT_EQ(fused.attrs<FusedAttrs>().chain[0].mode, i < 2 ? OperandMode::per_channel : OperandMode::tensor) << i;
  }
}

TEST(FusePostOps, RefusesOtherTypes) {
  GraphMaker m;
  auto x = m.op("Add", {m.input({2}, element::i32), m.input({2}, element::i32)});
  m.result(m.op("Abs", {x}));
  auto y = m.op("Convert", {m.op("ReLU", {m.input({2}, element::f16)})}, {{"destination_type", "f32"}});
  m.result(m.op("ReLU", {m.op("Convert", {y}, {{"destination_type", "f16"}})}));
  test::expect_refusal(m.graph(), {post_ops_pass()});
}

TEST(FusePostOps, TheNamesOfAllLayersStay) {
  GraphMaker m;
  auto y = m.op("ReLU", {m.op("Add", {conv(m, m.input({1, 2, 4})), m.constant({1, 2, 1}, {1, 2})})});
  m.result(y);
  auto graph = m.graph().clone();
  ir::PassManager passes;
  passes.add(post_ops_pass());
  passes.run(*graph);
  const ir::Node& fused = graph->node(graph->node(graph->results()[0]).inputs[0].node);
  EXPECT_EQ(fused.name, "convolution");
  EXPECT_EQ(fused.origin_names, (std::vector<std::string>{"add", "relu"}));
}

}  // namespace
}  // namespace terroir::cpu
