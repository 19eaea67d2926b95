#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "ir/graph/order.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "ops/rewrites/transposes.hpp"

namespace terroir::ops {

std::optional<std::vector<int64_t>> transpose_order(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Transpose") || graph.port(node.inputs[0]).shape.rank().is_dynamic()) return std::nullopt;
  auto order = ir::constant_integers(graph, node.inputs[1]);
  if (order && order->empty()) {  // as specified: all axes in reverse
    order->resize(graph.port(node.inputs[0]).shape.size());
    std::iota(order->rbegin(), order->rend(), 0);
  }
  return order;
}

bool is_identity(const std::vector<int64_t>& order) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int64_t>(i)) return false;
  return true;
}

namespace {

/// Transposes one behind the other, seen from the last one.
struct Chain {
  ir::Value beginning;  // what the first one reads
  std::vector<int64_t> axes;
  size_t length = 1;
};

Chain joined(const Chain& before, const std::vector<int64_t>& order) {
  Chain chain{before.beginning, order, before.length + 1};
  for (int64_t& axis : chain.axes) axis = before.axes[static_cast<size_t>(axis)];
  return chain;
}

std::vector<ir::NodeId> links_of(const ir::Graph& graph, ir::NodeId last, size_t length) {
  std::vector<ir::NodeId> links = {last};
  while (links.size() < length) links.push_back(graph.node(links.back()).inputs[0].node);
  return links;
}

/// By other nodes than Transposes, which read the beginning of their chain instead.
bool is_read_by_others(const ir::Graph& graph, ir::NodeId id) {
  const auto& uses = graph.uses({id, 0});
  return std::any_of(uses.begin(), uses.end(),
                     [&](const ir::Use& use) { return !transpose_order(graph, graph.node(use.node)); });
}

}  // namespace

ir::Pass fuse_transposes(const ir::OpRegistry& registry) {
  const ir::OpSchema& constant = registry.get(ir::kConstType, "opset1");
  const ir::OpSchema& transpose = registry.get("Transpose", "opset1");
  return {"fuse_transposes", [&](const ir::Graph& graph, ir::Patch& patch) {
            std::unordered_map<ir::NodeId, Chain> chains;
            for (ir::NodeId id : ir::topological_order(graph)) {
              const ir::Node& node = graph.node(id);
              const auto order = transpose_order(graph, node);
              if (!order) continue;
              const auto before = chains.find(node.inputs[0].node);
              Chain chain = before != chains.end() ? joined(before->second, *order) : Chain{node.inputs[0], *order};
              const auto& [beginning, axes, length] = chains.emplace(id, std::move(chain)).first->second;
              if (length == 1 || !is_read_by_others(graph, id)) continue;
              if (is_identity(axes)) {
                patch.replace({id, 0}, beginning);
                continue;
              }
              const ir::Value target = patch.add_constant(constant, node.name + "/order", integers_constant(axes));
              patch.replace({id, 0}, patch.add(transpose, nullptr, {beginning, target}, links_of(graph, id, length)));
            }
          }};
}

}  // namespace terroir::ops
