#include "ir/graph/names.hpp"

#include <algorithm>
#include <set>

#include "ir/base/function_ref.hpp"

namespace terroir::ir {
namespace {

using Names = std::vector<std::string>;

bool has_own(const Node& node) {
  return node.is(kResultType) && !node.outputs.empty() && !node.outputs[0].names.empty();
}

/// Calls `visit` with what the names are made of.
void visit_names(const Graph& graph, Value value, FunctionRef<void(const Names&)> visit) {
  const Node& node = graph.node(value.node);
  if (has_own(node)) return visit(node.outputs[0].names);
  if (node.is(kResultType)) value = node.inputs.at(0);
  visit(graph.port(value).names);
  for (const Use& use : graph.uses(value))
    if (const Node& reader = graph.node(use.node); has_own(reader)) visit(reader.outputs[0].names);
}

}  // namespace

Names tensor_names(const Graph& graph, Value value) {
  std::set<std::string> all;
  visit_names(graph, value, [&](const Names& names) { all.insert(names.begin(), names.end()); });
  return {all.begin(), all.end()};
}

bool has_tensor_name(const Graph& graph, Value value, const std::string& name) {
  bool found = false;
  visit_names(graph, value,
              [&](const Names& names) { found |= std::find(names.begin(), names.end(), name) != names.end(); });
  return found;
}

}  // namespace terroir::ir
