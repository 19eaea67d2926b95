#include "ir/graph/order.hpp"

#include <algorithm>
#include <functional>
#include <queue>

#include "ir/base/error.hpp"

namespace terroir::ir {
namespace {

/// Names of the nodes along one cycle among nodes with unmet inputs.
std::string describe_cycle(const Graph& graph, const std::vector<int32_t>& unmet) {
  NodeId at = NodeId::none;
  for (NodeId id : graph.nodes())
    if (unmet[index_of(id)] > 0) at = id;
  std::vector<int32_t> seen(graph.id_bound(), -1);
  std::vector<NodeId> path;
  while (seen[index_of(at)] < 0) {
    seen[index_of(at)] = static_cast<int32_t>(path.size());
    path.push_back(at);
    for (const Value& input : graph.node(at).inputs) {
      if (input.node == NodeId::none || unmet[index_of(input.node)] == 0) continue;
      at = input.node;
      break;
    }
  }
  path.erase(path.begin(), path.begin() + seen[index_of(at)]);
  std::reverse(path.begin(), path.end());
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(path.size(), kShown); ++i) text += graph.node(path[i]).describe() + " -> ";
  if (path.size() > kShown) text += "... -> ";
  return text + graph.node(path.front()).describe();
}

}  // namespace

std::vector<NodeId> topological_order(const Graph& graph) {
  const auto is_constant = [&](NodeId id) { return graph.node(id).constant.has_value(); };
  std::vector<int32_t> unmet(graph.id_bound(), 0);
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id : graph.nodes()) {
    for (const Value& input : graph.node(id).inputs)
      if (input.node != NodeId::none && !is_constant(input.node)) ++unmet[index_of(id)];
    if (unmet[index_of(id)] == 0) ready.push(id);
  }
  std::vector<NodeId> order;
  order.reserve(graph.node_count());
  std::vector<bool> listed(graph.id_bound(), false);
  const auto list = [&](NodeId id) {
    if (!listed[index_of(id)]) order.push_back(id);
    listed[index_of(id)] = true;
  };
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    for (const Value& input : graph.node(id).inputs)
      if (input.node != NodeId::none && is_constant(input.node)) list(input.node);
    list(id);
    if (is_constant(id)) continue;
    for (const auto& uses : graph.uses_by_output(id))
      for (const Use& use : uses)
        if (--unmet[index_of(use.node)] == 0) ready.push(use.node);
  }
  if (order.size() != graph.node_count())
    throw_error(ErrorCode::invalid_argument, "the graph has a cycle: ", describe_cycle(graph, unmet),
                "; layers must form a directed acyclic graph");
  return order;
}

}  // namespace terroir::ir
