#include "ir/pass/patch.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"

namespace terroir::ir {
namespace {

// Nodes of a patch have ids below every id of a graph until it is applied.
constexpr int32_t kFirstPatchId = -2;

constexpr NodeId patch_id(size_t index) { return static_cast<NodeId>(kFirstPatchId - static_cast<int32_t>(index)); }
constexpr bool is_patch_id(NodeId id) { return static_cast<int32_t>(id) <= kFirstPatchId; }
constexpr size_t patch_index(NodeId id) { return static_cast<size_t>(kFirstPatchId - static_cast<int32_t>(id)); }

void inherit_names(Graph& graph, Node& node, const std::vector<NodeId>& from) {
  std::vector<std::string> names;
  for (NodeId id : from) {
    const Node& source = graph.node(id);
    if (node.origin.layer_id < 0) node.origin = source.origin;
    names.push_back(source.name);
    names.insert(names.end(), source.origin_names.begin(), source.origin_names.end());
  }
  if (node.name.empty() && !names.empty()) node.name = names.front();
  for (std::string& name : names)
    if (name != node.name &&
        std::find(node.origin_names.begin(), node.origin_names.end(), name) == node.origin_names.end())
      node.origin_names.push_back(std::move(name));
}

}  // namespace

Value Patch::add(const OpSchema& schema, std::unique_ptr<Attributes> attributes, std::vector<Value> inputs,
                 std::vector<NodeId> from, std::string name, int output) {
  nodes_.push_back({&schema, std::move(attributes), std::move(inputs), std::move(from), std::move(name), std::nullopt});
  return {patch_id(nodes_.size() - 1), output};
}

Value Patch::add_constant(const OpSchema& schema, std::string name, Constant constant) {
  nodes_.push_back({&schema, nullptr, {}, {}, std::move(name), std::move(constant)});
  return {patch_id(nodes_.size() - 1), 0};
}

size_t apply(Patch&& patch, Graph& graph) {
  KnownValues known(graph);
  std::vector<NodeId> ids;
  const auto resolve = [&ids](Value value) {
    return is_patch_id(value.node) ? Value{ids.at(patch_index(value.node)), value.output} : value;
  };
  for (Patch::NewNode& wanted : patch.nodes_) {
    if (wanted.constant) {
      ids.push_back(graph.add_constant(*wanted.schema, std::move(wanted.name), std::move(*wanted.constant)));
      continue;
    }
    std::vector<Value> inputs = wanted.inputs;
    std::transform(inputs.begin(), inputs.end(), inputs.begin(), resolve);
    const NodeId id =
        graph.add(*wanted.schema, std::move(wanted.name), std::move(wanted.attributes), std::move(inputs));
    ids.push_back(id);
    inherit_names(graph, graph.node(id), wanted.from);
    infer_outputs(graph, id, known);
  }
  for (auto& [from, to] : patch.replacements_) {
    const Value target = resolve(to);
    TERROIR_ASSERT(
        graph.port(from).type == graph.port(target).type && graph.port(from).shape == graph.port(target).shape,
        graph.node(from.node).describe(), graph.port(from).shape.to_string(), graph.node(target.node).describe(),
        graph.port(target).shape.to_string());
    graph.replace_uses(from, target);
  }
  for (auto& [use, to] : patch.rewires_) graph.set_input(use, resolve(to));
  return graph.erase_unreachable();
}

}  // namespace terroir::ir
