// Elementwise ops that become one node: graph text before and after, what must stay apart, and the same results.
#include "plugins/cpu/passes/fuse_elementwise.hpp"

#include <gtest/gtest.h>

#include "ops/registry.hpp"
#include "plugins/cpu/elementwise_op.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;

ir::Pass elementwise_pass() {
  static const CpuOps ops(ops::builtin_registry());
  return fuse_elementwise(ops);
}

/// A graph of which the pass makes one node of several types, with broadcast operands and a value used twice.
void add_diamond(GraphMaker& m) {
  const auto x = m.input({2, 3, 131});
  const auto scaled = m.op("Multiply", {x, m.input({3, 1})});
  const auto chosen = m.op("Select", {m.op("Greater", {scaled, m.scalar(0)}), m.op("Sin", {scaled}), m.input({131})});
  m.result(m.op("Clamp", {chosen}, {{"min", "-0.5"}, {"max", "0.5"}}));
}

TEST(FuseElementwise, BranchesThatMeetAgain) {
  GraphMaker m;
  add_diamond(m);
  test::expect_rewrite("fuse_elementwise_diamond", m.graph(), {elementwise_pass()});
}

TEST(FuseElementwise, TwoBranches) {
  GraphMaker m;
  m.result(m.op("Multiply", {m.op("Sigmoid", {m.input({4, 5})}), m.op("Tanh", {m.input({4, 5})})}));
  test::expect_rewrite("fuse_elementwise_gate", m.graph(), {elementwise_pass()});
}

TEST(FuseElementwise, TypesMayChange) {
  GraphMaker m;
  const auto x = m.input({2, 70}, element::i32);
  const auto sum = m.op("Add", {m.op("Multiply", {x, x}), m.input({70}, element::i32)});
  m.result(m.op("Sqrt", {m.op("Convert", {sum}, {{"destination_type", "f32"}})}));
  test::expect_rewrite("fuse_elementwise_types", m.graph(), {elementwise_pass()});
}

TEST(FuseElementwise, LeavesWhatChainsDo) {
  GraphMaker m;
  const auto x = m.input({1, 4, 5});
  m.result(m.op("ReLU", {m.op("Add", {m.op("Multiply", {x, m.scalar(2)}), m.input({1, 4, 5})})}));
  // Read twice, and of another shape: nothing to fuse either.
  const auto small = m.op("Sin", {m.input({4, 1})});
  m.result(m.op("Add", {small, m.input({4, 5})}));
  const auto both = m.op("Tan", {m.input({4, 5})});
  m.result(both);
  m.result(m.op("Less", {both, m.scalar(0)}));
  test::expect_refusal(m.graph(), {elementwise_pass()});
}

TEST(FuseElementwise, GivesTheSameResults) {
  GraphMaker m;
  add_diamond(m);
  m.result(m.op("Multiply", {m.op("Sigmoid", {m.input({4, 500})}), m.op("Tanh", {m.input({4, 500})})}));
  // Boxes as detectors decode them.
  const auto corner = m.input({1, 700, 2}), size = m.op("Exp", {m.input({1, 700, 2})});
  const auto half = m.op("Multiply", {m.op("Multiply", {size, m.input({1, 700, 2})}), m.scalar(0.5)});
  const auto center = m.op("Add", {m.op("Multiply", {corner, m.input({2})}), m.input({1, 700, 1})});
  m.result(m.op("Subtract", {center, half}));
  const auto whole =
      m.op("Convert", {m.op("Multiply", {m.input({9, 130}), m.scalar(50)})}, {{"destination_type", "i32"}});
  const auto odd =
      m.op("Equal", {m.op("Mod", {whole, m.op("Convert", {m.scalar(2)}, {{"destination_type", "i32"}})}), whole});
  m.result(m.op("LogicalNot", {odd}));
  test::expect_same_as_interpreter(m);
}

TEST(FuseElementwise, IsOneStepOfThePlan) {
  GraphMaker m;
  add_diamond(m);
  const auto plan = test::plan_of(m);
  int steps = 0;
  for (const Step& step : plan->steps) steps += step.type != "Result";
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(plan->steps.front().type, kElementwiseType);
}

TEST(FuseElementwise, LongDiamondsAreCut) {
  GraphMaker m;
  auto x = m.input({3, 200});
  for (int i = 0; i < 40; ++i) x = m.op("Multiply", {m.op("Sin", {x}), m.op("Add", {x, m.input({200})})});
  m.result(x);
  test::expect_same_as_interpreter(m, 1e-4);
}

TEST(FuseElementwise, BetweenConvolutions) {
  for (const int64_t channels : {32, 24}) {
    GraphMaker m;
    const auto x = m.conv(m.input({1, 8, 9, 7}), channels, 3, 1);
    const auto gate = m.op("HSigmoid", {m.op("ReduceMean", {x, m.integers({2, 3})}, {{"keep_dims", "true"}})});
    const auto y = m.op("Add", {m.op("Multiply", {x, gate}), m.op("Sin", {x})});
    m.result(m.conv(y, 8, 3, 2));
    test::expect_same_as_interpreter(m);
  }
}

}  // namespace
}  // namespace terroir::cpu
