#include "tests/ops/round_trip.hpp"

#include <gtest/gtest.h>

#include <set>

#include "ir/graph/infer.hpp"
#include "ir/text/diff.hpp"
#include "ir/xml/legacy.hpp"
#include "ir/xml/reader.hpp"
#include "ops/defs/type/convert.hpp"
#include "ops/registry.hpp"

namespace terroir::test {
namespace {
const ir::OpRegistry& registry() { return ops::builtin_registry(); }

}  // namespace

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

ir::Value convert_value(ir::Graph& graph, ir::Value value, element::Type type) {
  const ir::NodeId id =
      graph.add(registry().get("Convert", "opset1"), graph.node(value.node).name + "_as" + std::to_string(value.output),
                ir::make_attributes_of(ops::ConvertAttrs{type}), {value});
  return {id, 0};
}

void express_ends(ir::Graph& graph) {
  const std::vector<ir::NodeId> parameters = graph.parameters(), results = graph.results();
  for (const ir::NodeId id : parameters) {
    if (graph.port({id, 0}).type != element::f16) continue;
    auto attributes = graph.node(id).attrs<ir::ParameterAttrs>();
    attributes.element_type = element::f32;
    graph.node(id).attributes = ir::make_attributes_of(std::move(attributes));
    const std::vector<ir::Use> uses = graph.uses({id, 0});
    const ir::Value half = convert_value(graph, {id, 0}, element::f16);
    for (const ir::Use& use : uses) graph.set_input(use, half);
  }
  ir::infer_graph(graph);
  for (const ir::NodeId id : results) {
    const ir::Value source = graph.node(id).inputs[0];
    const element::Type type = ir::xml::v10_output_type(graph.port(source).type);
    if (type != graph.port(source).type) graph.set_input({id, 0}, convert_value(graph, source, type));
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
    for (const ir::Body& body : node.bodies)
      if (!is_expressible(*body.graph)) return false;
  }
  return true;
}

}  // namespace terroir::test
