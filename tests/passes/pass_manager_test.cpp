// The machinery under the passes: graph edits, order, verification, patches, the manager.
#include "ir/pass/pass_manager.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ir/base/error.hpp"
#include "ir/graph/order.hpp"
#include "ir/graph/verify.hpp"
#include "ir/text/printer.hpp"
#include "ops/registry.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::ir {
namespace {

using test::GraphMaker;

const OpSchema& op(std::string_view type) { return ops::builtin_registry().get(type, "opset1"); }

/// Every node of one type becomes one of another.
Pass turn(const std::string& from, const std::string& to) {
  return {"turn_" + from + "_into_" + to, [=](const Graph& graph, Patch& patch) {
            for (const NodeId id : graph.nodes())
              if (graph.node(id).is(from))
                patch.replace({id, 0}, patch.add(op(to), nullptr, graph.node(id).inputs, {id}));
          }};
}

template <class Body>
std::string message(Body body) {
  try {
    body();
  } catch (const Exception& error) {
    return error.what();
  }
  return "no exception";
}

TEST(PassManager, RunsOnceOrUntilNothingChanges) {
  GraphMaker m;
  m.result(m.op("ReLU", {m.op("Abs", {m.input({2})})}));
  PassManager manager;
  manager.add(turn("ReLU", "Abs"));
  manager.add_until_stable({turn("Abs", "Tanh"), turn("Tanh", "Exp")});
  const auto reports = manager.run(m.graph());
  std::string text;
  for (const PassReport& report : reports) text += concat(report.name, " ", report.edits, " ", report.erased, "; ");
  EXPECT_EQ(text,
            "turn_ReLU_into_Abs 1 1; turn_Abs_into_Tanh 2 2; turn_Tanh_into_Exp 2 2; turn_Abs_into_Tanh 0 0; "
            "turn_Tanh_into_Exp 0 0; ");
  EXPECT_TRUE(verify(m.graph()).empty());
}

TEST(PassManager, LeavesOutDisabledPasses) {
  GraphMaker m;
  auto x = m.op("Tanh", {m.op("ReLU", {m.input({2})})});
  m.result(x);
  PassManager manager;
  manager.add(turn("ReLU", "Abs"));
  manager.add(turn("Tanh", "Exp"));
  const test::ScopedVariable disabled("TERROIR_DISABLE_PASS", "other,turn_ReLU_into_Abs");
  const auto reports = manager.run(m.graph());
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].name, "turn_Tanh_into_Exp");
}

TEST(PassManager, NamesPassesThatDoNotSettle) {
  GraphMaker m;
  m.result(m.op("ReLU", {m.input({2})}));
  PassManager manager;
  manager.add_until_stable({turn("ReLU", "Abs"), turn("Sigmoid", "Tanh"), turn("Abs", "ReLU")}, 7);
#ifdef TERROIR_CHECKED
  EXPECT_EQ(message([&] { manager.run(m.graph()); }),
            "internal error: passes do not settle after 7 rounds: turn_ReLU_into_Abs, turn_Abs_into_ReLU");
#else
  EXPECT_EQ(manager.run(m.graph()).size(), 7u * 3);
#endif
}

TEST(PassManager, WritesTheGraphAfterEachPassThatActed) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("terroir_pass_dump_" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  GraphMaker m;
  m.result(m.op("ReLU", {m.input({2})}));
  PassManager manager;
  manager.add(turn("Tanh", "Exp"));
  manager.add(turn("ReLU", "Abs"));
  {
    const test::ScopedVariable dump("TERROIR_DUMP", folder.c_str());
    manager.run(m.graph());
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "0_turn_Tanh_into_Exp.txt"));
  std::ifstream file(folder / "1_turn_ReLU_into_Abs.txt");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), to_text(m.graph()));
  std::filesystem::remove_all(folder);
}

TEST(PassManager, ChecksTheGraphInCheckedBuilds) {
  GraphMaker m;
  auto first = m.op("ReLU", {m.input({2})});
  auto second = m.op("Abs", {first});
  m.result(second);
  PassManager manager;
  manager.add({"tie_a_knot", [&](const Graph&, Patch& patch) { patch.rewire({first.node, 0}, second); }});
  const std::string text = message([&] { manager.run(m.graph()); });
#ifdef TERROIR_CHECKED
  EXPECT_EQ(text.rfind("internal error: pass tie_a_knot left a broken graph: the graph has a cycle", 0), 0u) << text;
#else
  EXPECT_EQ(text, "no exception");
#endif
}

TEST(Patch, KeepsTheNamesOfWhatItReplaces) {
  GraphMaker m;
  auto x = m.input({2});
  auto a = m.op("ReLU", {x}, {}, "first"), b = m.op("Abs", {a}, {}, "second"), c = m.op("Exp", {b}, {}, "third");
  m.graph().node(b.node).origin_names = {"earlier"};
  m.graph().node(a.node).origin = {"model.xml", 17, 203};
  m.graph().port(c).names = {"tensor"};
  m.result(c);
  Patch patch;
  patch.replace(c, patch.add(op("Tanh"), nullptr, {x}, {a.node, b.node, c.node}));
  EXPECT_EQ(patch.size(), 1u);
  EXPECT_EQ(apply(std::move(patch), m.graph()), 3u);
  const Node& node = m.graph().node(m.graph().node(m.graph().results()[0]).inputs[0].node);
  EXPECT_EQ(node.describe(), "Tanh 'first' (layer 17, model.xml:203)");
  EXPECT_EQ(node.origin_names, (std::vector<std::string>{"second", "earlier", "third"}));
  EXPECT_EQ(node.outputs[0].names, std::vector<std::string>{"tensor"});
  EXPECT_TRUE(verify(m.graph()).empty());
}

TEST(Patch, NewNodesReadNewNodesAndEveryOutput) {
  GraphMaker m;
  auto x = m.input({4});
  auto y = m.op("ReLU", {x});
  m.result(y);
  Patch patch;
  auto axis = std::make_shared<int64_t>(0);
  const Value axis_value = patch.add_constant(op("Const"), "axis", {{element::i64, {}, axis.get()}, axis});
  auto attributes = op("Split").make_attributes();
  test::set_attributes(*attributes, {{"num_splits", "2"}});
  const Value split = patch.add(op("Split"), std::move(attributes), {x, axis_value}, {y.node}, "halves");
  auto join = op("Concat").make_attributes();
  test::set_attributes(*join, {{"axis", "0"}});
  patch.replace(y, patch.add(op("Concat"), std::move(join), {Patch::output(split, 1), split}, {y.node}));
  apply(std::move(patch), m.graph());
  EXPECT_TRUE(verify(m.graph()).empty());
  EXPECT_EQ(to_text(m.graph()),
            "graph \"g\" (%x) -> (%y)\n"
            "  %x = Parameter-1() {shape=[4], element_type=f32} : f32[4]\n"
            "  %axis = Const-1() : i64[] = [0]\n"
            "  %halves = Split-1(%x, %axis) {num_splits=2} : f32[2], f32[2]\n"
            "  %relu = Concat-1(%halves.1, %halves.0) {axis=0} : f32[4]\n"
            "  %y = Result-1(%relu) : f32[4]\n");
}

TEST(Patch, RewiresOneInputOnly) {
  GraphMaker m;
  auto x = m.input({2}), y = m.input({2});
  auto sum = m.op("Add", {x, x});
  m.result(sum);
  Patch patch;
  patch.rewire({sum.node, 1}, y);
  apply(std::move(patch), m.graph());
  EXPECT_EQ(m.graph().node(sum.node).inputs, (std::vector<Value>{x, y}));
  EXPECT_EQ(m.graph().uses(x), (std::vector<Use>{{sum.node, 0}}));
  EXPECT_TRUE(verify(m.graph()).empty());
}

TEST(GraphEdits, KeepUsesConsistent) {
  GraphMaker m;
  auto x = m.input({2}), y = m.input({2});
  auto a = m.op("Add", {x, y}), b = m.op("Multiply", {a, x});
  m.result(b);
  Graph& graph = m.graph();
  EXPECT_EQ(graph.uses(x), (std::vector<Use>{{a.node, 0}, {b.node, 1}}));
  graph.set_input({b.node, 1}, y);
  EXPECT_EQ(graph.uses(x), (std::vector<Use>{{a.node, 0}}));
  EXPECT_EQ(graph.uses(y), (std::vector<Use>{{a.node, 1}, {b.node, 1}}));
  graph.port(a).names = {"sum"};
  graph.replace_uses(a, x);
  EXPECT_EQ(graph.uses(x), (std::vector<Use>{{a.node, 0}, {b.node, 0}}));
  EXPECT_EQ(graph.port(x).names, std::vector<std::string>{"sum"});
  EXPECT_TRUE(graph.port(a).names.empty());
  EXPECT_EQ(graph.erase_unreachable(), 1u);
  EXPECT_FALSE(graph.contains(a.node));
  graph.set_inputs(b.node, {x, x});
  EXPECT_TRUE(graph.uses(y).empty());
  EXPECT_EQ(graph.erase_unreachable(), 0u);  // parameters stay
  EXPECT_EQ(graph.parameters().size(), 2u);
  EXPECT_TRUE(verify(graph).empty());
}

TEST(GraphEdits, AClonesEditsAreItsOwn) {
  GraphMaker m;
  m.result(m.op("Clamp", {m.input({2})}, {{"min", "1"}, {"max", "2"}}));
  const std::string before = to_text(m.graph());
  const auto clone = m.graph().clone();
  EXPECT_EQ(to_text(*clone), before);
  PassManager manager;
  manager.add(turn("Clamp", "ReLU"));
  manager.run(*clone);
  EXPECT_NE(to_text(*clone), before);
  EXPECT_EQ(to_text(m.graph()), before);
}

TEST(Order, PutsProducersFirstAndSmallIdsBeforeLargeOnes) {
  GraphMaker m;
  auto x = m.input({2});
  auto a = m.op("ReLU", {x}), b = m.op("Abs", {x}), c = m.op("Exp", {x});
  m.graph().set_input({a.node, 0}, c);  // a node that was added later comes first now
  auto y = m.op("Add", {a, b});
  EXPECT_EQ(topological_order(m.graph()), (std::vector<NodeId>{x.node, b.node, c.node, a.node, y.node}));
}

TEST(Order, NodesDoNotWaitForConstantsThatWereAddedLate) {
  GraphMaker m;
  auto x = m.input({2});
  auto a = m.op("Add", {x, x}), b = m.op("Abs", {x});
  auto late = m.scalar(3), unused = m.scalar(4);
  m.graph().set_input({a.node, 1}, late);
  EXPECT_EQ(topological_order(m.graph()), (std::vector<NodeId>{x.node, late.node, a.node, b.node, unused.node}));
}

TEST(Order, NamesTheLayersOfACycle) {
  GraphMaker m;
  auto x = m.input({2});
  auto a = m.op("Add", {x, x}, {}, "a"), b = m.op("Abs", {a}, {}, "b"), c = m.op("Exp", {b}, {}, "c");
  m.result(m.op("Tanh", {c}, {}, "behind"));
  m.graph().set_input({a.node, 1}, c);
  const std::string text = message([&] { topological_order(m.graph()); });
  EXPECT_NE(text.find("the graph has a cycle: "), std::string::npos) << text;
  EXPECT_NE(text.find("Add 'a' -> Abs 'b'"), std::string::npos) << text;
  EXPECT_EQ(text.find("behind"), std::string::npos) << text;
}

TEST(Verify, FindsWhatIsBroken) {
  const auto broken = [](auto damage) {
    GraphMaker m;
    auto x = m.input({2, 3});
    auto a = m.op("ReLU", {x}, {}, "a"), b = m.op("Abs", {a}, {}, "b");
    m.result(b);
    damage(m.graph(), x, a, b);
    std::string text;
    for (const std::string& problem : verify(m.graph())) text += problem + "\n";
    return text;
  };
  EXPECT_EQ(broken([](Graph&, Value, Value, Value) {}), "");
  EXPECT_EQ(broken([](Graph& g, Value, Value a, Value) { g.port(a).type = element::f16; }),
            "ReLU 'a': output 0 is recorded as f16[2,3], inferred as f32[2,3]\n"
            "Abs 'b': output 0 is recorded as f32[2,3], inferred as f16[2,3]\n");
  EXPECT_EQ(broken([](Graph& g, Value, Value, Value b) {
              g.port(b).shape = PartialShape{3, 2};
            }).substr(0, 71),
            "Abs 'b': output 0 is recorded as f32[3,2], inferred as f32[2,3]\nResult ");
  EXPECT_EQ(broken([](Graph& g, Value, Value a, Value) {
              g.node(a.node).inputs[0] = {NodeId::none, 0};
            }),
            "Parameter 'x': its use list names an input that reads something else\n"
            "ReLU 'a': input 0 reads a value that does not exist\n");
  EXPECT_EQ(broken([](Graph& g, Value x, Value, Value b) { g.node(b.node).inputs[0] = x; }),
            "ReLU 'a': its use list names an input that reads something else\n"
            "Abs 'b': input 0 is missing in its producer's use list\n");
  const std::string cycle = broken([](Graph& g, Value, Value a, Value b) { g.set_input({a.node, 0}, b); });
  EXPECT_EQ(cycle.rfind("the graph has a cycle: ", 0), 0u) << cycle;
}

}  // namespace
}  // namespace terroir::ir
