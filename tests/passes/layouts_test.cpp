// Which layouts are chosen and where reorders go: graph texts with the layout behind every value.
#include "plugins/cpu/passes/layouts.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/plan.hpp"
#include "plugins/cpu/weights_cache.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/laid_out.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::cpu {
namespace {

using test::AttributeTexts;
using test::GraphMaker;
using test::HostTensor;
using test::LaidOut;
using test::lay_out;
using test::named;
using test::text_of;
using test::texts_of;

GraphMaker residual_block() {
  GraphMaker m;
  auto x = m.op("ReLU", {m.conv(m.input({1, 3, 32, 32}), 32, 3, 1, 2)});
  auto y = m.op("ReLU", {m.op("Add", {m.conv(x, 32, 3, 2), m.random({1, 32, 1, 1}, 3)})});
  auto z = m.op("ReLU", {m.op("Add", {m.conv(y, 32, 3, 4), x})});
  auto mean = m.op("ReduceMean", {z, m.integers({2, 3})}, {{"keep_dims", "true"}});
  auto flat = m.op("Reshape", {mean, m.integers({1, 32})}, {{"special_zero", "false"}});
  m.result(m.op("MatMul", {flat, m.random({32, 10}, 5)}));
  return m;
}

TEST(Layouts, ResidualBlock) { test::expect_golden("layouts_residual", texts_of(lay_out(residual_block()))); }

TEST(Layouts, ResidualBlockInBlocksOf16) {
  if (!isa_available(Isa::avx512)) GTEST_SKIP() << "no avx512";
  test::expect_golden("layouts_residual_16c", texts_of(lay_out(residual_block(), Isa::avx512)));
}

TEST(Layouts, InvertedResidualWithGate) {
  GraphMaker m;
  auto x = m.op("HSwish", {m.conv(m.input({1, 3, 32, 32}), 16, 3, 1, 2)});
  auto wide = m.op("HSwish", {m.conv(x, 48, 1, 2)});
  auto deep = m.op("HSwish", {m.depthwise(wide, 3, 3)});
  auto gate = m.op("ReduceMean", {deep, m.integers({2, 3})}, {{"keep_dims", "true"}});
  gate = m.op("HSigmoid", {m.conv(m.op("ReLU", {m.conv(gate, 16, 1, 4)}), 48, 1, 5)});
  m.result(m.op("Add", {x, m.conv(m.op("Multiply", {deep, gate}), 16, 1, 6)}));
  test::expect_golden("layouts_inverted_residual", texts_of(lay_out(m)));
}

GraphMaker joined_convolutions(int64_t first, int64_t second) {
  GraphMaker m;
  auto x = m.input({1, 16, 16, 16});
  auto both = m.op("Concat", {m.conv(x, first, 3, 1), m.conv(x, second, 3, 2)}, {{"axis", "1"}});
  m.result(m.conv(both, 16, 3, 3));
  return m;
}

TEST(Layouts, ConcatOfWholeBlocksNeedsNoReorder) {
  const LaidOut aligned = lay_out(joined_convolutions(16, 24));
  EXPECT_EQ(aligned.layout({named(aligned, "concat").id, 0}), aligned.layout({named(aligned, "convolution").id, 0}));
  for (const ir::Node* reorder : aligned.reorders()) EXPECT_NE(reorder->inputs[0].node, named(aligned, "concat").id);
}

TEST(Layouts, ConcatThatCutsBlocksNeedsNoReorder) {
  const LaidOut cut = lay_out(joined_convolutions(5, 16));
  EXPECT_NE(cut.layout({named(cut, "concat").id, 0}).channel_block(), 0);
  for (const ir::Node* reorder : cut.reorders()) EXPECT_NE(reorder->inputs[0].node, named(cut, "concat").id);
  for (const ir::Value& input : named(cut, "concat").inputs)
    EXPECT_FALSE(cut.graph->node(input.node).is("Reorder")) << "copied twice";
  // A last part that does not fill its block cuts nothing.
  const LaidOut last = lay_out(joined_convolutions(16, 5));
  const Layout& layout = last.layout({named(last, "concat").id, 0});
  for (const ir::Value& input : named(last, "concat").inputs) EXPECT_EQ(last.layout(input), layout);
}

TEST(Layouts, ARegionOfElementwiseOpsMovesAtOnce) {
  // Both ends are plain, and every value in between goes to a convolution, too. In blocks no node gains alone: each
  // would need its input reordered or its output put back.
  GraphMaker m;
  auto x = m.input({1, 16, 24, 24});
  for (uint32_t i = 0; i < 4; ++i) {
    x = m.op(i % 2 ? "Tanh" : "Sigmoid", {x});
    m.result(m.op("ReduceMax", {m.conv(x, 8, 3, i), m.integers({2, 3})}, {{"keep_dims", "false"}}));
  }
  m.result(m.op("SoftMax", {x}, {{"axis", "3"}}, "", "opset1"));
  const LaidOut laid_out = lay_out(m);
  EXPECT_EQ(laid_out.reorders().size(), 2u);
  test::expect_golden("layouts_region", texts_of(laid_out));
}

TEST(Layouts, ConsumersShareAReorder) {
  GraphMaker m;
  auto x = m.conv(m.conv(m.input({1, 16, 12, 12}), 16, 3, 1), 16, 3, 2);
  auto y = m.conv(x, 16, 3, 3);  // so that x is produced in blocks
  m.result(y);
  m.result(m.op("SoftMax", {x}, {{"axis", "2"}}, "", "opset1"));
  m.result(m.op("SoftMax", {x}, {{"axis", "3"}}, "", "opset1"));
  m.result(x);
  const LaidOut laid_out = lay_out(m);
  const ir::Node& producer = named(laid_out, "convolution2");
  ASSERT_GT(laid_out.layout({producer.id, 0}).channel_block(), 0);
  size_t copies = 0;
  for (const ir::Node* reorder : laid_out.reorders()) {
    if (reorder->inputs[0].node != producer.id) continue;
    ++copies;
    EXPECT_EQ(laid_out.graph->uses({reorder->id, 0}).size(), 3u);
    EXPECT_EQ(reorder->name, "convolution2/nChw8c_to_nchw");
  }
  EXPECT_EQ(copies, 1u);
}

TEST(Layouts, AReorderThatMovesNothingIsAView) {
  GraphMaker m;
  auto x = m.conv(m.input({1, 3, 8, 8}), 32, 3, 1, 2);
  auto mean = m.op("ReduceMean", {x, m.integers({2, 3})}, {{"keep_dims", "true"}});
  auto flat = m.op("Reshape", {m.conv(mean, 32, 1, 2), m.integers({1, 32})}, {{"special_zero", "false"}});
  m.result(m.op("MatMul", {flat, m.random({32, 10}, 5)}));
  const LaidOut laid_out = lay_out(m);
  const ir::Node& reshape = named(laid_out, "reshape");
  const ir::Node& before = laid_out.graph->node(reshape.inputs[0].node);
  ASSERT_TRUE(before.is(kReorderType));  // [1,32,1,1] in blocks is [1,32,1,1]
  EXPECT_EQ(laid_out.decisions.at(before.id).choice.view_of, 0);
  EXPECT_FALSE(test::has_step(*test::plan_of(m), before.name));
}

TEST(Layouts, AMeanOfBlocksIsPlainWhereThatIsWanted) {
  for (const int64_t channels : {32, 19}) {
    GraphMaker m;
    auto x = m.conv(m.conv(m.input({2, 16, 8, 8}), 16, 3, 1), channels, 3, 2);
    auto mean = m.op("ReduceMean", {x, m.integers({2, 3})}, {{"keep_dims", "true"}});
    auto flat = m.op("Reshape", {mean, m.integers({2, channels})}, {{"special_zero", "false"}});
    m.result(m.op("MatMul", {flat, m.random({channels, 10}, 5)}));
    m.result(m.op("ReduceMax", {x, m.integers({2, 3})}, {{"keep_dims", "false"}}));
    const LaidOut laid_out = lay_out(m);
    EXPECT_GT(laid_out.layout(named(laid_out, "reducemean").inputs[0]).channel_block(), 0);
    for (const ir::Node* reorder : laid_out.reorders())
      EXPECT_TRUE(laid_out.graph->node(reorder->inputs[0].node).is(ir::kParameterType)) << reorder->name;
    test::expect_same_as_interpreter(m);
  }
}

TEST(Layouts, ConstantsAreReorderedWhenCompiling) {
  GraphMaker m;
  auto x = m.conv(m.conv(m.input({1, 16, 12, 12}), 16, 3, 1), 16, 3, 2);
  m.result(m.conv(m.op("Add", {x, m.random({1, 16, 12, 12}, 4)}), 16, 3, 3));
  WeightsCache weights;
  const auto plan = compile_plan(bound_graph(m.graph().clone(), {{1, 16, 12, 12}}), weights, {}, parallel::Arena(1));
  bool constant_operand = false;
  for (const Step& step : plan->steps) {
    if (step.name != "convolution2") continue;
    ASSERT_EQ(step.inputs.size(), 3u);
    EXPECT_EQ(step.layouts, "nChw8c");
    constant_operand = step.inputs[2].kind == Slot::Kind::constant;
  }
  EXPECT_TRUE(constant_operand);
}

TEST(Layouts, APoolOfWideRowsIsNotWorthTwoReorders) {
  const auto plain_only = [](GraphMaker& m, ir::Value x) {
    return m.op("SoftMax", {x}, {{"axis", "3"}}, "", "opset1");
  };
  const AttributeTexts window = {{"strides", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"kernel", "3,3"}};
  for (const Isa isa : available_isas()) {
    GraphMaker m;
    m.result(plain_only(m, m.op("MaxPool", {plain_only(m, m.input({1, 32, 57, 257}))}, window, "", "opset1")));
    EXPECT_TRUE(lay_out(m, isa).reorders().empty()) << isa_name(isa);
  }
}

TEST(Layouts, AreTheSameForAnyBatch) {
  const auto network = [](int64_t batch) {
    GraphMaker m;
    const auto plain_only = [&](ir::Value value) { return m.op("SoftMax", {value}, {{"axis", "3"}}, "", "opset1"); };
    auto x = m.input({batch, 8, 2, 2});
    const AttributeTexts window = {{"strides", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "1,1"}, {"kernel", "2,2"}};
    // So small that a reorder costs mostly what any step costs.
    m.result(plain_only(m.op("MaxPool", {plain_only(m.input({batch, 8, 1, 2}))}, window, "", "opset1")));
    auto y = m.conv(m.conv(x, 8, 1, 1), 8, 1, 2);
    auto both = m.op("Concat", {plain_only(y), m.op("Tanh", {y}), m.random({batch, 5, 2, 2}, 3)}, {{"axis", "1"}});
    auto halves = m.op("Split", {both, m.scalar_integer(2)}, {{"num_splits", "2"}});
    m.result(m.conv(halves, 8, 1, 4));
    m.result(plain_only({halves.node, 1}));
    return lay_out(m);
  };
  const LaidOut alone = network(1);
  for (const int64_t batch : {2, 5, 64}) {
    SCOPED_TRACE(batch);
    const LaidOut together = network(batch);
    for (const ir::NodeId id : together.before->nodes())
      EXPECT_EQ(together.layout({id, 0}).name(), alone.layout({id, 0}).name()) << together.before->node(id).describe();
    EXPECT_EQ(together.reorders().size(), alone.reorders().size());
  }
}

TEST(Layouts, AnImageHasTheSameBitsWhetherACopyIsInFrontOrBehind) {
  const HostTensor images = test::random_tensor({3, 32, 7, 7}, 1);
  const auto results = [&](int64_t batch) {
    GraphMaker m;
    const ir::Value data = m.input({batch, 32, 7, 7});
    const ir::Value rows = m.op("Reshape", {data, m.integers({0, 32, -1})}, {{"special_zero", "true"}});
    const ir::Value x = m.op("Transpose", {rows, m.integers({0, 2, 1})});
    const auto mean = [&](ir::Value value) {
      return m.op("ReduceMean", {value, m.integers({-1})}, {{"keep_dims", "true"}});
    };
    const ir::Value centred = m.op("Subtract", {x, mean(x)});
    const ir::Value deviation = m.op("Sqrt", {mean(m.op("Power", {centred, m.scalar(2)}))});
    ir::Value y = m.op("Divide", {centred, m.op("Add", {deviation, m.scalar(1)})});
    y = m.op("Add", {m.op("Multiply", {y, m.random({1, 49, 1}, 1)}), m.scalar(2)});
    m.result(m.op("SquaredDifference", {m.op("Maximum", {centred, y}), centred}));
    std::vector<std::vector<HostTensor>> inputs(1);
    HostTensor& input = inputs[0].emplace_back(element::f32, ir::Dims{batch, 32, 7, 7});
    std::memcpy(input.writable().data, images.view().data, input.view().bytes());
    return std::move(test::run_on_cpu(m.graph(), best_isa(), 1, inputs)[0][0]);
  };
  const HostTensor alone = results(1), together = results(3);
  EXPECT_EQ(std::memcmp(alone.view().data, together.view().data, alone.view().bytes()), 0);
}

/// Rows of positions, which a convolution sees as images in between.
GraphMaker mix_of_rows(int64_t batch, int64_t channels) {
  GraphMaker m;
  const AttributeTexts special = {{"special_zero", "true"}};
  const auto turned = [&](ir::Value value) { return m.op("Transpose", {value, m.integers({0, 2, 1})}); };
  auto x = m.op("MatMul", {m.input({batch, 20, 24}), m.random({24, channels}, 1)});
  auto image = m.op("Reshape", {turned(x), m.integers({0, 0, 4, 5})}, special, "image");
  auto mixed = m.depthwise(image, 3, 2);
  auto rows = m.op("Reshape", {mixed, m.integers({0, 0, -1})}, special, "rows");
  m.result(m.op("MatMul", {turned(m.op("Tanh", {rows})), m.random({channels, 8}, 3)}));
  return m;
}

TEST(Layouts, ChannelsStayLastWhereImagesBecomeRows) {
  for (const int64_t batch : {1, 3})
    for (const int64_t channels : {32, 19}) {
      const GraphMaker m = mix_of_rows(batch, channels);
      const LaidOut laid_out = lay_out(m);
      EXPECT_TRUE(laid_out.reorders().empty()) << text_of(laid_out);
      for (const char* name : {"image", "rows"}) {
        const ir::Node& reshape = named(laid_out, name);
        EXPECT_TRUE(laid_out.layout(reshape.inputs[0]).is_channels_last()) << text_of(laid_out);
        EXPECT_TRUE(laid_out.layout({reshape.id, 0}).is_channels_last()) << text_of(laid_out);
        EXPECT_FALSE(test::has_step(*test::plan_of(m), name));
      }
      test::expect_same_as_interpreter(m);
    }
}

TEST(Layouts, BlocksStayWhereImagesBecomeRows) {
  for (const int64_t batch : {1, 3})
    for (const int64_t channels : {32, 19}) {
      GraphMaker m;
      auto x = m.conv(m.conv(m.input({batch, 16, 6, 4}), 16, 3, 1), channels, 3, 2);
      auto rows = m.op("Reshape", {x, m.integers({0, 0, -1})}, {{"special_zero", "true"}}, "rows");
      auto lines = m.op("Unsqueeze", {m.op("Exp", {rows}), m.integers({2})}, {}, "lines");
      auto back = m.op("Reshape", {m.op("Tanh", {lines}), m.integers({0, 0, 4, 6})}, {{"special_zero", "true"}});
      m.result(m.conv(m.conv(back, 16, 3, 3), 16, 3, 4));
      const LaidOut laid_out = lay_out(m);
      for (const char* name : {"rows", "lines"})
        EXPECT_GT(laid_out.layout({named(laid_out, name).id, 0}).channel_block(), 0) << text_of(laid_out);
      test::expect_same_as_interpreter(m);
    }
}

TEST(Layouts, BlocksStayWhereTheTargetIsKnownAtRunTimeOnly) {
  GraphMaker m;
  auto x = m.conv(m.conv(m.input({2, 16, 6, 4}), 16, 3, 1), 19, 3, 2);
  auto target = m.op("Concat", {m.integers({2, 19}), m.input({1}, element::i64), m.integers({3})}, {{"axis", "0"}});
  auto turned = m.op("Reshape", {m.op("Exp", {x}), target}, {{"special_zero", "true"}}, "turned");
  m.result(m.conv(m.conv(turned, 16, 3, 3), 16, 3, 4));
  const std::vector<std::vector<HostTensor>> inputs = {
      {test::random_tensor({2, 16, 6, 4}, 1), test::integer_tensor({1}, {8})}};
  test::expect_same_as_interpreter(m.graph(), inputs);
}

TEST(Layouts, AreTheSameEachTime) { EXPECT_EQ(text_of(lay_out(residual_block())), text_of(lay_out(residual_block()))); }

TEST(Layouts, ValuesOfTooManyAxesAreRefused) {
  GraphMaker m;
  m.result(m.op("ReLU", {m.input(PartialShape(std::vector<Dimension>(kMaxRank + 1, 1)))}));
  WeightsCache weights;
  EXPECT_THROW(assign_layouts(m.graph(), Isa::scalar, weights), Exception);
}

}  // namespace
}  // namespace terroir::cpu
