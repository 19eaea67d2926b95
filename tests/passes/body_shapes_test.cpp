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

// Sums of the parts of x along axis 1, which has no elements.
TEST(BodyShapes, PartsOfNothingAreAsLargeAsTheyWouldBe) {
  for (const std::string type : {"Loop", "TensorIterator"}) {
    for (const bool known : {true, false}) {
      const int64_t first = type == "Loop" ? 2 : 0;
      GraphMaker body;
      const ir::Value part = body.input(PartialShape("[?,?,3]")), sum = body.input(PartialShape("[?,3]"));
      const ir::Value next = body.op("Add", {body.op("Squeeze", {part, body.integers({1})}), sum});
      const ir::NodeId carried = body.result(next);
      const ir::NodeId line = body.result(body.op("Unsqueeze", {next, body.integers({1})}));
      Ports ports;
      ports.inputs = {sliced(first, part, 1, 1, 1), fed(first + 1, sum)};
      ports.outputs = {given(0, carried), joined(1, line, 1, 1, 1)};
      ports.back_edges = {{carried, sum.node}};
      GraphMaker m;
      const ir::Value x = m.input(known ? PartialShape{2, 0, 3} : PartialShape("[?,?,3]"));
      const ir::Value start = m.input(known ? PartialShape{2, 3} : PartialShape("[?,3]"));
      const ir::Value last =
          m.control(type, loop_inputs(m, type, 4, {x, start}), only(std::move(body).as_body("body", ports)));
      const ir::Value all{last.node, 1};
      EXPECT_TRUE(m.graph().port(all).shape.compatible(PartialShape{2, 0, 3})) << type;
      m.result(last);
      m.result(all);
      EXPECT_EQ(shapes_of(m, {random_tensor({2, 0, 3}, 1), random_tensor({2, 3}, 2)}),
                (std::vector<ir::Dims>{{2, 3}, {2, 0, 3}}))
          << type;
    }
  }
}

// Every iteration gives five numbers; there are three before the first.
TEST(BodyShapes, CarriedValuesMayStayWhatTheyWere) {
  const auto loop = [](GraphMaker& m, ir::Value trip) {
    GraphMaker body;
    const ir::Value value = body.input(PartialShape("[?]"));
    const ir::NodeId next = body.result(body.constant({5}, {1, 2, 3, 4, 5}));
    Ports ports;
    ports.inputs = {fed(2, value)};
    ports.outputs = {given(0, next)};
    ports.back_edges = {{next, value.node}};
    const ir::Value last =
        m.control("Loop", {trip, constant_condition(m), m.input({3})}, only(std::move(body).as_body("body", ports)));
    m.result(last);
    m.result(m.op("ShapeOf", {last}));
    return m.graph().port(last).shape;
  };
  GraphMaker unknown;
  EXPECT_EQ(loop(unknown, unknown.input({}, element::i64)), PartialShape("[?]"));
  for (const int64_t trip : {0, 2}) {
    const ir::Dims expected{trip == 0 ? 3 : 5};
    EXPECT_EQ(shapes_of(unknown, {integer_tensor({}, {trip}), random_tensor({3}, 1)})[0], expected);
    GraphMaker known;
    EXPECT_EQ(loop(known, known.scalar_integer(trip)), PartialShape(ir::to_shape(expected)));
    EXPECT_EQ(shapes_of(known, {random_tensor({3}, 1)})[0], expected);
  }
}

}  // namespace
}  // namespace terroir::test
