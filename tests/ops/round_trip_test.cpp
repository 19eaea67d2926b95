// Every operation, in every form that its cases know: written as IR and read again it is the same. As version 10, too,
// where that version can express it; else the layer is named.
#include <gtest/gtest.h>

#include <set>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/text/diff.hpp"
#include "ir/xml/legacy.hpp"
#include "ir/xml/reader.hpp"
#include "ir/xml/writer.hpp"
#include "ops/defs/type/convert.hpp"
#include "ops/registry.hpp"
#include "tests/ops/case_check.hpp"

namespace terroir::test {
namespace {

const ir::OpRegistry& registry() { return ops::builtin_registry(); }

std::unique_ptr<ir::Graph> read_back(const ir::ModelText& text) {
  auto owner = std::make_shared<std::string>(text.weights);
  ir::ReaderOptions strict;
  strict.strict = true;
  return ir::read_model_from_memory(text.xml, owner, reinterpret_cast<const std::byte*>(owner->data()), owner->size(),
                                    registry(), strict);
}

void expect_same(const ir::Graph& graph, const ir::Graph& again) {
  std::string difference;
  EXPECT_TRUE(ir::equal(graph, again, &difference)) << difference;
}

std::vector<Case> cases_that_infer() {
  std::vector<std::string> errors;  // reported by CaseFiles.parse
  std::vector<Case> cases = load_case_files(TERROIR_SOURCE_DIR "/tests/ops", errors);
  std::erase_if(cases, [](const Case& c) { return c.error || c.run_error; });
  return cases;
}

/// Of these reader and writer tests have models with bodies.
const std::set<std::string> kWithBodies = {"If-8", "Loop-5", "TensorIterator-1"};

TEST(RoundTrip, EveryOperation) {
  std::set<std::string> written;
  for (const Case& c : cases_that_infer()) {
    SCOPED_TRACE(c.where());
    const auto graph = graph_of(c, registry());
    try {
      const ir::ModelText text = ir::write_model(*graph);
      const auto again = read_back(text);
      expect_same(*graph, *again);
      EXPECT_EQ(ir::write_model(*again).xml, text.xml);
    } catch (const Exception& error) {
      ADD_FAILURE() << error.what();
    }
    for (const ir::NodeId id : graph->nodes()) written.insert(graph->node(id).schema->display_name());
  }
  for (const ir::OpSchema* schema : registry().all()) {
    const std::string op = schema->display_name();
    EXPECT_TRUE(written.contains(op) || kWithBodies.contains(op)) << op << " is in no model of this test";
  }
}

ir::Value converted(ir::Graph& graph, ir::Value value, element::Type type) {
  const ir::NodeId id =
      graph.add(registry().get("Convert", "opset1"), graph.node(value.node).name + "_as" + std::to_string(value.output),
                ir::make_attributes_of(ops::ConvertAttrs{type}), {value});
  return {id, 0};
}

/// What version 10 cannot express about the ends of a model, expressed by layers; and the names it will give them.
void express_ends(ir::Graph& graph) {
  const std::vector<ir::NodeId> parameters = graph.parameters(), results = graph.results();
  for (const ir::NodeId id : parameters) {
    if (graph.port({id, 0}).type != element::f16) continue;
    auto attributes = graph.node(id).attrs<ir::ParameterAttrs>();
    attributes.element_type = element::f32;
    graph.node(id).attributes = ir::make_attributes_of(std::move(attributes));
    const std::vector<ir::Use> uses = graph.uses({id, 0});
    const ir::Value half = converted(graph, {id, 0}, element::f16);
    for (const ir::Use& use : uses) graph.set_input(use, half);
  }
  ir::infer_graph(graph);
  for (const ir::NodeId id : results) {
    const ir::Value source = graph.node(id).inputs[0];
    const element::Type type = ir::xml::v10_output_type(graph.port(source).type);
    if (type != graph.port(source).type) graph.set_input({id, 0}, converted(graph, source, type));
  }
  ir::infer_graph(graph);
  ir::xml::name_v10_ends(graph, [&](ir::Value source) {
    return static_cast<int64_t>(graph.node(source.node).inputs.size()) + source.output;
  });
}

bool is_expressible(const ir::Graph& graph) {
  static const std::set<element::Type> newer = {element::u2,     element::u3,     element::u6,     element::nf4,
                                                element::f8e4m3, element::f8e5m2, element::f8e8m0, element::f4e2m1,
                                                element::string, element::u4,     element::i4};
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    if (ir::opset_number(node.schema->opset) > 8) return false;
    for (const ir::OutputPort& port : node.outputs) {
      const bool nibbles = port.type == element::u4 || port.type == element::i4;
      if (newer.contains(port.type) && (!nibbles || node.constant)) return false;
    }
    if (node.is("ReadValue") && node.inputs.empty()) return false;
  }
  return true;
}

TEST(RoundTrip, Version10WhereItCanExpressTheOperation) {
  int same = 0, refused = 0;
  for (const Case& c : cases_that_infer()) {
    SCOPED_TRACE(c.where());
    const auto graph = graph_of(c, registry());
    express_ends(*graph);
    try {
      const auto again = read_back(ir::write_model(*graph, ir::IrVersion::v10));
      EXPECT_EQ(again->ir_version(), 10);
      EXPECT_TRUE(is_expressible(*graph));
      expect_same(*graph, *again);
      ++same;
    } catch (const Exception& error) {
      EXPECT_FALSE(is_expressible(*graph)) << error.what();
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      const std::string text = error.what();
      EXPECT_NE(text.find("version 10"), std::string::npos) << text;
      const bool named = text.find("'" + c.name + "'") != std::string::npos || text.find("'in") != std::string::npos;
      EXPECT_TRUE(named) << text;
      ++refused;
    }
  }
  EXPECT_GT(same, 1000);
  EXPECT_GT(refused, 200);
}

TEST(RoundTrip, Version10RefusesEndsOfOtherTypesByName) {
  const auto error_of = [](element::Type from, element::Type to) -> std::string {
    ir::Graph graph;
    const ir::NodeId x = graph.add(registry().get("Parameter", "opset1"), "x",
                                   ir::make_attributes_of(ir::ParameterAttrs{PartialShape{2}, from}));
    const ir::Value y = converted(graph, {x, 0}, to);
    graph.add(registry().get("Result", "opset1"), "y", nullptr, {y});
    ir::infer_graph(graph);
    try {
      ir::write_model(graph, ir::IrVersion::v10);
    } catch (const Exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of(element::i64, element::f32), "");
  EXPECT_EQ(error_of(element::boolean, element::i32), "");
  EXPECT_NE(error_of(element::f16, element::f32).find("Parameter 'x'"), std::string::npos);
  const std::string result = error_of(element::f32, element::i64);
  EXPECT_NE(result.find("Result 'y'"), std::string::npos) << result;
  EXPECT_NE(result.find("of type i64 as i32"), std::string::npos) << result;
}

TEST(RoundTrip, Version10RefusesTwoTensorsOfOneName) {
  ir::Graph graph;
  const ir::NodeId x = graph.add(registry().get("Parameter", "opset1"), "x",
                                 ir::make_attributes_of(ir::ParameterAttrs{PartialShape{2}, element::f32}));
  const ir::NodeId y = graph.add(registry().get("ReLU", "opset1"), "y", nullptr, {{x, 0}});
  graph.add(registry().get("Result", "opset1"), "r", nullptr, {{y, 0}});
  ir::infer_graph(graph);
  graph.port({y, 0}).names = {"x"};
  try {
    ir::write_model(graph, ir::IrVersion::v10);
    FAIL() << "written";
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace terroir::test
