// Files of compiled models whose fused layers name what there is not: an error, and no crash, whatever the hashes say.
#include "plugins/cpu/stored_nodes.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/nodes/quantized_problem.hpp"
#include "plugins/cpu/plan.hpp"
#include "plugins/cpu/stored_plan.hpp"
#include "plugins/cpu/weights_cache.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/caught.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;

/// A plan of the best kernels here, that can be written with other attributes.
class WrittenPlan {
 public:
  explicit WrittenPlan(const GraphMaker& m) {
    options_.isa = active_isa();
    options_.bytes = active_byte_products() != ByteProducts::none;
    std::vector<ir::Dims> inputs;
    for (const ir::Value& input : m.inputs()) inputs.push_back(m.dims(input));
    plan_ = compile_plan(bound_graph(rewrite_portable(m.graph()), inputs), weights_, options_, arena_, true);
  }

  bool has(std::string_view type) const { return find(*plan_->source->graph, type) != ir::NodeId::none; }

  /// Reads what was written after `change` of the attributes of the first node of the set "cpu" of this type.
  template <class Attrs>
  void read_with(std::string_view type, const std::function<void(Attrs&)>& change) const {
    const PlanSource& source = *plan_->source;
    PlanSource changed{source.graph->clone(), source.decisions, source.gone};
    ir::Node& node = changed.graph->node(find(*changed.graph, type));
    Attrs attrs = node.attrs<Attrs>();
    change(attrs);
    node.attributes = ir::make_attributes_of(std::move(attrs));
    plugin::ArchiveWriter writer;
    store_plan(changed, weights_, writer);
    std::stringstream file;
    writer.write(
        [&file](std::span<const std::string_view> parts) {
          for (const std::string_view part : parts) file << part;
        },
        arena_);
    plugin::Archive archive = plugin::Archive::read(file, arena_);
    WeightsCache weights;
    load_plan(archive, ops::builtin_registry(), weights, options_);
  }

  template <class Attrs>
  void expect_error(const char* what, std::string_view type, const std::function<void(Attrs&)>& change) const {
    SCOPED_TRACE(std::string(type) + ": " + what);
    EXPECT_NO_THROW(read_with<Attrs>(type, [](Attrs&) {}));
    EXPECT_EQ(caught([&] { read_with(type, change); }).code(), ErrorCode::parse_error);
  }

 private:
  static ir::NodeId find(const ir::Graph& graph, std::string_view type) {
    for (const ir::NodeId id : graph.nodes())
      if (is_cpu_op(graph.node(id)) && graph.node(id).is(type)) return id;
    return ir::NodeId::none;
  }

  CompileOptions options_;
  parallel::Arena arena_{1};
  WeightsCache weights_;
  std::unique_ptr<Plan> plan_;  // without it, the packed weights go
};

/// Changes of a chain of which step 0 has an operand per channel, step 1 none, and step 2 a whole tensor.
const std::vector<std::pair<const char*, std::function<void(FusedAttrs&)>>> kWrongChains = {
    {"no inputs", [](FusedAttrs& a) { a.base_inputs = 0; }},
    {"fewer inputs than the base has", [](FusedAttrs& a) { a.base_inputs = 1; }},
    {"more inputs than there are", [](FusedAttrs& a) { a.base_inputs = 100; }},
    {"a negative number of inputs", [](FusedAttrs& a) { a.base_inputs = -3; }},
    {"an axis that there is not", [](FusedAttrs& a) { a.channel_axis = 9; }},
    {"a negative axis", [](FusedAttrs& a) { a.channel_axis = -5; }},
    {"another axis", [](FusedAttrs& a) { a.channel_axis = 2; }},
    {"a step that there is not", [](FusedAttrs& a) { a.chain[1].kind = static_cast<PostOpKind>(99); }},
    {"a negative step", [](FusedAttrs& a) { a.chain[1].kind = static_cast<PostOpKind>(-1); }},
    {"a mode that there is not", [](FusedAttrs& a) { a.chain[0].mode = static_cast<OperandMode>(3); }},
    {"an operand that there is not", [](FusedAttrs& a) { a.chain[0].operand = 1000; }},
    {"a negative operand", [](FusedAttrs& a) { a.chain[0].operand = -2; }},
    {"no operand", [](FusedAttrs& a) { a.chain[0].operand = -1; }},
    {"an input of the base as operand", [](FusedAttrs& a) { a.chain[0].operand = 1; }},
    {"a value of the run per channel", [](FusedAttrs& a) { a.chain[0].operand = a.chain[2].operand; }},
    {"channels as a tensor", [](FusedAttrs& a) { a.chain[2].operand = a.chain[0].operand; }},
    {"an operand of a step that has none", [](FusedAttrs& a) { a.chain[1].operand = a.chain[2].operand; }},
    {"more steps than kernels take", [](FusedAttrs& a) { a.chain.resize(40, a.chain[1]); }},
    {"another base",
     [](FusedAttrs& a) {
       a.base = &ops::builtin_registry().get("MaxPool", "opset16");
       a.base_attributes = a.base->make_attributes();
     }},
};

ir::Value chained(GraphMaker& m, ir::Value x, ir::Value tensor) {
  x = m.op("Sigmoid", {m.op("Add", {x, m.random({1, m.dims(x)[1], 1, 1}, 3)})});
  return m.op("Add", {x, tensor});
}

TEST(StoredNodes, FusedChains) {
  GraphMaker m;
  m.result(chained(m, m.conv(m.input({1, 16, 9, 9}), 24, 3, 1), m.input({1, 24, 9, 9})));
  const WrittenPlan plan(m);
  for (const auto& [what, change] : kWrongChains) plan.expect_error<FusedAttrs>(what, "Convolution", change);
}

TEST(StoredNodes, LayersInBytes) {
  GraphMaker m;
  const ir::Value x = m.op("FakeQuantize", {m.input({1, 16, 9, 9}), m.scalar(0), m.scalar(4), m.scalar(0), m.scalar(4)},
                           {{"levels", "256"}});
  std::vector<float> weights(24 * 16);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i * 37 % 255) - 127;
  const ir::Value y = m.op("Convolution", {x, m.constant({24, 16, 1, 1}, weights)},
                           {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}});
  m.result(chained(m, y, m.input({1, 24, 9, 9})));
  const WrittenPlan plan(m);
  if (!plan.has(kQuantizedConvolutionType)) GTEST_SKIP() << "no products of bytes";
  for (const auto& [what, change] : kWrongChains)
    plan.expect_error<QuantizedAttrs>(what, kQuantizedConvolutionType,
                                      [&change](QuantizedAttrs& attrs) { change(attrs.fused); });
  plan.expect_error<QuantizedAttrs>("the steps as operand", kQuantizedConvolutionType,
                                    [](QuantizedAttrs& attrs) { attrs.fused.chain[0].operand = kQuantizedSteps; });
  plan.expect_error<QuantizedAttrs>("levels of other channels", kQuantizedConvolutionType, [](QuantizedAttrs& attrs) {
    attrs.store = QuantizeAttrs{ByChannel({0, -1}), 1, 256};
  });
  plan.expect_error<QuantizedAttrs>("scales of other channels", kQuantizedConvolutionType, [](QuantizedAttrs& attrs) {
    attrs.scale = ByChannel({1, 2, 3});
  });
  plan.expect_error<QuantizeAttrs>("ranges of other channels", kQuantizeType, [](QuantizeAttrs& attrs) {
    attrs.high = ByChannel({4, 2, 3});
  });
  plan.expect_error<QuantizedAttrs>("an output that there is not", kQuantizedConvolutionType,
                                    [](QuantizedAttrs& attrs) {
                                      attrs.store = QuantizeAttrs{0, 1, 256};
                                      attrs.also_floats = true;
                                    });
}

TEST(StoredNodes, ElementwiseRegions) {
  GraphMaker m;
  const ir::Value x = m.input({2, 3, 5}), gate = m.op("Greater", {x, m.input({2, 3, 5})});
  m.result(m.op("Select", {gate, m.op("Add", {x, m.input({2, 1, 5})}), m.op("Multiply", {x, m.input({2, 1, 1})})}));
  const WrittenPlan plan(m);
  ASSERT_TRUE(plan.has(kElementwiseType));
  const auto expect_error = [&](const char* what, const std::function<void(ElementwiseAttrs&)>& change) {
    plan.expect_error<ElementwiseAttrs>(what, kElementwiseType, change);
  };
  expect_error("none", [](ElementwiseAttrs& a) { a.members.clear(); });
  expect_error("an input that there is not", [](ElementwiseAttrs& a) { a.members[1].operands[0] = 100; });
  expect_error("a member behind it", [](ElementwiseAttrs& a) { a.members[1].operands[0] = -3; });
  expect_error("itself", [](ElementwiseAttrs& a) { a.members[0].operands[0] = -1; });
  expect_error("an operand less", [](ElementwiseAttrs& a) { a.members[1].operands.pop_back(); });
  expect_error("a region in it", [](ElementwiseAttrs& a) {
    a.members[0].schema = &cpu_ops().elementwise();
    a.members[0].attributes = std::make_shared<ir::AttributesOf<ElementwiseAttrs>>(a);
  });
}

TEST(StoredNodes, ConvolutionChains) {
  GraphMaker m;
  const auto activated = [&](ir::Value y) {
    return m.op("ReLU", {m.op("Add", {y, m.random({1, m.dims(y)[1], 1, 1}, 7)})});
  };
  const ir::Value x = m.input({1, 16, 56, 56});
  ir::Value y = activated(m.depthwise(activated(m.conv(x, 96, 1, 1)), 3, 2));
  y = m.conv(y, 16, 1, 3);
  m.result(m.op("Add", {m.op("Add", {y, m.random({1, 16, 1, 1}, 5)}), x}));
  const WrittenPlan plan(m);
  ASSERT_TRUE(plan.has(kConvolutionChainType));
  const auto expect_error = [&](const char* what, const std::function<void(ConvolutionChainAttrs&)>& change) {
    plan.expect_error<ConvolutionChainAttrs>(what, kConvolutionChainType, change);
  };
  expect_error("none", [](ConvolutionChainAttrs& a) { a.stages.clear(); });
  expect_error("one", [](ConvolutionChainAttrs& a) { a.stages.resize(1); });
  expect_error("too many", [](ConvolutionChainAttrs& a) { a.stages.resize(5, a.stages[0]); });
  expect_error("a mean that nobody gets", [](ConvolutionChainAttrs& a) { a.mean = true; });
  expect_error("an input that there is not", [](ConvolutionChainAttrs& a) { a.stages[1].inputs[1] = 100; });
  expect_error("nothing before it", [](ConvolutionChainAttrs& a) { a.stages[0].inputs[0] = -1; });
  expect_error("a negative input", [](ConvolutionChainAttrs& a) { a.stages[1].inputs[0] = -2; });
  expect_error("no input", [](ConvolutionChainAttrs& a) { a.stages[1].inputs.clear(); });
  expect_error("the value before as operand", [](ConvolutionChainAttrs& a) { a.stages[1].inputs.back() = -1; });
  expect_error("another result", [](ConvolutionChainAttrs& a) { a.stages.pop_back(); });
  expect_error("an operand that there is not", [](ConvolutionChainAttrs& a) {
    auto fused = ir::attributes_as<FusedAttrs>(*a.stages[0].attributes);
    fused.chain[0].operand = 77;
    a.stages[0].attributes = std::make_shared<ir::AttributesOf<FusedAttrs>>(fused);
  });
}

/// They would be a number of blocks that is divided by.
TEST(StoredNodes, GroupsOfNoWholeBlocks) {
  ConvProblem problem;
  problem.groups = 5;
  problem.ic = problem.oc = 40;
  for (const int64_t element : {1, 2}) {
    const Exception error = caught([&] { ByteProblem(problem, ByteForm{true, element}); });
    EXPECT_EQ(error.code(), ErrorCode::parse_error);
    EXPECT_NE(std::string(error.what()).find("groups are no whole blocks"), std::string::npos) << error.what();
  }
}

TEST(StoredNodes, WeightsWithoutElements) {
  GraphMaker m;
  m.result(m.op("MatMul", {m.input({4, 32, 1, 0}), m.constant({31, 0}, {})}, {{"transpose_b", "true"}}));
  const std::vector<test::HostTensor> inputs = {test::random_tensor({4, 32, 1, 0}, 1)};
  test::DeviceModel device = test::on_cpu(m.graph(), 1);
  device.infer(inputs);
  const test::HostTensor result = std::move(device.stored_and_loaded().infer(inputs).at(0));
  EXPECT_EQ(std::count(result.view().as<float>(), result.view().as<float>() + result.view().count(), 0.0f),
            4 * 32 * 31);
}

}  // namespace
}  // namespace terroir::cpu
