// Bodies that do not fit what comes in: they need not where they do not run.
#include <gtest/gtest.h>

#include "plugins/interpreter/interpreter.hpp"
#include "tests/passes/conditions.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/body_ports.hpp"
#include "tests/support/caught.hpp"

namespace terroir::test {
namespace {

using Ports = ir::BodyPortMap;

/// If(condition, x): x[?,8] + a constant [3,8] in the then branch, ReLU(x) in the other.
ir::Value choice(GraphMaker& m, ir::Value condition, ir::Value x, const PartialShape& declared = {-1, 8}) {
  GraphMaker then_branch, else_branch;
  const ir::Value a = then_branch.input(declared), b = else_branch.input(declared);
  const ir::NodeId sum = then_branch.result(then_branch.op("Add", {a, then_branch.random({3, 8}, 5)}));
  const ir::NodeId positive = else_branch.result(else_branch.op("ReLU", {b}));
  Ports then_ports, else_ports;
  then_ports.inputs = {fed(1, a)};
  then_ports.outputs = {given(0, sum)};
  else_ports.inputs = {fed(1, b)};
  else_ports.outputs = {given(0, positive)};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(then_branch).as_body("then_body", then_ports));
  bodies.push_back(std::move(else_branch).as_body("else_body", else_ports));
  return m.control("If", {condition, x}, std::move(bodies));
}

/// Loop(trip, true, x) of a body with x carried; outputs are x and all x along axis 0.
template <class Next>
ir::Value carried(GraphMaker& m, ir::Value trip, ir::Value x, const PartialShape& shape, Next&& next) {
  GraphMaker body;
  const ir::Value number = body.input({}, element::i64), value = body.input(shape);
  const ir::NodeId result = body.result(next(body, number, value));
  Ports ports;
  Ports::Input iteration = fed(-1, number);
  iteration.current_iteration = true;
  ports.inputs = {iteration, fed(2, value)};
  ports.outputs = {given(0, result), joined(1, result, 0, 1, 1)};
  ports.back_edges = {{result, value.node}};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  const ir::Value last = m.control("Loop", {trip, constant_condition(m), x}, std::move(bodies));
  m.result(last);
  m.result({last.node, 1});
  return last;
}

void expect_same(const GraphMaker& m, const std::vector<std::vector<HostTensor>>& sets) {
  expect_same_as_interpreter(m.graph(), sets);
}

/// What both devices say names the layer and the Add in its body.
void expect_refused(const GraphMaker& m, const std::string& layer, const std::vector<HostTensor>& inputs) {
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) views.push_back(input.view());
  const std::vector<HostTensor> sets[] = {inputs};
  for (const std::string& error :
       {std::string(caught([&] { interpreter::run(m.graph(), views); }).what()),
        std::string(caught([&] { run_on_cpu(m.graph(), cpu::Isa::scalar, 1, sets); }).what())}) {
    EXPECT_NE(error.find(layer), std::string::npos) << error;
    EXPECT_NE(error.find("Add 'add'"), std::string::npos) << error;
  }
}

TEST(BodyMisfit, TheBranchThatAConstantRulesOut) {
  for (const PartialShape& declared : {PartialShape{-1, 8}, PartialShape{3, 8}}) {
    GraphMaker m;
    const ir::Value y = choice(m, constant_condition(m, false), m.input({4, 8}), declared);
    EXPECT_EQ(m.graph().port(y).shape, PartialShape("[4,8]"));
    m.result(y);
    expect_same_as_interpreter(m);
  }
}

TEST(BodyMisfit, TheBranchThatTheShapeRulesOut) {
  for (const bool known : {true, false}) {
    GraphMaker m;
    const ir::Value x = m.input(known ? PartialShape{4, 8} : PartialShape{-1, 8});
    const ir::Value rows = m.op("Gather", {m.op("ShapeOf", {x}), m.scalar_integer(0), m.scalar_integer(0)});
    m.result(choice(m, m.op("Equal", {rows, m.scalar_integer(3)}), x));
    std::vector<std::vector<HostTensor>> sets;
    for (const int64_t n : known ? std::vector<int64_t>{4} : std::vector<int64_t>{4, 3, 1})
      sets.push_back({random_tensor({n, 8}, 1)});
    expect_same(m, sets);
  }
}

TEST(BodyMisfit, TheBranchThatIsNotTaken) {
  GraphMaker m;
  const ir::Value condition = m.input({}, element::boolean), x = m.input(PartialShape{-1, 8});
  m.result(m.op("Negative", {choice(m, condition, x)}));
  expect_same(m, {{truth(false), random_tensor({4, 8}, 1)},
                  {truth(true), random_tensor({3, 8}, 2)},
                  {truth(false), random_tensor({3, 8}, 3)},
                  {truth(true), random_tensor({1, 8}, 4)}});
  expect_refused(m, "If 'if'", {truth(true), random_tensor({4, 8}, 1)});
}

// No condition says that it does not run.
TEST(BodyMisfit, ABranchThatMayBeTakenFitsKnownShapes) {
  GraphMaker m;
  const ir::Value condition = m.input({}, element::boolean), x = m.input({4, 8});
  const std::string error = caught([&] { choice(m, condition, x); }).what();
  EXPECT_NE(error.find("the shapes [4,8] and [3,8] do not fit together"), std::string::npos) << error;
}

TEST(BodyMisfit, ALoopWithoutIterations) {
  GraphMaker m;
  const ir::Value trip = m.input({}, element::i64), x = m.input(PartialShape{-1, 8});
  carried(m, trip, x, {-1, 8}, [](GraphMaker& body, ir::Value, ir::Value value) {
    return body.op("Add", {value, body.random({3, 8}, 5)});
  });
  expect_same(m, {{integer_tensor({}, {0}), random_tensor({4, 8}, 1)},
                  {integer_tensor({}, {2}), random_tensor({3, 8}, 2)},
                  {integer_tensor({}, {0}), random_tensor({3, 8}, 3)}});
  expect_refused(m, "Loop 'loop'", {integer_tensor({}, {1}), random_tensor({4, 8}, 1)});
}

// The first iteration takes x[2], the second one the four that came of it.
TEST(BodyMisfit, BranchesOfIterations) {
  GraphMaker m;
  const ir::Value trip = m.input({}, element::i64), x = m.input(PartialShape{-1});
  carried(m, trip, x, {-1}, [](GraphMaker& body, ir::Value number, ir::Value value) {
    GraphMaker first, others;
    const ir::Value a = first.input(PartialShape{-1}), b = others.input(PartialShape{-1});
    const ir::Value sum = first.op("Add", {a, first.random({2}, 6)});
    const ir::NodeId longer = first.result(first.op("Concat", {sum, sum}, {{"axis", "0"}}));
    const ir::NodeId as_long = others.result(others.op("Add", {b, others.random({4}, 7)}));
    Ports first_ports, other_ports;
    first_ports.inputs = {fed(1, a)};
    first_ports.outputs = {given(0, longer)};
    other_ports.inputs = {fed(1, b)};
    other_ports.outputs = {given(0, as_long)};
    std::vector<ir::Body> bodies;
    bodies.push_back(std::move(first).as_body("then_body", first_ports));
    bodies.push_back(std::move(others).as_body("else_body", other_ports));
    return body.control("If", {body.op("Less", {number, body.scalar_integer(1)}), value}, std::move(bodies));
  });
  for (const int64_t trips : {1, 2, 3}) expect_same(m, {{integer_tensor({}, {trips}), random_tensor({2}, 1)}});
}

}  // namespace
}  // namespace terroir::test
