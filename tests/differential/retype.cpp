#include "tests/differential/retype.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/schema/infrastructure.hpp"
#include "ops/data_types.hpp"
#include "tests/support/retyped.hpp"

namespace terroir::test {
namespace {

/// Gives what feeds the value another type; false for results of layers.
bool retype(RandomModel& model, ir::Value value, element::Type type) {
  ir::Graph& graph = *model.graph;
  ir::Node& source = graph.node(value.node);
  if (source.constant) {
    auto other = std::make_shared<HostTensor>(converted(source.constant->view, type));
    const ir::TensorView view = other->view();
    graph.replace_uses(value, {graph.add_constant(*source.schema, source.name, {view, other}), 0});
    graph.erase(value.node);
    return true;
  }
  const auto parameter = std::find(graph.parameters().begin(), graph.parameters().end(), value.node);
  if (parameter == graph.parameters().end()) return false;
  auto attributes = source.attrs<ir::ParameterAttrs>();
  attributes.element_type = type;
  source.attributes = ir::make_attributes_of(attributes);
  HostTensor& input = model.inputs[static_cast<size_t>(parameter - graph.parameters().begin())];
  input = converted(input.view(), type);
  return true;
}

}  // namespace

RandomModel with_data_of(const RandomModel& model, const std::string& operation, element::Type type) {
  RandomModel other;
  other.graph = model.graph->clone();
  for (const HostTensor& input : model.inputs) other.inputs.push_back(converted(input.view(), input.view().type));
  other.type = type;
  const std::vector<ir::NodeId> nodes = other.graph->nodes();
  const auto layer = std::find_if(nodes.begin(), nodes.end(), [&](ir::NodeId id) {
    return other.graph->node(id).schema->display_name() == operation;
  });
  if (layer == nodes.end()) return {};
  const std::vector<ir::Value> operands = other.graph->node(*layer).inputs;
  bool has_data = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!ops::data_types(*other.graph->node(*layer).schema).has(i)) continue;
    // The same tensor may be two operands.
    const ir::Value now = other.graph->node(*layer).inputs[i];
    if (!(now == operands[i])) continue;
    if (!retype(other, now, type)) return {};
    has_data = true;
  }
  if (!has_data) return {};
  try {
    ir::infer_graph(*other.graph);
  } catch (const Exception&) {
    return {};
  }
  return other;
}

}  // namespace terroir::test
