// Shapes of what If, Loop and TensorIterator give: as inferred, on the interpreter and on the CPU device.
#include <gtest/gtest.h>

#include <algorithm>

#include "plugins/interpreter/interpreter.hpp"
#include "tests/passes/conditions.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/body_ports.hpp"
#include "tests/support/caught.hpp"

namespace terroir::test {
namespace {

using Ports = ir::BodyPortMap;

std::vector<ir::Body> only(ir::Body body) {
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body));
  return bodies;
}

/// Shapes of the results of the interpreter; fails where the CPU device gives others, or other elements.
std::vector<ir::Dims> shapes_of(const GraphMaker& m, const std::vector<HostTensor>& inputs) {
  const std::vector<HostTensor> sets[] = {inputs};
  expect_same_as_interpreter(m.graph(), sets);
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) views.push_back(input.view());
  std::vector<ir::Dims> shapes;
  for (const HostTensor& result : interpreter::run(m.graph(), views)) shapes.push_back(result.dims());
  return shapes;
}

/// Of a loop over the parts of its first input: x of TensorIterator, or of Loop after trip count and condition.
std::vector<ir::Value> loop_inputs(GraphMaker& m, const std::string& type, int64_t trip,
                                   const std::vector<ir::Value>& values) {
  std::vector<ir::Value> inputs;
  if (type == "Loop") inputs = {m.scalar_integer(trip), constant_condition(m)};
  inputs.insert(inputs.end(), values.begin(), values.end());
  return inputs;
}

TEST(BodyShapes, JoinedPartsAreAsLongAsTheBodyMakesThem) {
  for (const std::string type : {"Loop", "TensorIterator"}) {
    const int64_t first = type == "Loop" ? 2 : 0;
    GraphMaker body;
    const ir::Value row = body.input({1, 3}), rows = body.input({2, 3});
    Ports ports;
    ports.inputs = {sliced(first, row, 0, 1, 1), fed(first + 1, rows)};
    ports.outputs = {joined(0, body.result(body.op("Add", {row, rows})), 0, 1, 1)};
    GraphMaker m;
    const ir::Value all = m.control(type, loop_inputs(m, type, 4, {m.input({4, 3}), m.input({2, 3})}),
                                    only(std::move(body).as_body("body", ports)));
    EXPECT_EQ(m.graph().port(all).shape, PartialShape("[8,3]")) << type;
    m.result(all);
    m.result(m.op("ShapeOf", {all}));
    expect_same_as_interpreter(m);
  }
}

TEST(BodyShapes, JoinedPartsMayGrow) {
  for (const std::string type : {"Loop", "TensorIterator"}) {
    const int64_t first = type == "Loop" ? 2 : 0;
    GraphMaker body;
    const ir::Value row = body.input({1, 3}), rows = body.input(PartialShape("[?,3]"));
    const ir::NodeId more = body.result(body.op("Concat", {rows, row}, {{"axis", "0"}}));
    Ports ports;
    ports.inputs = {sliced(first, row, 0, 1, 1), fed(first + 1, rows)};
    ports.outputs = {joined(0, more, 0, 1, 1)};
    ports.back_edges = {{more, rows.node}};
    GraphMaker m;
    const ir::Value all = m.control(type, loop_inputs(m, type, 3, {m.input({3, 3}), m.input({1, 3})}),
                                    only(std::move(body).as_body("body", ports)));
    EXPECT_TRUE(m.graph().port(all).shape[0].compatible(9)) << type << m.graph().port(all).shape;
    m.result(all);
    m.result(m.op("ShapeOf", {all}));
    EXPECT_EQ(shapes_of(m, {random_tensor({3, 3}, 1), random_tensor({1, 3}, 2)})[0], (ir::Dims{9, 3})) << type;
  }
}

// As many as there are parts, where these are fewer.
TEST(BodyShapes, PartsLimitTheIterationsOfALoop) {
  for (const PartialShape& shape : {PartialShape{4, 3}, PartialShape{-1, 3}}) {
    GraphMaker body;
    const ir::Value row = body.input({1, 3});
    Ports ports;
    ports.inputs = {sliced(2, row, 0, 1, 1)};
    ports.outputs = {joined(0, body.result(body.op("ReLU", {row})), 0, 1, 1)};
    GraphMaker m;
    const ir::Value all =
        m.control("Loop", loop_inputs(m, "Loop", 7, {m.input(shape)}), only(std::move(body).as_body("body", ports)));
    EXPECT_EQ(m.graph().port(all).shape, shape.is_static() ? PartialShape("[4,3]") : PartialShape("[..7,3]"));
    m.result(all);
    m.result(m.op("ShapeOf", {all}));
    EXPECT_EQ(shapes_of(m, {random_tensor({4, 3}, 1)})[0], (ir::Dims{4, 3}));
  }
}

}  // namespace
}  // namespace terroir::test
