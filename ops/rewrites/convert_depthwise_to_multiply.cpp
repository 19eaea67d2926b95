#include "ops/rewrites/convolutions.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

/// The convolution's weights where each is all that a channel is multiplied by.
const ir::Constant* scale_of(const ir::Graph& graph, const ir::Node& convolution) {
  const ir::OutputPort& data = graph.port(convolution.inputs[0]);
  const ir::Constant* weights = ir::constant_of(graph, convolution.inputs[1]);
  if (!weights || data.type != element::f32 || weights->view.type != element::f32) return nullptr;
  // Axes that may have no elements are an error of convolutions, not of products.
  if (data.shape.rank().is_dynamic() || data.shape != convolution.outputs[0].shape) return nullptr;
  // [C, 1, 1, 1, ...], or [1, 1, 1, ...]. Products would broadcast one channel to several.
  const int64_t channels = weights->view.dims.empty() ? 0 : weights->view.dims[0];
  if (channels < 1 || weights->view.count() != channels || data.shape[1] != Dimension(channels)) return nullptr;
  return one_tap_sees_each_element(convolution.attrs<ConvolutionAttrs>()) ? weights : nullptr;
}

}  // namespace

ir::Pass convert_depthwise_to_multiply(const ir::OpRegistry& registry) {
  return {"convert_depthwise_to_multiply", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (!is_convolution(node)) continue;
              const ir::Constant* weights = scale_of(graph, node);
              if (!weights) continue;
              ir::Constant scale = *weights;
              scale.view.dims.assign(graph.port(node.inputs[0]).shape.size(), 1);
              scale.view.dims[1] = weights->view.count();
              NewNodes nodes(registry, patch, node);
              const ir::Value value = nodes.constant(std::move(scale), "scale");
              patch.replace({id, 0}, nodes.add("Multiply", nullptr, {node.inputs[0], value}, ""));
            }
          }};
}

}  // namespace terroir::ops
