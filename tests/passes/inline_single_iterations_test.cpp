// Loops that run exactly once become the layers of their body: graph text before and after, what stays, the values.
#include <gtest/gtest.h>

#include "ir/graph/infer.hpp"
#include "ir/graph/verify.hpp"
#include "ir/text/printer.hpp"
#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "plugins/cpu/compile.hpp"
#include "tests/passes/conditions.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"
#include "tests/support/body_ports.hpp"

namespace terroir::test {
namespace {

struct Once {
  bool loop = true;
  int64_t trip_count = 1;
  bool goes_on = true;
  bool counted = false;  // the iteration counter is added, too
  int64_t rows = 3, stride = 2, part = 2;
  bool known_condition = true;
  PartialShape x = {};
};

/// y[rows...] = ReLU(x[part] + state) per iteration, the state comes back.
GraphMaker single_loop(const Once& o) {
  GraphMaker m, body;
  const ir::Value x = body.input({o.part, 4}), state = body.input({o.part, 4});
  ir::Value sum = body.op("Add", {x, state});
  ir::BodyPortMap ports;
  const int64_t first = o.loop ? 2 : 0;
  std::vector<ir::Value> outer;
  if (o.loop)
    outer = {m.scalar_integer(o.trip_count),
             o.known_condition ? constant_condition(m) : m.input(PartialShape{}, element::boolean)};
  outer.push_back(m.input(o.x.size() == 0 ? PartialShape{o.rows, 4} : o.x));
  outer.push_back(m.input({o.part, 4}));
  ports.inputs = {sliced(first, x, 0, o.stride, o.part), fed(first + 1, state)};
  if (o.counted) {
    const ir::Value counter = body.input(PartialShape{1}, element::i64);
    sum = body.op("Add", {sum, body.op("Convert", {counter}, {{"destination_type", "f32"}})});
    ir::BodyPortMap::Input input;
    input.parameter = counter.node;
    input.current_iteration = true;
    ports.inputs.push_back(input);
  }
  const ir::Value next = body.op("ReLU", {sum});
  const ir::NodeId result = body.result(next);
  ports.back_edges = {{result, state.node}};
  ports.outputs = {joined(0, result, 0, o.stride, o.part), given(1, result)};
  if (o.loop) {
    ir::BodyPortMap::Output condition;
    condition.result = body.result(constant_condition(body, o.goes_on));
    condition.execution_condition = true;
    ports.outputs.push_back(condition);
  }
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  const ir::Value y = m.control(o.loop ? "Loop" : "TensorIterator", outer, std::move(bodies));
  m.result(y);
  m.result({y.node, 1});
  return m;
}

std::string text(const ir::Graph& graph) {
  ir::PrintOptions options;
  options.default_attrs = false;
  return ir::to_text(graph, options);
}

std::unique_ptr<ir::Graph> inlined(const ir::Graph& graph, size_t expected) {
  auto copy = graph.clone();
  EXPECT_EQ(ops::inline_single_iterations(*copy, ops::builtin_registry()), expected);
  ir::infer_graph(*copy);
  for (const std::string& problem : ir::verify(*copy)) ADD_FAILURE() << problem;
  return copy;
}

bool has_loop(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.nodes())
    if (!graph.node(id).bodies.empty()) return true;
  return false;
}

TEST(InlineSingleIterations, BecomesTheLayersOfTheBody) {
  const GraphMaker m = single_loop({.counted = true});
  expect_golden("inline_single_iteration", text(m.graph()) + "=>\n" + text(*inlined(m.graph(), 1)));
  expect_same_as_interpreter(m);
}

TEST(InlineSingleIterations, EveryFormHasTheSameValues) {
  for (const Once& once : {Once{}, Once{.rows = 2}, Once{.loop = false, .rows = 2}, Once{.stride = -2},
                           Once{.loop = false, .rows = 3, .stride = -3, .part = 3},
                           Once{.trip_count = 7, .goes_on = false}, Once{.trip_count = -1, .goes_on = false}}) {
    SCOPED_TRACE(::testing::Message() << once.loop << ' ' << once.trip_count << ' ' << once.rows << ' ' << once.stride);
    const GraphMaker m = single_loop(once);
    EXPECT_FALSE(has_loop(*inlined(m.graph(), 1)));
    const auto plan = plan_of(m);
    for (const auto& step : plan->steps) EXPECT_TRUE(step.type != "Loop" && step.type != "TensorIterator");
    expect_same_as_interpreter(m);
  }
}

TEST(InlineSingleIterations, LeavesWhatMayRunOtherwise) {
  for (const Once& once :
       {Once{.trip_count = 2, .rows = 4}, Once{.trip_count = 0}, Once{.known_condition = false},
        Once{.loop = false, .rows = 4}, Once{.x = PartialShape("?,4")}, Once{.loop = false, .x = PartialShape("?,4")}})
    EXPECT_TRUE(has_loop(*inlined(single_loop(once).graph(), 0)));
}

// Of an extent that an inference brings, it tells how often the loop runs: the plan is that of the static model.
TEST(InlineSingleIterations, ExtentsOfAnInferenceDecide) {
  const GraphMaker m = single_loop({.loop = false, .x = PartialShape("?,4")});
  for (const int64_t rows : {2, 3, 4, 5}) {
    const auto bound = cpu::bound_graph(cpu::rewrite_portable(m.graph()), {{rows, 4}, {2, 4}});
    EXPECT_EQ(has_loop(*bound), rows >= 4) << rows;
  }
}

TEST(InlineSingleIterations, LoopsInLoops) {
  GraphMaker m, outer, inner;
  const ir::Value a = inner.input({2, 2});
  const ir::NodeId inside = inner.result(inner.op("Tanh", {a}));
  ir::BodyPortMap ports;
  ports.inputs = {fed(0, a)};
  ports.outputs = {given(0, inside)};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(inner).as_body("body", ports));
  const ir::Value b = outer.input({2, 2});
  const ir::Value y = outer.op("Add", {outer.control("TensorIterator", {b}, std::move(bodies)), b});
  const ir::NodeId outside = outer.result(y);
  ports.inputs = {fed(0, b)};
  ports.outputs = {given(0, outside)};
  bodies.clear();
  bodies.push_back(std::move(outer).as_body("body", ports));
  m.result(m.control("TensorIterator", {m.input({2, 2})}, std::move(bodies)));
  EXPECT_FALSE(has_loop(*inlined(m.graph(), 2)));
  expect_same_as_interpreter(m);
}

TEST(InlineSingleIterations, APassedParameterIsTheInput) {
  GraphMaker m, body;
  const ir::Value x = body.input({2, 2});
  const ir::NodeId result = body.result(x);
  ir::BodyPortMap ports;
  ports.inputs = {fed(0, x)};
  ports.outputs = {given(0, result)};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  m.result(m.control("TensorIterator", {m.input({2, 2})}, std::move(bodies)));
  EXPECT_FALSE(has_loop(*inlined(m.graph(), 1)));
  expect_same_as_interpreter(m);
}

}  // namespace
}  // namespace terroir::test
