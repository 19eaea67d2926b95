#include "ops/defs/normalization/mvn.hpp"

#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/normalization_pattern.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {

ir::Pass collapse_mvn(const ir::OpRegistry& registry) {
  const ir::OpSchema& constant = registry.get(ir::kConstType, "opset1");
  const ir::OpSchema& mvn = registry.get("MVN", "opset6");
  return {"collapse_mvn", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              const auto found = match_normalization(graph, node);
              if (!found || !found->centered) continue;
              const ir::Value axes = patch.add_constant(constant, node.name + "/axes", integers_constant(found->axes));
              Mvn6Attrs attrs{
                  found->eps, true,
                  found->eps_outside_sqrt ? reference::EpsPlace::outside_sqrt : reference::EpsPlace::inside_sqrt};
              patch.replace({id, 0}, patch.add(mvn, ir::make_attributes_of(attrs), {found->x, axes}, found->nodes));
            }
          }};
}

}  // namespace terroir::ops
