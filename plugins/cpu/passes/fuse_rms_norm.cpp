#include "plugins/cpu/passes/fuse_rms_norm.hpp"

#include "ops/rewrites/normalization_pattern.hpp"

namespace terroir::cpu {
namespace {

/// The Multiply by one constant per element of a row that alone reads `value`, and that constant.
std::optional<std::pair<ir::NodeId, ir::Value>> scale_behind(const ir::Graph& graph, ir::Value value) {
  if (graph.uses(value).size() != 1) return std::nullopt;
  const ir::Use use = graph.uses(value).front();
  const ir::Node& multiply = graph.node(use.node);
  if (is_cpu_op(multiply) || !multiply.is("Multiply") || multiply.outputs[0].shape != graph.port(value).shape)
    return std::nullopt;
  const ir::Value other = multiply.inputs[static_cast<size_t>(1 - use.input)];
  const ir::Constant* constant = ir::constant_of(graph, other);
  if (!constant || constant->view.type != element::f32 || constant->view.dims.empty()) return std::nullopt;
  const int64_t n = multiply.outputs[0].shape.to_shape().back();
  if (constant->view.dims.back() != n || constant->view.count() != n) return std::nullopt;
  return {{multiply.id, other}};
}

}  // namespace

ir::Pass fuse_rms_norm(const CpuOps& ops) {
  return {"fuse_rms_norm", [&ops](const ir::Graph& graph, ir::Patch& patch) {
            for (ir::NodeId id : graph.nodes()) {
              const auto found = ops::match_normalization(graph, graph.node(id));
              if (!found || found->centered || graph.port(found->x).shape.is_dynamic()) continue;
              const auto rank = static_cast<int64_t>(graph.port(found->x).shape.size());
              if (found->axes != std::vector<int64_t>{rank - 1}) continue;
              ir::Value result{id, 0};
              std::vector<ir::Value> inputs = {found->x};
              std::vector<ir::NodeId> nodes = found->nodes;
              if (const auto scale = scale_behind(graph, result)) {
                result = {scale->first, 0};
                inputs.push_back(scale->second);
                nodes.push_back(scale->first);
              }
              patch.replace(result, patch.add(ops.rms_norm(),
                                              ir::make_attributes_of(RmsNormAttrs{found->eps, found->eps_outside_sqrt}),
                                              std::move(inputs), std::move(nodes)));
            }
          }};
}

}  // namespace terroir::cpu
