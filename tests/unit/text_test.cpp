// printer, diff
#include <gtest/gtest.h>

#include "ir/graph/infer.hpp"
#include "ir/text/constant_text.hpp"
#include "ir/text/diff.hpp"
#include "ir/text/printer.hpp"
#include "tests/unit/toy_nodes.hpp"
#include "tests/unit/toy_ops.hpp"

namespace terroir::ir {
namespace {

using test::constant;
using test::parameter_node;
using test::schema;
using test::toy_registry;
using test::ToyAttrs;

/// Result of Toy(Add(x, constant)).
std::unique_ptr<Graph> sample(std::vector<float> values = {1, 2.5F, -3}, const char* name = "toy") {
  auto graph = std::make_unique<Graph>("m");
  const NodeId x = parameter_node(*graph, "x", "[?,3]");
  const NodeId w = graph->add_constant(schema("Const"), "w", constant<float>(element::f32, {1, 3}, std::move(values)));
  const NodeId sum = graph->add(schema("Add"), "a sum", nullptr, {{x, 0}, {w, 0}});
  ToyAttrs attrs;
  attrs.steps = {1, 2};
  attrs.label = "say \"hi\"";
  const NodeId toy = graph->add(schema("Toy"), name, make_attributes_of(attrs), {{sum, 0}});
  graph->node(toy).outputs[0].names = {"y", "z"};
  graph->add(schema("Result"), "out", nullptr, {{toy, 0}});
  infer_graph(*graph);
  return graph;
}

TEST(Printer, ShowsAGraphLineByLine) {
  EXPECT_EQ(to_text(*sample()),
            "graph \"m\" (%x) -> (%out)\n"
            "  %x = Parameter-1() {shape=[?,3], element_type=f32} : f32[?,3]\n"
            "  %w = Const-1() : f32[1,3] = [1, 2.5, -3]\n"
            "  %\"a sum\" = Add-1(%x, %w) {auto_broadcast=\"numpy\"} : f32[?,3]\n"
            "  %toy = Toy-1(%\"a sum\") {count=1, scale=0.5, flag=false, mode=first, label=\"say \\\"hi\\\"\", to=f32, "
            "form=[], steps=[1, 2], factors=[1], words=[]} : f32[?,3] \"y\"|\"z\"\n"
            "  %out = Result-1(%toy) : f32[?,3]\n");
}

TEST(Printer, OptionsSelectWhatIsShown) {
  PrintOptions options;
  options.default_attrs = false;
  options.tensor_names = false;
  options.max_values = 2;
  options.annotate_value = [](const Graph& graph, Value value) {
    return graph.node(value.node).is("Add") ? std::string("nChw8c") : std::string();
  };
  options.annotate_node = [](const Graph& graph, NodeId id) {
    return graph.node(id).is("Toy") ? std::string("// jit") : std::string();
  };
  const std::string text = to_text(*sample(), options);
  EXPECT_NE(text.find("%\"a sum\" = Add-1(%x, %w) : f32[?,3] nChw8c\n"), std::string::npos) << text;
  EXPECT_NE(text.find("{label=\"say \\\"hi\\\"\", steps=[1, 2]} : f32[?,3] // jit\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%w = Const-1() : f32[1,3] = #"), std::string::npos) << text;
}

TEST(Printer, SharedNamesAreNumberedAndOutputsOfManyAreMarked) {
  Graph graph;
  const NodeId x = parameter_node(graph, "n", "[2]");
  const NodeId halves = graph.add(schema("Halves"), "n", nullptr, {{x, 0}});
  graph.node(halves).outputs.resize(2);
  graph.add(schema("Result"), "", nullptr, {{halves, 1}});
  infer_graph(graph);
  EXPECT_EQ(to_text(graph),
            "graph \"\" (%n) -> (%\"\")\n"
            "  %n = Parameter-1() {shape=[2], element_type=f32} : f32[2]\n"
            "  %n#2 = Halves-1(%n) : f32[2], f32[2]\n"
            "  %\"\" = Result-1(%n#2.1) : f32[2]\n");
}

TEST(Printer, PrintsGraphsThatAreNotSound) {
  Graph graph;
  const NodeId a = graph.add(schema("ReLU"), "a", nullptr, {Value{}});
  const NodeId b = graph.add(schema("ReLU"), "b", nullptr, {{a, 0}});
  EXPECT_NE(to_text(graph).find("%a = ReLU-1(%none.0)"), std::string::npos) << to_text(graph);
  graph.set_input({a, 0}, {b, 0});
  EXPECT_NE(to_text(graph).find("%a = ReLU-1(%b)"), std::string::npos) << to_text(graph);
}

TEST(ConstantText, PrintsEveryKindOfElementExactly) {
  const auto text = [](const Constant& c) { return constant_text(c.view, 8); };
  EXPECT_EQ(text(constant<float>(element::f32, {2}, {0.1F, 1e-45F})), "[0.1, 1e-45]");
  EXPECT_EQ(text(constant<double>(element::f64, {}, {0.1})), "[0.1]");
  EXPECT_EQ(text(constant<float16>(element::f16, {1}, {float16(1.5F)})), "[1.5]");
  EXPECT_EQ(text(constant<uint64_t>(element::u64, {1}, {UINT64_MAX})), "[18446744073709551615]");
  EXPECT_EQ(text(constant<int8_t>(element::i8, {0}, {})), "[]");
  EXPECT_EQ(text(constant<uint8_t>(element::boolean, {2}, {1, 0})), "[1, 0]");
  EXPECT_EQ(text(constant<uint8_t>(element::i4, {3}, {0xF2, 0x07})), "[2, -1, 7]");
  EXPECT_EQ(text(constant<uint8_t>(element::u4, {2}, {0xF2})), "[2, 15]");
  EXPECT_EQ(text(constant<uint8_t>(element::u1, {3}, {0xA0})), "[1, 0, 1]");
  EXPECT_EQ(text(constant<std::string>(element::string, {2}, {"a", "b\n"})), "[\"a\", \"b\\n\"]");
  // FNV-1a of the one byte 'a', a published test value.
  EXPECT_EQ(text(constant<uint8_t>(element::f8e4m3, {1}, {'a'})), "#af63dc4c8601ec8c");
  EXPECT_NE(content_hash(constant<std::string>(element::string, {2}, {"ab", "c"}).view),
            content_hash(constant<std::string>(element::string, {2}, {"a", "bc"}).view));
}

TEST(GraphEquality, HoldsWhateverTheOrderOfAddition) {
  const auto reordered = [] {
    auto graph = std::make_unique<Graph>("m");
    const NodeId w = graph->add_constant(schema("Const"), "w", constant<float>(element::f32, {1, 3}, {1, 2.5F, -3}));
    const NodeId unused = graph->add(schema("ReLU"), "unused", nullptr, {{w, 0}});
    const NodeId x = parameter_node(*graph, "x", "[?,3]");
    const NodeId sum = graph->add(schema("Add"), "a sum", nullptr, {{x, 0}, {w, 0}});
    ToyAttrs attrs;
    attrs.steps = {1, 2};
    attrs.label = "say \"hi\"";
    const NodeId toy = graph->add(schema("Toy"), "toy", make_attributes_of(attrs), {{sum, 0}});
    graph->node(toy).outputs[0].names = {"y", "z"};
    graph->add(schema("Result"), "out", nullptr, {{toy, 0}});
    infer_graph(*graph);
    EXPECT_EQ(graph->node(unused).name, "unused");
    return graph;
  }();
  std::string difference;
  EXPECT_TRUE(equal(*sample(), *reordered, &difference)) << difference;
  EXPECT_TRUE(equal(*sample(), *sample()->clone(), &difference)) << difference;
}

TEST(GraphEquality, NamesTheFirstDifference) {
  const auto difference = [](auto change) {
    const auto a = sample();
    auto b = sample();
    change(*b);
    std::string text;
    EXPECT_FALSE(equal(*a, *b, &text));
    EXPECT_FALSE(equal(*b, *a));
    return text;
  };
  const auto toy = [](Graph& g) -> Node& { return g.node(static_cast<NodeId>(3)); };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? ::testing::AssertionSuccess()
                                                : ::testing::AssertionFailure() << text << " lacks " << part;
  };
  EXPECT_TRUE(has(difference([](Graph& g) { g.set_name("k"); }), "names \"m\" and \"k\""));
  EXPECT_TRUE(has(difference([](Graph& g) { g.rt_info().children.push_back({"k", {}}); }), "runtime information"));
  EXPECT_TRUE(has(difference([&](Graph& g) { toy(g).name = "boy"; }), "\"toy\" and \"boy\""));
  EXPECT_TRUE(has(difference([&](Graph& g) { toy(g).outputs[0].names = {"y"}; }), "tensor names of output 0"));
  EXPECT_TRUE(has(difference([&](Graph& g) { toy(g).outputs[0].rt_info["layout"]["layout"] = "NC"; }), "output 0"));
  EXPECT_TRUE(has(difference([&](Graph& g) { toy(g).rt_info["a"]["b"] = "c"; }), "a(b=\"c\""));
  EXPECT_TRUE(has(difference([&](Graph& g) { toy(g).input_rt_info = {{{"a", {}}}}; }), "input 0"));
  EXPECT_TRUE(has(difference([&](Graph& g) { toy(g).outputs[0].shape = PartialShape("[1,3]"); }), "f32[1,3]"));
  EXPECT_TRUE(has(difference([&](Graph& g) { toy(g).attributes = make_attributes_of(ToyAttrs{}); }), "label"));
  EXPECT_TRUE(has(difference([&](Graph& g) { toy(g).schema = &schema("ReLU"); }), "Toy-1 and ReLU-1"));
  EXPECT_TRUE(has(difference([](Graph& g) {
                    g.set_input({static_cast<NodeId>(2), 1}, {static_cast<NodeId>(0), 0});
                  }),
                  "input 1 reads output 0 of"));
  EXPECT_TRUE(has(difference([](Graph& g) { parameter_node(g, "more", "[1]"); }), "1 parameters and 2"));
  std::string text;
  EXPECT_FALSE(equal(*sample({1, 2, 3}), *sample({1, 2, 4}), &text));
  EXPECT_TRUE(has(text, "constant values differ"));
  EXPECT_FALSE(equal(*sample({0.0F, 2, 3}), *sample({-0.0F, 2, 3}), &text)) << "bits count, not numbers";
}

}  // namespace
}  // namespace terroir::ir
