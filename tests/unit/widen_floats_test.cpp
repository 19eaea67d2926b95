#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "ir/graph/infer.hpp"
#include "ir/graph/verify.hpp"
#include "ops/defs/type/convert.hpp"
#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "plugins/interpreter/interpreter.hpp"

namespace terroir::ops {
namespace {

using ir::NodeId;
using ir::Value;

const ir::OpSchema& op(const char* type) { return builtin_registry().get(type, "opset1"); }

struct Fixture {
  ir::Graph graph;
  float16 one{1.f};

  NodeId parameter(element::Type type) {
    ir::ParameterAttrs attrs;
    attrs.shape = PartialShape("[?]");
    attrs.element_type = type;
    return graph.add(op("Parameter"), "data", ir::make_attributes_of(attrs));
  }
  NodeId constant() { return graph.add_constant(op("Const"), "one", {{element::f16, {1}, &one}, nullptr}); }
  NodeId convert(NodeId from, element::Type type) {
    return graph.add(op("Convert"), "convert", ir::make_attributes_of(ConvertAttrs{type}), {{from, 0}});
  }
  NodeId result(NodeId from) { return graph.add(op("Result"), "out", nullptr, {{from, 0}}); }
  void widen() {
    ir::infer_graph(graph);
    widen_floats(graph, builtin_registry());
    EXPECT_TRUE(ir::verify(graph).empty()) << ir::verify(graph).front();
  }
  /// How many values of the type there are between parameters and results.
  int inner_values(element::Type type) const {
    int count = 0;
    for (const NodeId id : graph.nodes())
      for (const auto& port : graph.node(id).outputs)
        count += port.type == type && !graph.node(id).is("Parameter") && !graph.node(id).is("Result");
    return count;
  }
  float run_f16(float value) const {
    const float16 narrow(value);
    const ir::TensorView input{element::f16, {1}, &narrow};
    const auto outputs = interpreter::run(graph, {&input, 1});
    EXPECT_EQ(outputs[0].type(), element::f16);
    return outputs[0].as<float16>()[0];
  }
};

TEST(WidenFloats, GivesEveryBitPatternTheFloatThatACastGives) {
  for (const element::Type type : {element::f16, element::bf16}) {
    std::vector<uint16_t> halves(1 << 16);
    std::iota(halves.begin(), halves.end(), uint16_t{0});
    ir::Graph graph;
    const ir::Dims dims{static_cast<int64_t>(halves.size())};
    const NodeId constant = graph.add_constant(op("Const"), "all", {{type, dims, halves.data()}, nullptr});
    const NodeId negative = graph.add(op("Negative"), "minus", nullptr, {{constant, 0}});
    graph.add(op("Result"), "out", nullptr, {{negative, 0}});
    ir::infer_graph(graph);
    widen_floats(graph, builtin_registry());
    const ir::Constant* wide = ir::constant_of(graph, graph.node(negative).inputs[0]);
    ASSERT_NE(wide, nullptr);
    ASSERT_EQ(wide->view.type, element::f32);
    for (size_t i = 0; i < halves.size(); ++i) {
      const float expected =
          type == element::f16 ? float(float16::from_bits(halves[i])) : float(bfloat16::from_bits(halves[i]));
      ASSERT_EQ(std::bit_cast<uint32_t>(wide->view.as<float>()[i]), std::bit_cast<uint32_t>(expected)) << i;
    }
  }
}

TEST(WidenFloats, ComputesInF32BetweenParametersAndResults) {
  Fixture f;  // (data + 1) + 1: 2048 + 1 is not an f16, so a sum in f16 loses each of the ones
  const NodeId data = f.parameter(element::f16);
  const NodeId one = f.constant();
  const NodeId first = f.graph.add(op("Add"), "first", nullptr, {{data, 0}, {one, 0}});
  const NodeId second = f.graph.add(op("Add"), "second", nullptr, {{first, 0}, {one, 0}});
  f.result(second);
  ir::infer_graph(f.graph);
  EXPECT_EQ(f.run_f16(2048), 2048.f);
  f.widen();
  EXPECT_EQ(f.run_f16(2048), 2050.f);
  EXPECT_EQ(f.inner_values(element::f16), 1) << "only what the result reads";
  EXPECT_EQ(f.graph.port({f.graph.parameters()[0], 0}).type, element::f16);
  EXPECT_EQ(f.graph.port({f.graph.results()[0], 0}).type, element::f16);
}

TEST(WidenFloats, KeepsTheRoundingThatTheModelAsksFor) {
  Fixture f;
  const NodeId data = f.parameter(element::f32);
  const NodeId narrow = f.convert(data, element::f16);
  const NodeId wide = f.convert(narrow, element::f32);
  f.result(wide);
  f.widen();
  const float value = 2049;
  const ir::TensorView input{element::f32, {1}, &value};
  EXPECT_EQ(interpreter::run(f.graph, {&input, 1})[0].as<float>()[0], 2048.f);
}

TEST(WidenFloats, ConvertsWhatNeedsNoRoundingOnce) {
  for (const element::Type narrow : {element::f16, element::bf16})
    for (const auto& [type, values] : {std::pair{element::u8, 1}, {element::i8, 1}, {element::u16, 2}}) {
      Fixture f;
      const NodeId one = f.convert(f.parameter(type), narrow);
      f.result(f.convert(f.graph.add(op("Negative"), "minus", nullptr, {{one, 0}}), element::f32));
      f.result(one);
      f.widen();
      EXPECT_EQ(f.inner_values(narrow), 1) << "for the result, or of the conversion";
      const bool fits = type != element::u16;
      EXPECT_EQ(f.graph.port({one, 0}).type, fits ? element::f32 : narrow) << type;
      EXPECT_EQ(f.graph.port({f.graph.results()[1], 0}).type, narrow);
      std::vector<uint8_t> bytes(static_cast<size_t>(256 * values));
      std::iota(bytes.begin(), bytes.end(), uint8_t{0});
      const ir::TensorView input{type, {256}, bytes.data()};
      const auto outputs = interpreter::run(f.graph, {&input, 1});
      if (!fits) continue;
      for (int i = 0; i < 256; ++i)
        ASSERT_EQ(outputs[0].as<float>()[i], -static_cast<float>(type == element::u8 ? i : static_cast<int8_t>(i)));
    }
}

TEST(WidenFloats, ConvertLikeRoundsToTheTypeOfItsSecondInput) {
  for (const bool like_constant : {true, false}) {
    Fixture f;
    const NodeId data = f.parameter(element::f32);
    const NodeId like = like_constant ? f.constant() : f.parameter(element::f16);
    const NodeId narrow =
        f.graph.add(builtin_registry().get("ConvertLike", "opset8"), "narrow", nullptr, {{data, 0}, {like, 0}});
    f.result(f.convert(narrow, element::f32));
    f.widen();
    const float value = 2049;
    const ir::TensorView inputs[] = {{element::f32, {1}, &value}, {element::f16, {1}, &f.one}};
    EXPECT_EQ(interpreter::run(f.graph, {inputs, like_constant ? size_t{1} : size_t{2}})[0].as<float>()[0], 2048.f)
        << like_constant;
  }
}

TEST(WidenFloats, PassesNarrowValuesThrough) {
  Fixture f;
  const NodeId data = f.parameter(element::f16);
  const NodeId one = f.constant();
  f.result(data);
  f.result(one);
  f.widen();
  const float16 value(3.f);
  const ir::TensorView input{element::f16, {1}, &value};
  const auto outputs = interpreter::run(f.graph, {&input, 1});
  EXPECT_EQ(static_cast<float>(outputs[0].as<float16>()[0]), 3.f);
  EXPECT_EQ(static_cast<float>(outputs[1].as<float16>()[0]), 1.f);
}

TEST(WidenFloats, FeedsNarrowTypesToAnOpThatInsistsOnThem) {
  ir::OpSchema picky;
  picky.type = "Picky";
  picky.opset = "opset1";
  picky.arity = {1, 1, 1};
  picky.infer = [](ir::InferContext& ctx) {
    ctx.require(ctx.type(0) == element::f16, "f16 is expected");
    ctx.set_output(0, element::f16, ctx.shape(0));
  };
  picky.reference = op("ReLU").reference;
  Fixture f;
  const NodeId data = f.parameter(element::f16);
  const NodeId act = f.graph.add(op("ReLU"), "act", nullptr, {{data, 0}});
  const NodeId node = f.graph.add(picky, "picky", nullptr, {{act, 0}});
  f.result(f.graph.add(op("ReLU"), "after", nullptr, {{node, 0}}));
  f.widen();
  EXPECT_EQ(f.run_f16(3), 3.f);
}

TEST(WidenFloats, LeavesOtherModelsAlone) {
  Fixture f;
  const NodeId data = f.parameter(element::f32);
  f.result(f.graph.add(op("ReLU"), "act", nullptr, {{data, 0}}));
  const size_t before = f.graph.id_bound();
  f.widen();
  EXPECT_EQ(f.graph.id_bound(), before);
}

}  // namespace
}  // namespace terroir::ops
