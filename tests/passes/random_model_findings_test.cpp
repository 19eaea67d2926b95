// What random models (tests/random_models) have found wrong, small and by hand.
#include <gtest/gtest.h>

#include "ir/graph/infer.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/body_ports.hpp"

namespace terroir::test {
namespace {

/// One inference on each device.
void expect_on_devices(const ir::Graph& graph, const std::vector<HostTensor>& inputs,
                       const std::vector<float>& wanted) {
  for (const char* device : {"INTERPRETER", "CPU"}) {
    const HostTensor result = DeviceModel(std::shared_ptr<const ir::Graph>(graph.clone()), device).infer(inputs)[0];
    ASSERT_EQ(static_cast<size_t>(result.view().count()), wanted.size()) << device;
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(result.as<float>()[i], wanted[i]) << device << ", " << i;
  }
}

// The body was written for a batch of three; what comes in counts.
TEST(RandomModelFindings, BodiesOfReshapedModels) {
  const auto branch = [](const char* role, const char* type) {
    GraphMaker body;
    const ir::Value x = body.input({3, 2});
    ir::BodyPortMap ports;
    ports.inputs = {fed(1, x)};
    ports.outputs = {given(0, body.result(body.op(type, {x})))};
    return std::move(body).as_body(role, ports);
  };
  GraphMaker m;
  const ir::Value condition = m.input({}, element::boolean), x = m.input({3, 2});
  std::vector<ir::Body> bodies;
  bodies.push_back(branch("then_body", "ReLU"));
  bodies.push_back(branch("else_body", "Negative"));
  m.result(m.control("If", {condition, x}, std::move(bodies)));
  ir::Node& parameter = m.graph().node(x.node);
  parameter.attributes = ir::make_attributes_of(ir::ParameterAttrs{PartialShape{1, 2}, element::f32});
  ir::infer_graph(m.graph());
  HostTensor no(element::boolean, {}), image(element::f32, {1, 2});
  *no.writable().as<uint8_t>() = 0;
  image.writable().as<float>()[0] = 2;
  image.writable().as<float>()[1] = -3;
  expect_on_devices(m.graph(), {no, image}, {-2, 3});
}

/// If(condition, x): x times the first extent of x, or -x; the bodies were written for three rows.
GraphMaker times_its_rows(const PartialShape& shape) {
  GraphMaker by_rows, negative;
  const ir::Value a = by_rows.input({3, 2}), b = negative.input({3, 2});
  const ir::Value extents = by_rows.op("ShapeOf", {a}, {{"output_type", "i64"}}, "", "opset3");
  const ir::Value rows = by_rows.op("Gather", {extents, by_rows.scalar_integer(0), by_rows.scalar_integer(0)});
  ir::BodyPortMap then_ports, else_ports;
  then_ports.inputs = {fed(1, a)};
  then_ports.outputs = {given(
      0, by_rows.result(by_rows.op("Multiply", {a, by_rows.op("Convert", {rows}, {{"destination_type", "f32"}})})))};
  else_ports.inputs = {fed(1, b)};
  else_ports.outputs = {given(0, negative.result(negative.op("Negative", {b})))};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(by_rows).as_body("then_body", then_ports));
  bodies.push_back(std::move(negative).as_body("else_body", else_ports));
  GraphMaker m;
  const ir::Value condition = m.input({}, element::boolean), x = m.input(shape);
  m.result(m.control("If", {condition, x}, std::move(bodies)));
  return m;
}

// What a body asks of its inputs is asked of those that come in, not of those that it was written for.
TEST(RandomModelFindings, BodiesThatAskForExtents) {
  HostTensor yes(element::boolean, {}), image(element::f32, {1, 2});
  *yes.writable().as<uint8_t>() = 1;
  image.writable().as<float>()[0] = 2;
  image.writable().as<float>()[1] = -3;
  for (const PartialShape& shape : {PartialShape{1, 2}, PartialShape{-1, -1}, PartialShape::dynamic()})
    expect_on_devices(times_its_rows(shape).graph(), {yes, image}, {2, -3});
}

// A layer that says to which type another is converted makes it so, although halves travel as f32.
TEST(RandomModelFindings, ConvertLikeRoundsToNarrowTypes) {
  GraphMaker m;
  const ir::Value x = m.input({2}), like = m.input({1}, element::bf16);
  const ir::Value narrow = m.op("ConvertLike", {x, like});
  m.result(m.op("Convert", {narrow}, {{"destination_type", "f32"}}));
  HostTensor numbers(element::f32, {2}), other(element::bf16, {1});
  numbers.writable().as<float>()[0] = 1.001F;
  numbers.writable().as<float>()[1] = -2;
  *other.writable().as<bfloat16>() = bfloat16(3.0F);
  expect_on_devices(m.graph(), {numbers, other}, {1, -2});
}

}  // namespace
}  // namespace terroir::test
