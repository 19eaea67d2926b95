#include <unordered_map>

#include "ir/graph/order.hpp"
#include "ops/rewrites/evaluate.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

using Folded = std::unordered_map<ir::Value, ir::Constant>;

constexpr int64_t kMaxFoldedElements = int64_t{1} << 28;

bool can_fold(const ir::Node& node) {
  if (!node.schema->flags.pure || !node.schema->reference || node.constant || !node.bodies.empty() || node.is("Result"))
    return false;
  for (const ir::OutputPort& port : node.outputs) {
    if (port.type.is_dynamic() || port.type == element::string || port.shape.is_dynamic()) return false;
    if (shape_size(port.shape.to_shape()) > static_cast<size_t>(kMaxFoldedElements)) return false;
  }
  return true;
}

/// The node's inputs as views where all are known; empty optional otherwise.
std::optional<std::vector<ir::TensorView>> known_inputs(const ir::Graph& graph, const ir::Node& node,
                                                        const Folded& folded) {
  std::vector<ir::TensorView> views;
  for (const ir::Value& input : node.inputs) {
    const ir::OutputPort& port = graph.port(input);
    if (node.is("ShapeOf") && port.shape.is_static()) {
      views.push_back({port.type, ir::to_dims(port.shape.to_shape()), nullptr});
    } else if (const ir::Constant* constant = ir::constant_of(graph, input)) {
      views.push_back(constant->view);
    } else if (auto found = folded.find(input); found != folded.end()) {
      views.push_back(found->second.view);
    } else {
      return std::nullopt;
    }
  }
  return views;
}

}  // namespace

ir::Pass fold_constants(const ir::OpRegistry& registry) {
  const ir::OpSchema& const_schema = registry.get(ir::kConstType, "opset1");
  return {"fold_constants", [&const_schema](const ir::Graph& graph, ir::Patch& patch) {
            Folded folded;
            for (ir::NodeId id : ir::topological_order(graph)) {
              const ir::Node& node = graph.node(id);
              if (!can_fold(node) || node.inputs.empty()) continue;
              const auto inputs = known_inputs(graph, node, folded);
              if (!inputs) continue;
              try {
                std::vector<ir::Constant> values = evaluate(node, *inputs);
                for (size_t i = 0; i < values.size(); ++i)
                  folded.emplace(ir::Value{id, static_cast<int32_t>(i)}, std::move(values[i]));
              } catch (const Exception&) {
                // Left to run time, where the error names the layer and the request that met it.
              }
            }
            for (ir::NodeId id : graph.nodes()) {
              for (size_t output = 0; output < graph.node(id).outputs.size(); ++output) {
                const ir::Value value{id, static_cast<int32_t>(output)};
                const auto found = folded.find(value);
                if (found == folded.end()) continue;
                bool read_outside = false;
                for (const ir::Use& use : graph.uses(value)) read_outside |= !folded.contains({use.node, 0});
                if (!read_outside) continue;
                const std::string& name = graph.node(id).name;
                patch.replace(value, patch.add_constant(const_schema, name, std::move(found->second)));
              }
            }
          }};
}

}  // namespace terroir::ops
