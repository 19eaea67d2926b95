// Rewrites follow chains of any length in a few rounds.
#include <gtest/gtest.h>

#include "ir/pass/pass_manager.hpp"
#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "plugins/cpu/compile.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

constexpr int kLinks = 601;
constexpr int kRounds = 3;

/// Nodes that are left when the passes have had a few rounds.
size_t nodes_after(const GraphMaker& m, std::vector<ir::Pass> passes) {
  auto graph = m.graph().clone();
  for (int round = 0; round < kRounds; ++round) {
    ir::PassManager manager;
    for (const ir::Pass& pass : passes) manager.add(pass);
    manager.run(*graph);
  }
  return graph->node_count();
}

TEST(LongChains, OfNoOps) {
  GraphMaker m;
  ir::Value x = m.input({2, 3});
  const ir::Value one = m.scalar(1);
  for (int i = 0; i < kLinks; ++i) x = m.op("Multiply", {x, one});
  m.result(m.op("ReLU", {x}));
  EXPECT_EQ(nodes_after(m, {ops::remove_no_ops()}), 3u);
  expect_same_as_interpreter(m, 0);
}

TEST(LongChains, OfTransposes) {
  GraphMaker m;
  ir::Value x = m.input({2, 3, 4});
  const ir::Value order = m.integers({1, 2, 0});
  for (int i = 0; i < kLinks; ++i) {
    x = m.op("Transpose", {x, order});
    if (i == 100) m.result(m.op("ReLU", {x}));  // 101 of them
  }
  m.result(m.op("Tanh", {x}));
  // Three cancel each other, so that both chains are one Transpose with an order of its own.
  EXPECT_EQ(nodes_after(m, {ops::fuse_transposes(ops::builtin_registry())}), 9u);
  expect_same_as_interpreter(m, 1e-6);
}

TEST(LongChains, OfElementwiseLayersBehindATranspose) {
  GraphMaker m;
  ir::Value x = m.op("Transpose", {m.input({1, 2, 3, 4}), m.integers({0, 2, 3, 1})});
  for (int i = 0; i < kLinks; ++i) x = m.op("Abs", {x});
  m.result(m.op("Transpose", {x, m.integers({0, 3, 1, 2})}));
  const ir::OpRegistry& registry = ops::builtin_registry();
  EXPECT_EQ(nodes_after(m, {ops::fuse_transposes(registry), ops::sink_transposes(registry)}), 2u + kLinks);
  expect_same_as_interpreter(m, 0);
}

}  // namespace
}  // namespace terroir::test
