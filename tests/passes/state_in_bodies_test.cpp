// Variables that bodies of If, Loop and TensorIterator read and assign, on every device.
#include <gtest/gtest.h>

#include "runtime/plugin/variables.hpp"
#include "tests/passes/conditions.hpp"
#include "tests/passes/state_device.hpp"
#include "tests/support/body_ports.hpp"
#include "tests/support/caught.hpp"

namespace terroir::test {
namespace {

using Ports = ir::BodyPortMap;

/// An If whose second input the first body takes as `x`.
GraphMaker either(GraphMaker then_body, ir::Value x, ir::NodeId then_result, GraphMaker else_body,
                  ir::NodeId else_result) {
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(then_body).as_body("then_body", {{fed(1, x)}, {given(0, then_result)}, {}}));
  bodies.push_back(std::move(else_body).as_body("else_body", {{}, {given(0, else_result)}, {}}));
  GraphMaker m;
  const ir::Value condition = m.input({}, element::boolean);
  m.result(m.control("If", {condition, m.input({1})}, std::move(bodies)));
  return m;
}

/// v += x where the condition holds, else the result is v; v starts as 10.
GraphMaker counter_in_a_branch() {
  GraphMaker then_body, else_body;
  const ir::Value x = then_body.input({1});
  const ir::Value sum = then_body.op("Add", {read(then_body, {then_body.constant({1}, {10})}), x});
  const ir::NodeId then_result = then_body.result(assign(then_body, sum));
  const ir::NodeId else_result = else_body.result(read(else_body, {else_body.constant({1}, {10})}));
  return either(std::move(then_body), x, then_result, std::move(else_body), else_result);
}

TEST(StateInBodies, OfABranchThatIsTakenNowAndThen) {
  on_every_device(counter_in_a_branch().graph(), [](Device& device) {
    EXPECT_EQ(device.infer({truth(false), floats({1}, {1})}), (Floats{10}));
    EXPECT_EQ(device.infer({truth(true), floats({1}, {1})}), (Floats{11}));
    EXPECT_EQ(device.infer({truth(true), floats({1}, {5})}), (Floats{16}));
    EXPECT_EQ(device.infer({truth(false), floats({1}, {9})}), (Floats{16}));
    ASSERT_EQ(device.request().variables().size(), 1u);
    EXPECT_EQ(device.request().variables()[0].name, "v");
    EXPECT_EQ(values_of(device.request().variable(0)), (Floats{16}));
    device.request().set_variable(0, floats({1}, {100}).view());
    EXPECT_EQ(device.infer({truth(true), floats({1}, {1})}), (Floats{101}));
    device.request().reset_variable(0);
    EXPECT_EQ(device.infer({truth(true), floats({1}, {1})}), (Floats{11}));
  });
}

/// `trips` times: v := v * 2 + step.
GraphMaker doubling_loop() {
  GraphMaker body;
  const ir::Value step = body.input({1});
  const ir::Value next = body.op("Add", {body.op("Multiply", {read(body, {step}), body.scalar(2)}), step});
  const ir::NodeId last = body.result(assign(body, next));
  const ir::NodeId goes_on =
      body.result(body.op("Convert", {body.scalar_integer(1)}, {{"destination_type", "boolean"}}));
  Ports::Output condition;
  condition.result = goes_on;
  condition.execution_condition = true;
  Ports ports{{fed(2, step)}, {given(0, last), condition}, {}};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  GraphMaker m;
  const ir::Value trips = m.input({}, element::i64), x = m.input({1});
  m.result(m.control("Loop", {trips, m.op("Convert", {m.scalar_integer(1)}, {{"destination_type", "boolean"}}), x},
                     std::move(bodies)));
  return m;
}

TEST(StateInBodies, OfALoopGoesFromIterationToIterationAndOn) {
  on_every_device(doubling_loop().graph(), [](Device& device) {
    EXPECT_EQ(device.infer({integer_tensor({}, {1}), floats({1}, {3})}), (Floats{9}));   // 3 -> 9
    EXPECT_EQ(device.infer({integer_tensor({}, {2}), floats({1}, {1})}), (Floats{39}));  // 9 -> 19 -> 39
    EXPECT_EQ(values_of(device.request().variable(0)), (Floats{39}));
    device.request().reset_variable(0);
    EXPECT_EQ(device.infer({integer_tensor({}, {3}), floats({1}, {1})}), (Floats{15}));  // 1 -> 3 -> 7 -> 15
  });
}

/// The branch of an If in the body of a Loop assigns; a ReadValue outside sees the value of the inference's begin.
TEST(StateInBodies, OfBodiesInBodies) {
  GraphMaker then_body, else_body;
  const ir::Value one = then_body.constant({1}, {1});
  const ir::NodeId then_result = then_body.result(assign(then_body, then_body.op("Add", {read(then_body, {}), one})));
  const ir::NodeId else_result = else_body.result(else_body.constant({1}, {-1}));
  std::vector<ir::Body> branches;
  branches.push_back(std::move(then_body).as_body("then_body", {{}, {given(0, then_result)}, {}}));
  branches.push_back(std::move(else_body).as_body("else_body", {{}, {given(0, else_result)}, {}}));
  GraphMaker body;
  const ir::Value flag = body.input({}, element::boolean);
  const ir::NodeId seen = body.result(body.control("If", {flag}, std::move(branches)));
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", {{fed(2, flag)}, {given(0, seen)}, {}}));
  GraphMaker m;
  const ir::Value trips = m.input({}, element::i64), condition = m.input({}, element::boolean);
  const ir::Value always = m.op("Convert", {m.scalar_integer(1)}, {{"destination_type", "boolean"}});
  const ir::Value last = m.control("Loop", {trips, always, condition}, std::move(bodies));
  m.result(m.op("Concat", {last, read(m, {m.constant({1}, {50})})}, {{"axis", "0"}}));
  on_every_device(m.graph(), [](Device& device) {
    const auto trips_of = [](int64_t count) { return integer_tensor({}, {count}); };
    EXPECT_EQ(device.infer({trips_of(3), truth(true)}), (Floats{53, 50}));
    EXPECT_EQ(device.infer({trips_of(2), truth(false)}), (Floats{-1, 53}));
    EXPECT_EQ(device.infer({trips_of(1), truth(true)}), (Floats{54, 53}));
  });
}

TEST(StateInBodies, OfATensorIteratorOverSlices) {
  GraphMaker body;
  const ir::Value part = body.input({1});
  const ir::NodeId sum = body.result(assign(body, body.op("Add", {read(body, {}), part})));
  Ports ports{{fed(0, part)}, {given(0, sum)}, {}};
  ports.inputs[0].axis = 0;
  ports.outputs[0].axis = 0;
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  GraphMaker m;
  m.result(m.control("TensorIterator", {m.input(PartialShape("?"))}, std::move(bodies)));
  on_every_device(m.graph(), [](Device& device) {
    EXPECT_EQ(device.infer({floats({3}, {1, 2, 3})}), (Floats{1, 3, 6}));
    EXPECT_EQ(device.infer({floats({2}, {10, 20})}), (Floats{16, 36}));
    EXPECT_EQ(values_of(device.request().variable(0)), (Floats{36}));
  });
}

TEST(StateInBodies, OneBeginsWithTheValueOfAnother) {
  GraphMaker then_body, else_body;
  const ir::Value x = then_body.input({1});
  const ir::Value first = read(then_body, {x}, "z");
  const ir::Value second = read(then_body, {then_body.op("Multiply", {first, then_body.scalar(2)})}, "a");
  assign(then_body, then_body.op("Add", {first, x}), "z");
  const ir::NodeId then_result = then_body.result(assign(then_body, then_body.op("Add", {second, first}), "a"));
  const ir::NodeId else_result = else_body.result(else_body.constant({1}, {0}));
  const GraphMaker m = either(std::move(then_body), x, then_result, std::move(else_body), else_result);
  on_every_device(m.graph(), [](Device& device) {
    EXPECT_EQ(device.infer({truth(true), floats({1}, {5})}), (Floats{15}));  // z = 5, a = 10; then 10, 15
    EXPECT_EQ(device.infer({truth(true), floats({1}, {1})}), (Floats{25}));
  });
}

TEST(StateInBodies, RefusedByNameWhereTheOrderIsOpen) {
  GraphMaker m = counter_in_a_branch();
  assign(m, m.constant({1}, {1}));
  const Exception error = caught([&] { plugin::lift_variables(m.graph()); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_NE(std::string(error.what()).find("'v' is assigned twice"), std::string::npos) << error.what();
}

TEST(StateInBodies, RefusedByNameWhereAnIterationComputesTheInitialValue) {
  GraphMaker body;
  const ir::Value part = body.input({1});
  const ir::NodeId sum = body.result(assign(body, body.op("Add", {read(body, {part}), part})));
  Ports ports{{fed(0, part)}, {given(0, sum)}, {}};
  ports.inputs[0].axis = 0;
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  GraphMaker m;
  m.result(m.control("TensorIterator", {m.input(PartialShape("?"))}, std::move(bodies)));
  EXPECT_EQ(caught([&] { plugin::lift_variables(m.graph()); }).code(), ErrorCode::not_implemented);
}

}  // namespace
}  // namespace terroir::test
