// If, Loop and TensorIterator on the interpreter, with values worked out by hand, and on the CPU device.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "plugins/interpreter/interpreter.hpp"
#include "tests/passes/conditions.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/body_ports.hpp"
#include "tests/support/caught.hpp"

namespace terroir::test {
namespace {

using Floats = std::vector<float>;
using Ports = ir::BodyPortMap;

HostTensor tensor(const ir::Dims& dims, const Floats& values) {
  HostTensor result(element::f32, dims);
  std::copy(values.begin(), values.end(), result.writable().as<float>());
  return result;
}

ir::Value constant_truth(GraphMaker& m, bool value) {
  return m.op("Convert", {m.scalar_integer(value ? 1 : 0)}, {{"destination_type", "boolean"}});
}

Floats floats_of(const HostTensor& value) { return {value.as<float>(), value.as<float>() + value.view().count()}; }

/// Results of the interpreter; fails where the CPU device gives others.
std::vector<HostTensor> run_everywhere(const GraphMaker& m, const std::vector<HostTensor>& inputs) {
  const std::vector<HostTensor> sets[] = {inputs};
  expect_same_as_interpreter(m.graph(), sets);
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) views.push_back(input.view());
  return interpreter::run(m.graph(), views);
}

std::string error_of(const GraphMaker& m, const std::vector<HostTensor>& inputs) {
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) views.push_back(input.view());
  const std::string error = caught([&] { interpreter::run(m.graph(), views); }).what();
  const std::vector<HostTensor> sets[] = {inputs};
  EXPECT_EQ(caught([&] { run_on_cpu(m.graph(), cpu::Isa::scalar, 1, sets); }).what(), error);
  return error;
}

/// Running sum along axis 1 of [1, n], parts of `part` columns: outputs are the last sum and all sums.
ir::Value running_sum(GraphMaker& m, ir::Value x, ir::Value start, int64_t stride, int64_t part) {
  GraphMaker body;
  const ir::Value slice = body.input({1, part}), sum = body.input({1, part});
  const ir::Value next = body.op("Add", {slice, sum});
  const ir::NodeId result = body.result(next);
  Ports ports;
  ports.inputs = {sliced(0, slice, 1, stride, part), fed(1, sum)};
  ports.outputs = {given(0, result), joined(1, result, 1, stride, part)};
  ports.back_edges = {{result, sum.node}};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  return m.control("TensorIterator", {x, start}, std::move(bodies));
}

TEST(ControlFlow, TensorIteratorForwards) {
  GraphMaker m;
  const ir::Value x = m.input({1, 4}), y = running_sum(m, x, m.input({1, 1}), 1, 1);
  m.result(y);
  m.result({y.node, 1});
  const auto results = run_everywhere(m, {tensor({1, 4}, {1, 2, 3, 4}), tensor({1, 1}, {10})});
  EXPECT_EQ(floats_of(results[0]), (Floats{20}));
  EXPECT_EQ(floats_of(results[1]), (Floats{11, 13, 16, 20}));
}

TEST(ControlFlow, TensorIteratorBackwardsInPartsOfTwo) {
  GraphMaker m;
  const ir::Value x = m.input({1, -1}), y = running_sum(m, x, m.input({1, 2}), -2, 2);
  m.result(y);
  m.result({y.node, 1});
  const auto results = run_everywhere(m, {tensor({1, 6}, {1, 2, 3, 4, 5, 6}), tensor({1, 2}, {0, 0})});
  EXPECT_EQ(floats_of(results[0]), (Floats{9, 12}));
  EXPECT_EQ(floats_of(results[1]), (Floats{9, 12, 8, 10, 5, 6}));
}

TEST(ControlFlow, TheRestOfTheModelGoesOnAfterALoop) {
  GraphMaker m;
  const ir::Value x = m.input({1, 3, 8, 8}), row = m.op("ReduceMean", {m.conv(x, 4, 3, 1), m.integers({2, 3})});
  const ir::Value y = running_sum(m, row, m.input({1, 1}), 1, 1);
  m.result(m.op("MatMul", {m.op("ReLU", {ir::Value{y.node, 1}}), m.random({4, 5}, 2)}));
  m.result(m.op("Sigmoid", {row}));
  run_everywhere(m, {random_tensor({1, 3, 8, 8}, 1), tensor({1, 1}, {0.5f})});
}

TEST(ControlFlow, SlicedInputsThatDisagree) {
  GraphMaker body;
  const ir::Value a = body.input({1}), b = body.input({1});
  const ir::NodeId result = body.result(body.op("Add", {a, b}));
  Ports ports;
  ports.inputs = {sliced(0, a, 0, 1, 1), sliced(1, b, 0, 1, 1)};
  ports.outputs = {given(0, result)};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  GraphMaker m;
  const ir::Value x = m.input(PartialShape{-1}), y = m.input(PartialShape{-1});
  m.result(m.control("TensorIterator", {x, y}, std::move(bodies)));
  const std::string error = error_of(m, {tensor({2}, {1, 2}), tensor({3}, {1, 2, 3})});
  EXPECT_NE(error.find("TensorIterator 'tensoriterator'"), std::string::npos) << error;
  EXPECT_NE(error.find("the sliced inputs ask for 2 and 3 iterations"), std::string::npos) << error;
}

/// Loop(trip, condition, x): x doubles until it is above 20. Outputs: x, all x, all iteration numbers.
ir::Value doubling(GraphMaker& m, ir::Value trip, ir::Value condition, ir::Value x) {
  GraphMaker body;
  const ir::Value number = body.input({}, element::i64), value = body.input({1});
  const ir::Value twice = body.op("Multiply", {value, body.scalar(2)});
  const ir::NodeId next = body.result(twice);
  const ir::NodeId small = body.result(body.op("Squeeze", {body.op("LessEqual", {twice, body.scalar(20)})}));
  const ir::NodeId counted = body.result(
      body.op("Unsqueeze", {body.op("Convert", {number}, {{"destination_type", "f32"}}), body.scalar_integer(0)}));
  Ports ports;
  Ports::Input iteration = fed(-1, number);
  iteration.current_iteration = true;
  Ports::Output goes_on = given(-1, small);
  goes_on.execution_condition = true;
  ports.inputs = {iteration, fed(2, value)};
  ports.outputs = {goes_on, given(0, next), joined(1, next, 0, 1, 1), joined(2, counted, 0, 1, 1)};
  ports.back_edges = {{next, value.node}};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  return m.control("Loop", {trip, condition, x}, std::move(bodies));
}

struct DoublingModel {
  explicit DoublingModel(int64_t trip) {
    const ir::Value condition = m.input({}, element::boolean), x = m.input({1});
    const ir::Value y = doubling(m, m.scalar_integer(trip), condition, x);
    for (int32_t i = 0; i < 3; ++i) m.result({y.node, i});
  }
  GraphMaker m;
};

TEST(ControlFlow, LoopUntilItsConditionFails) {
  for (const int64_t trip : {-1, 100}) {
    const auto results = run_everywhere(DoublingModel(trip).m, {truth(true), tensor({1}, {3})});
    EXPECT_EQ(floats_of(results[0]), (Floats{24}));
    EXPECT_EQ(floats_of(results[1]), (Floats{6, 12, 24}));
    EXPECT_EQ(floats_of(results[2]), (Floats{0, 1, 2}));
  }
}

TEST(ControlFlow, LoopUntilItsTripCount) {
  const auto results = run_everywhere(DoublingModel(2).m, {truth(true), tensor({1}, {3})});
  EXPECT_EQ(floats_of(results[0]), (Floats{12}));
  EXPECT_EQ(floats_of(results[1]), (Floats{6, 12}));
}

TEST(ControlFlow, LoopThatNeverRuns) {
  const auto stopped = run_everywhere(DoublingModel(5).m, {truth(false), tensor({1}, {3})});
  const auto none = run_everywhere(DoublingModel(0).m, {truth(true), tensor({1}, {3})});
  for (const auto* results : {&stopped, &none}) {
    EXPECT_EQ(floats_of(results->at(0)), (Floats{3}));
    EXPECT_EQ(results->at(1).dims(), (ir::Dims{0}));
    EXPECT_EQ(results->at(2).dims(), (ir::Dims{0}));
  }
}

TEST(ControlFlow, ScalarsOfIterationsMakeALine) {
  for (const int64_t trip : {0, 1, 3}) {
    GraphMaker body;
    const ir::Value number = body.input({}, element::i64);
    const ir::NodeId counted = body.result(body.op("Convert", {number}, {{"destination_type", "f32"}}));
    Ports ports;
    Ports::Input iteration = fed(-1, number);
    iteration.current_iteration = true;
    Ports::Output goes_on = given(-1, body.result(constant_truth(body, true)));
    goes_on.execution_condition = true;
    ports.inputs = {iteration};
    ports.outputs = {goes_on, joined(0, counted, 0, 1, 1)};
    std::vector<ir::Body> bodies;
    bodies.push_back(std::move(body).as_body("body", ports));
    GraphMaker m;
    const ir::Value line = m.control("Loop", {m.scalar_integer(trip), constant_truth(m, true)}, std::move(bodies));
    EXPECT_EQ(m.graph().port(line).shape.rank(), Dimension(1)) << trip;
    m.result(m.op("Add", {line, m.input({1})}));
    const auto results = run_everywhere(m, {tensor({1}, {5})});
    Floats expected(static_cast<size_t>(trip));
    std::iota(expected.begin(), expected.end(), 5.0f);
    EXPECT_EQ(floats_of(results[0]), expected) << trip;
  }
}

TEST(ControlFlow, AnOutputWithoutAnyIterationHasNoValue) {
  GraphMaker body;
  const ir::Value value = body.input({1});
  const ir::NodeId result = body.result(body.op("ReLU", {value}));
  const ir::NodeId goes_on = body.result(constant_truth(body, true));
  Ports ports;
  Ports::Output condition = given(-1, goes_on);
  condition.execution_condition = true;
  ports.inputs = {fed(2, value)};
  ports.outputs = {condition, given(0, result)};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  GraphMaker m;
  const ir::Value go = m.input({}, element::boolean), x = m.input({1});
  m.result(m.control("Loop", {m.scalar_integer(3), go, x}, std::move(bodies)));
  EXPECT_EQ(floats_of(run_everywhere(m, {truth(true), tensor({1}, {-3})})[0]), (Floats{0}));
  const std::string error = error_of(m, {truth(false), tensor({1}, {-3})});
  EXPECT_NE(error.find("no iteration ran, so output 0 has no value"), std::string::npos) << error;
}

ir::Value random_numbers(GraphMaker& m, int64_t count, const char* alignment) {
  return m.op("RandomUniform", {m.integers({count}), m.scalar(0), m.scalar(1)},
              {{"output_type", "f32"}, {"global_seed", "7"}, {"op_seed", "11"}, {"alignment", alignment}});
}

/// Loop of so many iterations around `draw`, which gives numbers along axis 0: all of them.
template <class Draw>
ir::Value drawn_again_and_again(GraphMaker& m, int64_t trip, Draw&& draw) {
  GraphMaker body;
  Ports ports;
  Ports::Output goes_on = given(-1, body.result(constant_truth(body, true)));
  goes_on.execution_condition = true;
  ports.outputs = {goes_on, joined(0, body.result(draw(body)), 0, 1, 1)};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  return m.control("Loop", {m.scalar_integer(trip), constant_truth(m, true)}, std::move(bodies));
}

Floats drawn(GraphMaker& m, ir::Value numbers) {
  m.result(numbers);
  const std::vector<std::vector<HostTensor>> twice(2);  // inferences, which give the same
  expect_same_as_interpreter(m.graph(), twice);
  return floats_of(interpreter::run(m.graph(), {})[0]);
}

TEST(ControlFlow, EveryIterationDrawsOtherNumbers) {
  GraphMaker looped, straight;
  const Floats found = drawn(
      looped, drawn_again_and_again(looped, 3, [](GraphMaker& body) { return random_numbers(body, 2, "tensorflow"); }));
  // Blocks of four numbers, 256 for each number of the iterations before.
  const Floats all = drawn(straight, random_numbers(straight, 2 * 256 * 2 * 4 + 2, "tensorflow"));
  Floats wanted;
  for (size_t iteration = 0; iteration < 3; ++iteration)
    for (size_t i = 0; i < 2; ++i) wanted.push_back(all[iteration * 256 * 2 * 4 + i]);
  EXPECT_EQ(found, wanted);
}

// Of 6, 3, 2 and 1 numbers, which two layers draw with the same seeds.
TEST(ControlFlow, IterationsMayDrawMoreOrFewerNumbers) {
  for (const char* alignment : {"tensorflow", "pytorch"}) {
    const auto draw = [&](GraphMaker& m, ir::Value count) {
      return m.op("RandomUniform", {count, m.scalar(0), m.scalar(1)},
                  {{"output_type", "f32"}, {"global_seed", "7"}, {"op_seed", "11"}, {"alignment", alignment}});
    };
    GraphMaker body;
    const ir::Value iteration = body.input({1}, element::i64);
    const ir::Value count = body.op("Gather", {body.integers({6, 3, 2, 1}), iteration, body.scalar_integer(0)});
    const ir::NodeId one = body.result(draw(body, count)), other = body.result(draw(body, count));
    Ports ports;
    Ports::Input counter;
    counter.parameter = iteration.node;
    counter.current_iteration = true;
    ports.inputs = {counter};
    Ports::Output goes_on = given(-1, body.result(constant_truth(body, true)));
    goes_on.execution_condition = true;
    ports.outputs = {goes_on, joined(0, one, 0, 1, 1), joined(1, other, 0, 1, 1)};
    std::vector<ir::Body> bodies;
    bodies.push_back(std::move(body).as_body("body", ports));
    GraphMaker m;
    const ir::Value numbers = m.control("Loop", {m.scalar_integer(4), constant_truth(m, true)}, std::move(bodies));
    m.result(ir::Value{numbers.node, 1});
    Floats found = drawn(m, numbers);
    EXPECT_EQ(floats_of(interpreter::run(m.graph(), {})[1]), found) << alignment;
    ASSERT_EQ(found.size(), 12U) << alignment;
    std::sort(found.begin(), found.end());
    EXPECT_EQ(std::adjacent_find(found.begin(), found.end()), found.end()) << alignment;
  }
}

// A loop of one iteration beside another one: both count what ran at their depth.
TEST(ControlFlow, ALoopOfOneIterationDrawsWithinALoop) {
  for (const char* alignment : {"tensorflow", "pytorch"})
    for (const int64_t beside : {0, 2}) {
      GraphMaker m;
      const auto one = [&](GraphMaker& outer) {
        const auto inner = [&](GraphMaker& body) { return random_numbers(body, 4, alignment); };
        const ir::Value first = drawn_again_and_again(outer, 1, inner);
        if (beside == 0) return first;
        const auto none = [](GraphMaker& body) { return body.constant({1}, {0}); };
        return outer.op("Concat",
                        {first, drawn_again_and_again(outer, beside, none), random_numbers(outer, 8, alignment)},
                        {{"axis", "0"}});
      };
      Floats numbers = drawn(m, drawn_again_and_again(m, 3, one));
      EXPECT_EQ(numbers.size(), beside == 0 ? 12U : 42U) << alignment;
    }
}

TEST(ControlFlow, LoopsWithinLoopsDrawOtherNumbersToo) {
  for (const char* alignment : {"tensorflow", "pytorch"}) {
    GraphMaker m;
    Floats numbers = drawn(m, drawn_again_and_again(m, 3, [&](GraphMaker& outer) {
                             return drawn_again_and_again(
                                 outer, 4, [&](GraphMaker& inner) { return random_numbers(inner, 5, alignment); });
                           }));
    ASSERT_EQ(numbers.size(), 60U) << alignment;
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end()) << alignment;
  }
}

/// If(condition, x): x + 1 in one branch, the running sum of x in the other.
TEST(ControlFlow, IfRunsOneBranchWhichMayHoldALoop) {
  GraphMaker then_branch, else_branch;
  const ir::Value a = then_branch.input({1, 3});
  const ir::NodeId more = then_branch.result(then_branch.op("Add", {a, then_branch.scalar(1)}));
  const ir::Value b = else_branch.input({1, 3});
  const ir::Value sums = running_sum(else_branch, b, else_branch.constant({1, 1}, {0}), 1, 1);
  const ir::NodeId sum = else_branch.result({sums.node, 1});
  Ports then_ports, else_ports;
  then_ports.inputs = {fed(1, a)};
  then_ports.outputs = {given(0, more)};
  else_ports.inputs = {fed(1, b)};
  else_ports.outputs = {given(0, sum)};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(then_branch).as_body("then_body", then_ports));
  bodies.push_back(std::move(else_branch).as_body("else_body", else_ports));
  GraphMaker m;
  const ir::Value condition = m.input({}, element::boolean), x = m.input({1, 3});
  m.result(m.op("Negative", {m.control("If", {condition, x}, std::move(bodies))}));
  const HostTensor values = tensor({1, 3}, {1, 2, 3});
  EXPECT_EQ(floats_of(run_everywhere(m, {truth(true), values})[0]), (Floats{-2, -3, -4}));
  EXPECT_EQ(floats_of(run_everywhere(m, {truth(false), values})[0]), (Floats{-1, -3, -6}));
}

/// A carried value that grows with every iteration.
TEST(ControlFlow, LoopWhoseShapesGrow) {
  GraphMaker body;
  const ir::Value value = body.input(PartialShape{-1});
  const ir::NodeId longer = body.result(body.op("Concat", {value, body.op("ReLU", {value})}, {{"axis", "0"}}));
  const ir::NodeId goes_on = body.result(constant_truth(body, true));
  Ports ports;
  Ports::Output condition = given(-1, goes_on);
  condition.execution_condition = true;
  ports.inputs = {fed(2, value)};
  ports.outputs = {condition, given(0, longer)};
  ports.back_edges = {{longer, value.node}};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  GraphMaker m;
  const ir::Value x = m.input({2});
  m.result(m.control("Loop", {m.scalar_integer(3), constant_truth(m, true), x}, std::move(bodies)));
  const Floats y = floats_of(run_everywhere(m, {tensor({2}, {-1, 5})})[0]);
  EXPECT_EQ(y, (Floats{-1, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5}));
}

}  // namespace
}  // namespace terroir::test
