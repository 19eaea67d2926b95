// terroir1 Convolution on the CPU device: what it is lowered to, and that channels-last models cost no transposes.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/plan.hpp"
#include "plugins/cpu/weights_cache.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

std::vector<ir::Pass> lower() { return {ops::lower_terroir1_convolution(ops::builtin_registry())}; }
std::vector<ir::Pass> transposes() {
  const ir::OpRegistry& registry = ops::builtin_registry();
  return {ops::fuse_transposes(registry), ops::sink_transposes(registry)};
}

/// `attributes` beside channels-last data.
ir::Value convolution(GraphMaker& m, const std::vector<ir::Value>& inputs, AttributeTexts attributes) {
  attributes.emplace_back("layout", "channels_last");
  return m.op("Convolution", inputs, attributes, "", "terroir1");
}

ir::Value to_channels_last(GraphMaker& m, ir::Value x) { return m.op("Transpose", {x, m.integers({0, 2, 3, 1})}); }
ir::Value to_channels_first(GraphMaker& m, ir::Value x) { return m.op("Transpose", {x, m.integers({0, 3, 1, 2})}); }

std::vector<std::string> kernels_of(const cpu::Plan& plan) {
  std::vector<std::string> kernels;
  for (const cpu::Step& step : plan.steps) kernels.push_back(step.kernel);
  return kernels;
}

TEST(LowerTerroir1Convolution, ForwardWithBiasAndActivation) {
  GraphMaker m;
  auto y = m.op("Convolution", {m.input({1, 2, 4, 4}), m.random({3, 2, 1, 1}, 1), m.constant({3}, {1, 2, 3})},
                {{"auto_pad", "SAME_UPPER"}, {"strides", "2,2"}, {"activation", "LeakyRelu"}}, "", "terroir1");
  m.result(y);
  expect_rewrite("lower_forward", m.graph(), lower());
}

TEST(LowerTerroir1Convolution, ChannelsLastBackwardFlippedInGroups) {
  GraphMaker m;
  auto y = convolution(m, {m.input({1, 3, 4}), m.constant({4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), m.random({1, 1, 2}, 2)},
                       {{"direction", "backward"},
                        {"mode", "convolution"},
                        {"group", "2"},
                        {"auto_pad", "same_lower"},
                        {"strides", "1"},
                        {"activation", "HardSigmoid"}});
  m.result(y);
  expect_rewrite("lower_backward", m.graph(), lower());
}

TEST(LowerTerroir1Convolution, OutputShapeAndOutputPadding) {
  GraphMaker m;
  auto x = m.input({1, 1, 3});
  auto w = m.constant({1, 1, 2}, {1, 2});
  m.result(m.op("Convolution", {x, w}, {{"direction", "backward"}, {"output_shape", "5"}}, "", "terroir1"));
  m.result(m.op("Convolution", {x, w}, {{"output_padding", "2"}}, "", "terroir1"));
  expect_rewrite("lower_output_shape_and_padding", m.graph(), lower());
}

// The pads follow from the result, whatever auto_pad and the given ones say.
TEST(LowerTerroir1Convolution, OutputShapesThatCut) {
  for (const char* auto_pad : {"notset", "valid", "same_upper", "same_lower"})
    for (const char* extent : {"2", "3", "4", "6", "9"}) {
      SCOPED_TRACE(::testing::Message() << auto_pad << ' ' << extent);
      GraphMaker m;
      m.result(m.op("Convolution", {m.input({1, 1, 3}), m.constant({1, 1, 4}, {1, 10, 100, 1000})},
                    {{"direction", "backward"}, {"output_shape", extent}, {"strides", "2"}, {"auto_pad", auto_pad}}, "",
                    "terroir1"));
      expect_same_as_interpreter(m);
    }
}

TEST(LowerTerroir1Convolution, FilterOfTheRun) {
  GraphMaker m;
  auto y = m.op("Convolution", {m.input({1, 4, 3}), m.input({4, 2, 2}), m.input({4})},
                {{"mode", "convolution"}, {"group", "2"}}, "", "terroir1");
  m.result(y);
  expect_rewrite("lower_filter_of_the_run", m.graph(), lower());
  expect_same_as_interpreter(m);
}

TEST(LowerTerroir1Convolution, WaitsForShapes) {
  GraphMaker m;
  auto x = m.input(PartialShape::dynamic());
  auto w = m.random({4, 2, 3}, 1);
  m.result(convolution(m, {x, w}, {{"activation", "Relu"}}));
  m.result(m.op("Convolution", {m.input(PartialShape("1,2,?")), w}, {{"output_padding", "1"}}, "", "terroir1"));
  m.result(m.op("Convolution", {m.input({1, 2, 5}), m.input(PartialShape("4,2,?"))}, {}, "", "terroir1"));
  expect_refusal(m.graph(), lower());
  const auto inputs = [](int64_t extent) {
    return std::vector<HostTensor>{random_tensor({1, extent, 2}, 1), random_tensor({1, 2, extent}, 2),
                                   random_tensor({1, 2, 5}, 3), random_tensor({4, 2, extent - 4}, 4)};
  };
  std::vector<std::vector<HostTensor>> sets;
  sets.push_back(inputs(5));
  sets.push_back(inputs(7));
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(LowerTerroir1Convolution, MakesNoHugeZeros) {
  GraphMaker m;
  m.result(m.op("Convolution", {m.input({1, 2, 5}), m.random({4, 2, 3}, 1)}, {{"output_padding", "1000000000"}}, "",
                "terroir1"));
  expect_refusal(m.graph(), lower());
}

// Extents that are not known do not keep a convolution from being lowered; those of the result must stay what they
// were.
TEST(LowerTerroir1Convolution, UnknownExtents) {
  const std::vector<AttributeTexts> forms = {
      {{"pads_begin", "1,1"}, {"strides", "2,1"}},
      {{"auto_pad", "same_lower"}, {"strides", "2,2"}},
      {{"direction", "backward"}, {"strides", "2,2"}, {"output_padding", "1,0"}},
      {{"direction", "backward"}, {"auto_pad", "same_upper"}, {"strides", "2,1"}},
      {{"direction", "backward"}, {"auto_pad", "same_upper"}, {"strides", "5,1"}},
      {{"direction", "backward"}, {"auto_pad", "valid"}},
      {{"direction", "backward"}, {"output_shape", "9,8"}, {"strides", "2,2"}, {"auto_pad", "SAME_UPPER"}}};
  for (const AttributeTexts& form : forms) {
    SCOPED_TRACE(form[0].second + " " + form[1 % form.size()].second);
    for (const char* shape : {"?,?,?,4", "?,3..6,4..,4", "2,5,6,?"}) {
      GraphMaker m;
      m.result(convolution(m, {m.input(PartialShape(shape)), m.random({4, 4, 3, 2}, 1), m.random({4}, 2)}, form));
      const auto rewritten = cpu::rewrite_portable(m.graph());
      for (const ir::NodeId id : rewritten->nodes()) EXPECT_NE(rewritten->node(id).schema->opset, "terroir1");
      const auto result_shape = [](const ir::Graph& graph) {
        return graph.port(graph.node(graph.results()[0]).inputs[0]).shape;
      };
      EXPECT_EQ(result_shape(*rewritten), result_shape(m.graph()));
      const std::vector<std::vector<HostTensor>> sets = {{random_tensor({2, 5, 6, 4}, 1)}};
      expect_same_as_interpreter(m.graph(), sets);
    }
  }
}

TEST(GroupBackprop, SmallGroupsRunOnTheKernels) {
  GraphMaker m;
  auto x = m.input({1, 4, 3, 3});
  const AttributeTexts two = {{"strides", "2,1"}, {"dilations", "1,1"}, {"pads_begin", "1,0"}, {"pads_end", "1,0"}};
  m.result(m.op("GroupConvolutionBackpropData", {x, m.random({2, 2, 3, 3, 2}, 1)}, two));
  const AttributeTexts one = {{"strides", "1,1"}, {"dilations", "2,1"}, {"pads_begin", "1,0"}, {"pads_end", "0,1"}};
  m.result(m.op("GroupConvolutionBackpropData", {x, m.constant({4, 1, 1, 2, 2}, std::vector<float>(16, 3))}, one));
  const AttributeTexts deep = {{"strides", "2,1"}, {"dilations", "1,1"}, {"pads_begin", "2,0"}, {"pads_end", "1,2"}};
  m.result(m.op("GroupConvolutionBackpropData", {x, m.random({4, 1, 1, 1, 1}, 2)}, deep));  // cuts whole inputs
  const auto plan = plan_of(m);
  for (const cpu::Step& step : plan->steps) EXPECT_FALSE(step.is_reference) << step.where;
  expect_same_as_interpreter(m);
}

TEST(FuseTransposes, CancelsInversesAndJoinsOthers) {
  GraphMaker m;
  auto x = m.input({2, 3, 4, 5});
  m.result(m.op("ReLU", {to_channels_first(m, to_channels_last(m, x))}));
  m.result(m.op("Transpose", {to_channels_last(m, x), m.integers({0, 2, 1, 3})}));
  // A chain of three, the last of which reverses all axes.
  m.result(m.op("Transpose", {to_channels_last(m, to_channels_last(m, x)), m.integers({})}));
  expect_rewrite("fuse_transposes", m.graph(), {ops::fuse_transposes(ops::builtin_registry())});
  expect_same_as_interpreter(m);
}

TEST(FuseTransposes, LeavesUnknownOrdersAndRanks) {
  GraphMaker m;
  auto order = m.input({4}, element::i64);
  m.result(m.op("Transpose", {to_channels_last(m, m.input({2, 3, 4, 5})), order}));
  auto any = m.input(PartialShape::dynamic());
  m.result(to_channels_first(m, m.op("Transpose", {any, m.integers({0, 2, 3, 1})})));
  expect_refusal(m.graph(), {ops::fuse_transposes(ops::builtin_registry())});
}

TEST(SinkTransposes, BetweenChannelsLastConvolutions) {
  GraphMaker m;
  auto first = to_channels_last(m, m.conv(to_channels_first(m, m.input({1, 6, 6, 4})), 4, 3, 1));
  auto x = m.op("ReLU", {m.op("Add", {first, m.constant({4}, {1, 2, 3, 4})})});
  auto y = to_channels_last(m, m.conv(to_channels_first(m, x), 4, 3, 2));
  m.result(m.op("PReLU", {m.op("Multiply", {m.op("Add", {x, y}), m.scalar(2)}), m.constant({1}, {0.5f})}));
  expect_rewrite("sink_transposes", m.graph(), transposes());
  expect_same_as_interpreter(m);
}

TEST(SinkTransposes, BehindWhatJoinsPartsAndPads) {
  GraphMaker m;
  auto x = to_channels_last(m, m.conv(to_channels_first(m, m.input({1, 6, 7, 4})), 6, 3, 1));
  auto y = to_channels_last(m, m.conv(to_channels_first(m, x), 3, 3, 2));
  auto joined = m.op("Concat", {x, m.op("ReLU", {y})}, {{"axis", "-1"}});
  joined = m.op("Pad", {joined, m.integers({0, 1, 2, 0}), m.integers({0, 1, 3, 1}), m.scalar(0.5f)},
                {{"pad_mode", "constant"}});
  const ir::Value parts = m.op("VariadicSplit", {joined, m.integers({3}), m.integers({2, 7, 1})});
  const ir::Value halves = m.op("Split", {m.op("Sin", {parts}), m.integers({1})}, {{"num_splits", "2"}});
  m.result(to_channels_first(m, halves));
  m.result(to_channels_first(m, {halves.node, 1}));
  m.result(to_channels_first(m, {parts.node, 1}));
  m.result(m.op("Concat",
                {to_channels_last(m, m.conv(to_channels_first(m, {parts.node, 2}), 2, 1, 3)),
                 to_channels_last(m, m.input({1, 2, 8, 12}))},
                {{"axis", "3"}}));
  expect_rewrite("sink_transposes_behind_parts", m.graph(), transposes());
  expect_same_as_interpreter(m);
}

TEST(SinkTransposes, LeavesWhatWouldAddOne) {
  GraphMaker m;
  auto x = m.input({1, 3, 4, 5});
  auto kept = to_channels_last(m, x);
  m.result(kept);
  m.result(m.op("ReLU", {kept}));                                              // another reader
  m.result(m.op("Add", {to_channels_last(m, x), m.input({1, 4, 5, 3})}));      // a value of the run
  m.result(m.op("Add", {to_channels_last(m, x), m.random({4, 5, 3}, 1)}));     // two axes
  m.result(m.op("Add", {to_channels_last(m, x), m.input({2, 1, 1, 1, 1})}));   // more axes
  m.result(m.op("PReLU", {to_channels_last(m, x), m.random({4}, 2)}));         // aligned at axis 1
  m.result(m.op("ReLU", {m.op("Transpose", {x, m.integers({0, 2, 1, 3})})}));  // another order
  m.result(m.op("Add", {to_channels_last(m, x), m.op("Transpose", {m.input({1, 4, 3, 5}), m.integers({0, 1, 3, 2})})}));
  m.result(m.op("Add", {to_channels_last(m, x), m.random({4}, 3)},
                {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "1"}}));   // another alignment
  m.result(m.op("Concat", {to_channels_last(m, x), m.input({1, 4, 5, 2})}, {{"axis", "3"}}));  // of the run
  m.result(m.op("Split", {to_channels_last(m, x), m.integers({1})}, {{"num_splits", "2"}}));   // read as it is
  expect_refusal(m.graph(), transposes());
  expect_same_as_interpreter(m);
}

// One image or many: an image would have other bits alone.
TEST(SinkTransposes, BesideOneElementOfEachImage) {
  for (const int64_t images : {1, 3}) {
    GraphMaker m;
    const auto x = to_channels_last(m, m.input({images, 3, 4, 5}));
    auto y = m.op("Multiply", {x, m.input({images, 1, 1, 1})});
    y = m.op("PReLU", {y, m.input({images, 1, 1, 1})});
    m.result(to_channels_first(m, y));
    const auto rewritten = cpu::rewrite_portable(m.graph());
    for (const ir::NodeId id : rewritten->nodes()) EXPECT_FALSE(rewritten->node(id).is("Transpose")) << images;
    expect_same_as_interpreter(m);
  }
}
TEST(SinkTransposes, LeavesPadsAndAxesOfTheRun) {
  GraphMaker m;
  auto x = m.input({1, 3, 4, 5});
  m.result(m.op("Pad", {to_channels_last(m, x), m.input({4}, element::i64), m.integers({1, 1, 1, 1})},
                {{"pad_mode", "edge"}}));
  m.result(m.op("ReLU", {m.op("Split", {to_channels_last(m, x), m.input({}, element::i64)}, {{"num_splits", "1"}})}));
  expect_refusal(m.graph(), transposes());
}

// Not even where only the other operand of a reader, or its operands in turn, keep the reader as it is.
TEST(SinkTransposes, LeavesWhatWouldAddOneBesideReadersThatStay) {
  GraphMaker m;
  const auto read_too_by = [&](const std::function<ir::Value(ir::Value)>& reader) {
    const ir::Value kept = to_channels_last(m, m.input({1, 3, 4, 5}));
    m.result(m.op("ReLU", {kept}));
    m.result(reader(kept));
  };
  const auto run = [&] { return m.input({1, 4, 5, 3}); };
  const auto joined = [&](const ir::Value& x, const ir::Value& y) { return m.op("Concat", {x, y}, {{"axis", "3"}}); };
  read_too_by([&](ir::Value t) { return joined(t, m.op("Sigmoid", {run()})); });
  read_too_by([&](ir::Value t) { return joined(m.op("Add", {m.op("Abs", {run()}), m.scalar(1)}), t); });
  read_too_by([&](ir::Value t) { return joined(t, joined(t, m.op("Sin", {run()}))); });
  read_too_by([&](ir::Value t) { return m.op("Add", {t, run()}); });
  read_too_by([&](ir::Value t) { return m.op("PReLU", {t, m.random({4}, 1)}); });
  read_too_by([&](ir::Value t) {  // parts that stay
    const ir::Value parts = m.op("Split", {t, m.integers({3})}, {{"num_splits", "3"}});
    m.result(m.op("Add", {{parts.node, 1}, m.input({1, 4, 5, 1})}));
    return to_channels_first(m, {parts.node, 2});
  });
  expect_refusal(m.graph(), transposes());
  expect_same_as_interpreter(m);
}

// A reader that stays keeps its own operands only: what stands before them moves.
TEST(SinkTransposes, LeavesBranchesThatWouldEachEndInOne) {
  GraphMaker m;
  const auto x = to_channels_last(m, m.input({1, 3, 4, 5}));
  m.result(m.op("Add", {x, m.scalar(1)}));
  m.result(m.op("Abs", {x}));
  m.result(to_channels_first(m, m.op("Sin", {x})));
  // What comes together again ends in one.
  const auto y = to_channels_last(m, m.input({1, 2, 4, 5}));
  m.result(m.op("Multiply", {y, m.op("Sigmoid", {y})}));
  // Two go, two come.
  const auto a = to_channels_last(m, m.input({1, 1, 4, 5})), b = to_channels_last(m, m.input({1, 1, 4, 5}));
  const auto sum = m.op("Add", {a, b});
  m.result(m.op("Sin", {sum}));
  m.result(m.op("Cos", {sum}));
  expect_rewrite("sink_transposes_branches", m.graph(), transposes());
  expect_same_as_interpreter(m);
}
TEST(SinkTransposes, UpToReadersThatStay) {
  GraphMaker m;
  auto x = to_channels_last(m, m.input({1, 3, 4, 5}));
  auto y = m.op("Abs", {to_channels_last(m, m.input({1, 2, 4, 5}))});
  auto joined = m.op("Concat", {m.op("Sin", {x}), y, x}, {{"axis", "3"}});
  m.result(m.op("Add", {joined, m.input({1, 4, 5, 8})}));
  expect_rewrite("sink_transposes_up_to_readers", m.graph(), transposes());
  expect_same_as_interpreter(m);
}

// What ends in Transposes costs none, though the one before it stays.
TEST(SinkTransposes, BesideReadersThatStayUpToTransposes) {
  GraphMaker m;
  auto x = to_channels_last(m, m.input({1, 3, 4, 5}));
  m.result(m.op("Add", {x, m.input({1, 4, 5, 3})}));
  auto y = m.op("Sigmoid", {m.op("ReLU", {x})});
  m.result(to_channels_first(m, y));
  m.result(to_channels_first(m, m.op("Concat", {y, x}, {{"axis", "3"}})));
  m.result(m.op("Abs", {m.op("Sin", {x})}));
  expect_rewrite("sink_transposes_up_to_transposes", m.graph(), transposes());
  expect_same_as_interpreter(m);
}

// Each reader is looked at once, not once per input of every other: else these take hours.
TEST(SinkTransposes, BesideManyReaders) {
  constexpr size_t kReaders = 20000;
  for (const bool stays : {false, true}) {
    GraphMaker m;
    const auto x = to_channels_last(m, m.input({1, 2, 2, 2}));
    const auto joined = m.op("Concat", std::vector<ir::Value>(kReaders, x), {{"axis", "3"}});
    m.result(stays ? joined : to_channels_first(m, joined));
    if (stays) m.result(x);
    if (stays) {
      expect_refusal(m.graph(), transposes());
      continue;
    }
    const auto rewritten = cpu::rewrite_portable(m.graph());
    for (const ir::NodeId id : rewritten->nodes()) EXPECT_FALSE(rewritten->node(id).is("Transpose"));
  }
}

/// Convolutions, activations and a residual connection, all channels last.
GraphMaker channels_last_chain(int64_t channels, bool backward) {
  GraphMaker m;
  const auto filter = [&](uint32_t seed) { return m.random({channels, channels, 3, 3}, seed, 0.1f); };
  const AttributeTexts same = {{"auto_pad", "same_upper"}, {"activation", "Relu"}};
  auto x = convolution(m, {m.input({1, 9, 10, channels}), filter(1), m.random({channels}, 2)}, same);
  auto y = convolution(m, {x, filter(3)}, {{"pads_begin", "1,1"}, {"pads_end", "1,1"}, {"mode", "convolution"}});
  auto z = m.op("Sigmoid", {m.op("Add", {x, y})});
  AttributeTexts last = same;
  if (backward) last.insert(last.end(), {{"direction", "backward"}, {"strides", "2,2"}});
  m.result(convolution(m, {z, filter(4), m.random({1, 1, 1, channels}, 5)}, last));
  return m;
}

/// Instruction sets on which the nhwc kernels are at no disadvantage to blocked ones that reorders would outweigh.
std::vector<cpu::Isa> fast_isas() {
  std::vector<cpu::Isa> isas;
  for (const cpu::Isa isa : cpu::available_isas())
    if (isa >= cpu::Isa::avx2) isas.push_back(isa);
  return isas;
}

TEST(ChannelsLast, CostsNoTransposes) {
  for (const cpu::Isa isa : cpu::available_isas())
    for (const bool backward : {false, true}) {
      const auto plan = plan_of(channels_last_chain(16, backward), isa);
      for (const cpu::Step& step : plan->steps) EXPECT_NE(step.type, "Transpose") << step.name;
    }
  for (const cpu::Isa isa : fast_isas())
    for (const bool backward : {false, true}) {
      SCOPED_TRACE(cpu::isa_name(isa));
      // several blocks: of a single one nhwc and blocks are the same memory; Winograd's kernels may be worth two
      // reorders
      const auto plan = plan_of(channels_last_chain(32, backward), isa, true);
      ASSERT_EQ(plan->steps.size(), 3u) << ::testing::PrintToString(kernels_of(*plan));
      for (const cpu::Step& step : plan->steps) {
        EXPECT_EQ(step.type, backward && step.name == "convolution3" ? "ConvolutionBackpropData" : "Convolution");
        EXPECT_FALSE(step.is_reference) << step.kernel;
      }
    }
  expect_same_as_interpreter(channels_last_chain(16, false));
  expect_same_as_interpreter(channels_last_chain(16, true));
}

// Neither where a layer that no convolution takes into its store is the last one, whatever type it gives: the reorder
// that some kernels' blocks cost brings the channels to their place.
TEST(ChannelsLast, CostsNoTransposesBehindOtherLayers) {
  for (const cpu::Isa isa : cpu::available_isas())
    for (const auto& [channels, kernel] : {std::pair<int64_t, int64_t>{32, 1}, {30, 3}, {32, 3}, {9, 3}})
      for (const auto& [type, attributes] : {std::pair<const char*, AttributeTexts>{"Sin", {}},
                                             {"Convert", {{"destination_type", "f16"}}},
                                             {"Convert", {{"destination_type", "i32"}}}}) {
        SCOPED_TRACE(testing::Message() << cpu::isa_name(isa) << ", " << channels << " channels, kernel " << kernel
                                        << ", " << type);
        GraphMaker m;
        const auto x = convolution(m, {m.input({1, 20, 20, 16}), m.random({channels, 16, kernel, kernel}, 1)}, {});
        m.result(m.op(type, {x}, attributes));
        const auto plan = plan_of(m, isa);
        for (const cpu::Step& step : plan->steps) EXPECT_NE(step.type, "Transpose") << step.name;
      }
}

// Nor where convolutions read what others gave together, or parts of it, or padded.
TEST(ChannelsLast, CostsNoTransposesBetweenJoinsAndParts) {
  const auto model = [] {
    GraphMaker m;
    const auto next = [&](ir::Value x, int64_t from, int64_t to, uint32_t seed) {
      return convolution(m, {x, m.random({to, from, 3, 3}, seed, 0.1f)}, {{"auto_pad", "same_upper"}});
    };
    auto x = next(m.input({1, 9, 10, 16}), 16, 32, 1);
    x = m.op("Concat", {x, next(x, 32, 32, 2)}, {{"axis", "3"}});
    const ir::Value parts = m.op("Split", {next(x, 64, 64, 3), m.integers({3})}, {{"num_splits", "2"}});
    x = m.op("Pad", {m.op("ReLU", {{parts.node, 1}}), m.integers({0, 1, 0, 0}), m.integers({0, 0, 1, 0})},
             {{"pad_mode", "edge"}});
    m.result(next(parts, 32, 16, 4));
    m.result(next(x, 32, 16, 5));
    return m;
  };
  for (const cpu::Isa isa : fast_isas()) {
    SCOPED_TRACE(cpu::isa_name(isa));
    std::vector<std::string> steps;
    const auto plan = plan_of(model(), isa);
    for (const cpu::Step& step : plan->steps) steps.push_back(step.type);
    std::sort(steps.begin(), steps.end());
    // Whole blocks are joined and parted in place.
    EXPECT_EQ(steps, (std::vector<std::string>{"Convolution", "Convolution", "Convolution", "Convolution",
                                               "Convolution", "Pad", "ReLU"}));
  }
  expect_same_as_interpreter(model());
}

TEST(ChannelsLast, OfUnknownExtents) {
  GraphMaker m;
  auto x = convolution(m, {m.input(PartialShape("?,?,4..,16")), m.random({16, 16, 3, 3}, 1, 0.1f)},
                       {{"auto_pad", "same_upper"}, {"activation", "Tanh"}});
  auto y = convolution(m, {x, m.random({16, 16, 1, 1}, 2), m.random({16}, 3)}, {});
  m.result(m.op("ReLU", {m.op("Add", {m.op("Multiply", {x, m.random({16}, 4)}), y})}));
  const auto rewritten = cpu::rewrite_portable(m.graph());
  size_t transposes = 0;
  for (const ir::NodeId id : rewritten->nodes()) transposes += rewritten->node(id).is("Transpose") ? 1 : 0;
  EXPECT_EQ(transposes, 2u);  // of the input and of the result
  EXPECT_EQ(rewritten->port({rewritten->results()[0], 0}).shape, m.graph().port({m.graph().results()[0], 0}).shape);
  const std::vector<std::vector<HostTensor>> sets = {{random_tensor({1, 5, 6, 16}, 1)},
                                                     {random_tensor({2, 3, 4, 16}, 2)}};
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(ChannelsLast, IsRightForChannelsThatFillNoBlock) {
  expect_same_as_interpreter(channels_last_chain(5, false));
  expect_same_as_interpreter(channels_last_chain(19, true));
}

TEST(TransposeViews, AreLayoutsUnderOtherNumbers) {
  using cpu::Layout;
  EXPECT_EQ(Layout::channels_last(4).renumbered({0, 3, 1, 2}), Layout::plain(4));
  EXPECT_EQ(Layout::plain(5).renumbered({0, 2, 3, 4, 1}), Layout::channels_last(5));
  const Layout blocked = Layout::blocked(4, 8).renumbered({0, 2, 1, 3});
  EXPECT_EQ(blocked.blocks()[0], (Layout::Block{2, 8}));
  EXPECT_EQ(blocked.renumbered({0, 2, 1, 3}), Layout::blocked(4, 8));
}

TEST(TransposeViews, MakeNoSteps) {
  GraphMaker m;
  // One element per channel: nothing moves.
  m.result(m.op("SoftMax", {to_channels_last(m, m.op("SoftMax", {m.input({2, 7, 1, 1})}, {{"axis", "1"}}))},
                {{"axis", "3"}}));
  // From a plain input to what only a plain result takes: a copy.
  m.result(to_channels_last(m, m.input({2, 3, 4, 5})));
  const auto plan = plan_of(m);
  EXPECT_EQ(plan->steps.size(), 3u);
  EXPECT_EQ(std::count_if(plan->steps.begin(), plan->steps.end(),
                          [](const cpu::Step& step) { return step.type == "Transpose"; }),
            1);
  expect_same_as_interpreter(m);
}

TEST(TransposeViews, ReadTheUsersMemory) {
  GraphMaker m;
  auto x = m.input({1, 8, 9, 16});
  m.result(x);
  m.result(to_channels_last(m, m.conv(to_channels_first(m, x), 16, 3, 1)));
  for (const cpu::Isa isa : fast_isas()) {
    const auto plan = plan_of(m, isa);
    ASSERT_EQ(plan->steps.size(), 2u) << ::testing::PrintToString(kernels_of(*plan));  // and the copy of x
    for (const cpu::Step& step : plan->steps) {
      EXPECT_EQ(step.inputs[0].kind, cpu::Slot::Kind::model_input) << step.name;
      EXPECT_EQ(step.outputs[0].kind, cpu::Slot::Kind::model_output) << step.name;
    }
  }
  expect_same_as_interpreter(m);
}

}  // namespace
}  // namespace terroir::test
