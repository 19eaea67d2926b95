#include "ir/graph/verify.hpp"

#include <algorithm>

#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"

namespace terroir::ir {
namespace {

void check_links(const Graph& graph, std::vector<std::string>& problems) {
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& input = node.inputs[i];
      const Use use{id, static_cast<int32_t>(i)};
      if (input.node == NodeId::none || !graph.contains(input.node) || input.output < 0 ||
          static_cast<size_t>(input.output) >= graph.node(input.node).outputs.size()) {
        problems.push_back(node.describe() + ": input " + std::to_string(i) + " reads a value that does not exist");
        continue;
      }
      const auto& uses = graph.uses(input);
      if (std::find(uses.begin(), uses.end(), use) == uses.end())
        problems.push_back(node.describe() + ": input " + std::to_string(i) + " is missing in its producer's use list");
    }
    for (const auto& uses : graph.uses_by_output(id))
      for (const Use& use : uses)
        if (!graph.contains(use.node) || graph.node(use.node).inputs.at(static_cast<size_t>(use.input)).node != id)
          problems.push_back(node.describe() + ": its use list names an input that reads something else");
  }
}

void check_types(const Graph& graph, std::vector<std::string>& problems) {
  KnownValues known(graph);
  for (NodeId id : topological_order(graph)) {
    const Node& node = graph.node(id);
    std::vector<PortType> inferred;
    try {
      inferred = infer_node(graph, id, known);
    } catch (const Exception&) {
      if (node.bodies.empty()) throw;  // else see infer_again()
    }
    for (size_t i = 0; i < inferred.size(); ++i) {
      const OutputPort& recorded = node.outputs.at(i);
      if (recorded.type != inferred[i].type || recorded.shape != inferred[i].shape)
        problems.push_back(node.describe() + ": output " + std::to_string(i) + " is recorded as " +
                           recorded.type.get_type_name() + recorded.shape.to_string() + ", inferred as " +
                           inferred[i].type.get_type_name() + inferred[i].shape.to_string());
    }
  }
}

}  // namespace

std::vector<std::string> verify(const Graph& graph) {
  std::vector<std::string> problems;
  check_links(graph, problems);
  if (!problems.empty()) return problems;  // the rest walks the links
  try {
    check_types(graph, problems);
  } catch (const Exception& error) {
    problems.emplace_back(error.what());
  }
  return problems;
}

}  // namespace terroir::ir
