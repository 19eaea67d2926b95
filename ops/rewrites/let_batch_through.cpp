#include <algorithm>

#include "ops/defs/shape/reshape.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

/// The target with 0 for its first extent, if that is the first extent of data and nothing else comes to mean another
/// thing by special_zero.
std::optional<std::vector<int64_t>> open_target(const ir::Graph& graph, const ir::Node& reshape, Targets which) {
  const auto numbers = ir::constant_integers(graph, reshape.inputs[1]);
  const PartialShape& data = graph.port(reshape.inputs[0]).shape;
  if (!numbers || numbers->empty() || numbers->front() <= 0) return std::nullopt;
  if (data.rank().is_dynamic() || data.size() == 0 || data[0] != Dimension(numbers->front())) return std::nullopt;
  const auto has = [&](int64_t number) {
    return std::find(numbers->begin(), numbers->end(), number) != numbers->end();
  };
  if (which == Targets::without_computed && has(-1)) return std::nullopt;
  if (has(0) && !reshape.attrs<ReshapeAttrs>().special_zero) return std::nullopt;
  std::vector<int64_t> open = *numbers;
  open.front() = 0;
  return open;
}

}  // namespace

size_t let_batch_through(ir::Graph& graph, const ir::OpRegistry& registry, Targets targets) {
  const ir::OpSchema& constant = registry.get(ir::kConstType, "opset1");
  size_t count = 0;
  for (const ir::NodeId id : graph.nodes()) {
    ir::Node& node = graph.node(id);
    for (ir::Body& body : node.bodies) count += let_batch_through(*body.graph, registry, targets);
    if (!node.is("Reshape")) continue;
    const auto open = open_target(graph, node, targets);
    if (!open) continue;
    node.attributes = ir::make_attributes_of(ReshapeAttrs{.special_zero = true});
    const ir::NodeId target = graph.add_constant(constant, node.name + "/any_batch", integers_constant(*open));
    const ir::Value as_written = node.inputs[1];
    graph.set_input({id, 1}, {target, 0});
    if (graph.uses(as_written).empty()) graph.erase(as_written.node);
    ++count;
  }
  return count;
}

}  // namespace terroir::ops
