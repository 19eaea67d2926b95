#include "plugins/interpreter/interpreter.hpp"

#include <gtest/gtest.h>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"

namespace terroir::interpreter {
namespace {

using ir::NodeId;
using ir::Value;

const ir::OpSchema& op(const char* type) { return ops::builtin_registry().get(type, "opset1"); }

/// A node kind of these tests: as many outputs as wanted, none of which inference or a reference knows.
ir::OpSchema unrunnable(int outputs) {
  ir::OpSchema schema;
  schema.type = "Mystery";
  schema.opset = "opset3";
  schema.arity = {1, 1, outputs};
  schema.infer = [](ir::InferContext& ctx) { ctx.set_output(0, ctx.type(0), ctx.shape(0)); };
  return schema;
}

/// Keeps the positive elements: a size that only the data tells.
ir::OpSchema positives() {
  ir::OpSchema schema = unrunnable(1);
  schema.type = "Positives";
  schema.infer = [](ir::InferContext& ctx) {
    const auto& shape = ctx.shape(0);
    ctx.set_output(0, ctx.type(0), PartialShape{Dimension(0, shape.is_static() ? shape[0].get_length() : -1)});
  };
  schema.reference = [](const ir::EvalContext& ctx) {
    int64_t kept = 0;
    for (int64_t i = 0; i < ctx.inputs[0].count(); ++i)
      if (ctx.inputs[0].as<float>()[i] > 0) ctx.outputs[0].as<float>()[kept++] = ctx.inputs[0].as<float>()[i];
    ctx.outputs[0].dims = {kept};
  };
  return schema;
}

NodeId add_parameter(ir::Graph& graph, const PartialShape& shape, element::Type type = element::f32) {
  ir::ParameterAttrs attrs;
  attrs.shape = shape;
  attrs.element_type = type;
  return graph.add(op("Parameter"), "data", ir::make_attributes_of(attrs));
}

std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const Exception& error) {
    return error.what();
  }
  return "no error";
}

TEST(Interpreter, RunsAnyShapeThatTheParameterAllows) {
  ir::Graph graph;
  const NodeId data = add_parameter(graph, PartialShape("[?,1..3]"));
  const NodeId relu = graph.add(op("ReLU"), "relu", nullptr, {{data, 0}});
  graph.add(op("Result"), "out", nullptr, {{relu, 0}});
  const Program program(graph);
  for (int64_t rows : {0, 1, 5}) {
    std::vector<float> values(static_cast<size_t>(rows * 2));
    for (size_t i = 0; i < values.size(); ++i) values[i] = i % 2 ? 1.5f : -2.f;
    const ir::TensorView input{element::f32, {rows, 2}, values.data()};
    const auto outputs = program.run({&input, 1});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].dims(), (ir::Dims{rows, 2}));
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(outputs[0].as<float>()[i], i % 2 ? 1.5f : 0.f);
  }
}

TEST(Interpreter, FollowsSizesThatDependOnData) {
  const ir::OpSchema keep = positives();
  ir::Graph graph;
  const NodeId data = add_parameter(graph, PartialShape::dynamic());
  const NodeId kept = graph.add(keep, "keep", nullptr, {{data, 0}});
  const NodeId relu = graph.add(op("ReLU"), "relu", nullptr, {{kept, 0}});
  graph.add(op("Result"), "out", nullptr, {{relu, 0}});
  const float values[] = {1, -1, 2};
  const ir::TensorView input{element::f32, {3}, values};
  const auto outputs = run(graph, {&input, 1});
  EXPECT_EQ(outputs[0].dims(), ir::Dims{2});
  EXPECT_EQ(outputs[0].as<float>()[1], 2.f);
}

TEST(Interpreter, ReturnsParametersConstantsAndSharedValues) {
  ir::Graph graph;
  const NodeId data = add_parameter(graph, PartialShape{1});
  const float seven = 7;
  const NodeId constant = graph.add_constant(op("Const"), "seven", {{element::f32, {1}, &seven}, nullptr});
  graph.add(op("Result"), "a", nullptr, {{data, 0}});
  graph.add(op("Result"), "b", nullptr, {{data, 0}});
  graph.add(op("Result"), "c", nullptr, {{constant, 0}});
  const float value = 3;
  const ir::TensorView input{element::f32, {1}, &value};
  const auto outputs = run(graph, {&input, 1});
  EXPECT_EQ(outputs[0].as<float>()[0], 3.f);
  EXPECT_EQ(outputs[1].as<float>()[0], 3.f);
  EXPECT_EQ(outputs[2].as<float>()[0], 7.f);
  EXPECT_NE(outputs[0].view().data, &value) << "an output must outlive the caller's input";
}

TEST(Interpreter, SkipsWhatNoResultNeeds) {
  const ir::OpSchema mystery = unrunnable(1);
  ir::Graph graph;
  const NodeId data = add_parameter(graph, PartialShape{1});
  graph.add(mystery, "unused", nullptr, {{data, 0}});
  graph.add(op("Result"), "out", nullptr, {{data, 0}});
  EXPECT_EQ(message([&] { Program program(graph); }), "no error");
}

TEST(Interpreter, NamesTheLayersItCannotRun) {
  const ir::OpSchema mystery = unrunnable(1);
  ir::Graph graph;
  const NodeId data = add_parameter(graph, PartialShape{1});
  const NodeId first = graph.add(mystery, "x", nullptr, {{data, 0}});
  graph.node(first).origin = {"m.xml", 4, 12};
  const NodeId second = graph.add(mystery, "y", nullptr, {{first, 0}});
  graph.add(op("Result"), "out", nullptr, {{second, 0}});
  EXPECT_EQ(message([&] { Program program(graph); }),
            "Mystery 'x' (layer 4, m.xml:12): Mystery-3 'x' is not supported by INTERPRETER yet; "
            "Mystery 'y': Mystery-3 'y' is not supported by INTERPRETER yet");
}

TEST(Interpreter, RefusesInputsThatDoNotFit) {
  ir::Graph graph;
  const NodeId data = add_parameter(graph, PartialShape("[1,?]"));
  graph.add(op("Result"), "out", nullptr, {{data, 0}});
  const Program program(graph);
  const float value = 3;
  const ir::TensorView fits{element::f32, {1, 1}, &value}, rank{element::f32, {1}, &value},
      type{element::i32, {1, 1}, &value};
  EXPECT_EQ(program.run({&fits, 1}).size(), 1u);
  EXPECT_EQ(message([&] { program.run({}); }), "the model has 1 inputs, got 0");
  EXPECT_EQ(message([&] { program.run({&rank, 1}); }), "Parameter 'data': input 0 must have the shape [1,?], got [1]");
  EXPECT_EQ(message([&] { program.run({&type, 1}); }), "Parameter 'data': input 0 must be f32, got i32");
}

TEST(Interpreter, NamesTheLayerThatRefusesItsInput) {
  ir::Graph graph;
  const NodeId data = add_parameter(graph, PartialShape::dynamic(), element::dynamic);
  const NodeId relu = graph.add(op("ReLU"), "act", nullptr, {{data, 0}});
  graph.add(op("Result"), "out", nullptr, {{relu, 0}});
  const bool value = true;
  const ir::TensorView input{element::boolean, {1}, &value};
  EXPECT_EQ(message([&] { run(graph, {&input, 1}); }).find("ReLU 'act': the type boolean of input 0 is not supported"),
            0u);
}

TEST(Interpreter, CarriesNarrowTypesInF32WhenToldTo) {
  // 2048 + 1 is not an f16, so a sum in f16 loses each of the ones.
  ir::Graph graph;
  const NodeId data = add_parameter(graph, PartialShape{1}, element::f16);
  const float16 one(1.f);
  const NodeId constant = graph.add_constant(op("Const"), "one", {{element::f16, {1}, &one}, nullptr});
  const NodeId first = graph.add(op("Add"), "first", nullptr, {{data, 0}, {constant, 0}});
  const NodeId second = graph.add(op("Add"), "second", nullptr, {{first, 0}, {constant, 0}});
  graph.add(op("Result"), "out", nullptr, {{second, 0}});
  ir::infer_graph(graph);
  const float16 big(2048.f);
  const ir::TensorView input{element::f16, {1}, &big};
  const auto narrow = Program(graph, Precision::declared).run({&input, 1});
  EXPECT_EQ(static_cast<float>(narrow[0].as<float16>()[0]), 2048.f);
  const auto wide = Program(graph, Precision::f32).run({&input, 1});
  EXPECT_EQ(wide[0].type(), element::f16);
  EXPECT_EQ(static_cast<float>(wide[0].as<float16>()[0]), 2050.f);
}

TEST(Interpreter, RefusesAnInputThatIsNotConnected) {
  ir::Graph graph;
  const NodeId relu = graph.add(op("ReLU"), "act", nullptr, {{NodeId::none, 0}});
  graph.add(op("Result"), "out", nullptr, {{relu, 0}});
  EXPECT_EQ(message([&] { Program program(graph); }), "ReLU 'act': input 0 is not connected");
}

TEST(Interpreter, ObservesEveryNodeThatRuns) {
  ir::Graph graph;
  const NodeId data = add_parameter(graph, PartialShape{1});
  const NodeId relu = graph.add(op("ReLU"), "act", nullptr, {{data, 0}});
  graph.add(op("Result"), "out", nullptr, {{relu, 0}});
  const float value = 3;
  const ir::TensorView input{element::f32, {1}, &value};
  std::string seen;
  Program(graph).run({&input, 1}, [&](const ir::Node& node, double seconds, std::span<const HostTensor> outputs) {
    EXPECT_GE(seconds, 0);
    EXPECT_EQ(outputs.size(), 1u);
    seen += node.name + ' ';
    return true;
  });
  EXPECT_EQ(seen, "act out ");
}

TEST(Interpreter, StopsWhenTheObserverSaysSo) {
  ir::Graph graph;
  const NodeId data = add_parameter(graph, PartialShape{1});
  const NodeId relu = graph.add(op("ReLU"), "act", nullptr, {{data, 0}});
  graph.add(op("Result"), "out", nullptr, {{relu, 0}});
  const float value = 3;
  const ir::TensorView input{element::f32, {1}, &value};
  int calls = 0;
  const auto outputs = Program(graph).run(
      {&input, 1}, [&](const ir::Node&, double, std::span<const HostTensor>) { return ++calls, false; });
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(outputs.empty());
}

}  // namespace
}  // namespace terroir::interpreter
