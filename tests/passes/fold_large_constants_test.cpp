// Constants that are large enough to be computed in parts, on several threads and over their operands: bit for bit what
// the interpreter computes, one node after the other.
#include <gtest/gtest.h>

#include <cstring>

#include "ir/pass/pass_manager.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

/// Folds a graph without inputs on threads that run the last part first, and returns how many parts there were.
int64_t expect_interpreted(const ir::Graph& graph) {
  const auto folded = graph.clone();
  int64_t parts = 0;
  const auto backwards = [&](int64_t tasks, FunctionRef<void(int64_t)> body) {
    parts += tasks;
    for (int64_t task = tasks; task-- > 0;) body(task);
  };
  {
    const ops::reference::LentThreads lend(backwards);
    ir::PassManager passes;
    passes.add(ops::fold_constants(ops::builtin_registry()));
    passes.run(*folded);
  }
  for (const ir::NodeId id : folded->nodes())
    EXPECT_TRUE(folded->node(id).constant || folded->node(id).is("Result")) << folded->node(id).describe();
  const auto expected = interpreter::run(graph, {});
  const auto got = interpreter::run(*folded, {});
  EXPECT_EQ(expected.size(), got.size());
  for (size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
    const ir::TensorView a = expected[i].view(), b = got[i].view();
    EXPECT_EQ(a.dims, b.dims) << i;
    EXPECT_TRUE(a.bytes() == b.bytes() && std::memcmp(a.data, b.data, a.bytes()) == 0) << "result " << i;
  }
  return parts;
}

ir::Value convert(GraphMaker& m, ir::Value value, const char* type) {
  return m.op("Convert", {value}, {{"destination_type", type}});
}

TEST(FoldLargeConstants, DecompressedWeightsOfAnyWidth) {
  for (const char* const type : {"i8", "u8", "u4", "i4", "u6", "u3", "u2", "u1"}) {
    SCOPED_TRACE(type);
    GraphMaker m;
    // Odd extents: parts begin within bytes unless they are cut with care.
    for (const ir::Dims& dims : {ir::Dims{1, 131, 1009}, ir::Dims{200003}, ir::Dims{3, 1, 65537}}) {
      const auto weights = convert(m, convert(m, m.random(dims, 1, 7), type), "f32");
      ir::Dims rows = dims;
      rows.back() = 1;
      const auto zero = convert(m, convert(m, m.random(rows, 2, 7), type), "f32");
      m.result(m.op("Multiply", {m.op("Subtract", {weights, zero}), m.random({dims.back()}, 3)}));
    }
    EXPECT_GT(expect_interpreted(m.graph()), 9);
  }
}

TEST(FoldLargeConstants, OperandsOfAllShapesAndReaders) {
  GraphMaker m;
  const auto x = m.op("Abs", {m.random({137, 1, 999}, 1)});
  const auto y = m.op("Abs", {m.random({137, 1, 999}, 2)});
  const auto column = m.op("Abs", {m.random({137, 1, 1}, 3)});
  const auto row = m.op("Abs", {m.random({999}, 4)});
  m.result(m.op("Subtract", {x, y}));  // both are read again
  m.result(m.op("Multiply", {x, x}));
  m.result(m.op("Divide", {column, m.op("Add", {y, row})}));  // over the second operand
  m.result(m.op("Greater", {m.op("Exp", {x}), m.op("Exp", {y})}));
  m.result(m.op("Add", {column, m.op("Exp", {row})}));  // larger than either
  m.result(m.op("Add", {m.op("Subtract", {row, m.scalar(1)}), m.random({2, 3, 137, 999}, 5)}));
  const auto chosen = m.op("Greater", {x, m.scalar(0.25)});
  m.result(m.op("Select", {chosen, row, m.op("Negative", {column})}, {{"auto_broadcast", "numpy"}}));
  EXPECT_GT(expect_interpreted(m.graph()), 20);
}

TEST(FoldLargeConstants, OperandsThatAreAlignedOtherwise) {
  GraphMaker m;
  const auto x = m.random({64, 64, 33}, 1);
  m.result(m.op("PReLU", {m.random({1, 64, 2113}, 6), m.random({64}, 2)}));
  m.result(
      m.op("Add", {x, m.random({64}, 3)}, {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "0"}}));
  const auto low = m.random({1, 1, 64, 1, 33}, 4), high = m.op("Add", {low, m.scalar(1)});
  m.result(m.op("FakeQuantize", {x, low, high, m.scalar(0), m.random({64, 1, 1}, 5)}, {{"levels", "16"}}));
  EXPECT_GT(expect_interpreted(m.graph()), 1);
}

}  // namespace
}  // namespace terroir::test
