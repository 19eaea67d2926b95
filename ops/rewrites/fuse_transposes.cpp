#include <numeric>

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

ir::Pass fuse_transposes(const ir::OpRegistry& registry) {
  const ir::OpSchema& constant = registry.get(ir::kConstType, "opset1");
  const ir::OpSchema& transpose = registry.get("Transpose", "opset1");
  return {"fuse_transposes", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (ir::NodeId id : graph.nodes()) {
              const ir::Node& outer = graph.node(id);
              const auto second = transpose_order(graph, outer);
              if (!second || graph.uses({id, 0}).empty()) continue;
              const ir::Node& inner = graph.node(outer.inputs[0].node);
              const auto first = transpose_order(graph, inner);
              // A chain goes from its beginning, one link a round, so that no replacement leads to a replaced value.
              if (!first || transpose_order(graph, graph.node(inner.inputs[0].node))) continue;
              std::vector<int64_t> order(first->size());
              for (size_t i = 0; i < order.size(); ++i) order[i] = (*first)[static_cast<size_t>((*second)[i])];
              if (is_identity(order)) {
                patch.replace({id, 0}, inner.inputs[0]);
                continue;
              }
              const ir::Value axes = patch.add_constant(constant, outer.name + "/order", integers_constant(order));
              patch.replace({id, 0}, patch.add(transpose, nullptr, {inner.inputs[0], axes}, {id, inner.id}));
            }
          }};
}

}  // namespace terroir::ops
