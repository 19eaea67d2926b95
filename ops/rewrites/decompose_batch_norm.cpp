#include <cmath>

#include "ir/base/aligned_buffer.hpp"
#include "ops/defs/normalization/batch_norm_inference.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

/// An f32 constant of shape [1, C, 1, ...].
ir::Constant channel_constant(const std::vector<double>& values, size_t rank) {
  auto buffer = std::make_shared<AlignedBuffer>(values.size() * sizeof(float));
  auto* data = buffer->as<float>();
  for (size_t i = 0; i < values.size(); ++i) data[i] = static_cast<float>(values[i]);
  ir::Dims dims(rank, 1);
  dims[1] = static_cast<int64_t>(values.size());
  return {{element::f32, std::move(dims), data}, buffer};
}

}  // namespace

ir::Pass decompose_batch_norm(const ir::OpRegistry& registry) {
  const ir::OpSchema& constant = registry.get(ir::kConstType, "opset1");
  const ir::OpSchema& multiply = registry.get("Multiply", "opset1");
  const ir::OpSchema& add = registry.get("Add", "opset1");
  return {"decompose_batch_norm", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (!node.is("BatchNormInference")) continue;
              const BatchNormInputs order = node.schema->opset == "opset1"
                                                ? batch_norm_1_inputs(graph.port(node.inputs[0]).shape.rank(),
                                                                      graph.port(node.inputs[2]).shape.rank())
                                                : kDataFirst;
              const ir::OutputPort& data = graph.port(node.inputs[static_cast<size_t>(order.data)]);
              if (data.type != element::f32 || data.shape.rank().is_dynamic() || data.shape.size() < 2) continue;
              // A product would broadcast one channel to as many as there are parameters; this op must not.
              if (data.shape[1].is_dynamic()) continue;
              std::vector<double> parameters[4];
              const int indices[4] = {order.gamma, order.beta, order.mean, order.variance};
              bool known = true;
              for (int i = 0; i < 4; ++i) {
                const ir::Constant* value = ir::constant_of(graph, node.inputs[static_cast<size_t>(indices[i])]);
                known = known && value;
                if (known) parameters[i] = ir::to_reals(value->view);
              }
              if (!known) continue;
              const double epsilon = node.attrs<BatchNormInferenceAttrs>().epsilon;
              std::vector<double> scale, shift;
              bool finite = true;
              for (size_t c = 0; c < parameters[0].size(); ++c) {
                scale.push_back(parameters[0][c] / std::sqrt(parameters[3][c] + epsilon));
                shift.push_back(parameters[1][c] - parameters[2][c] * scale.back());
                finite = finite && std::isfinite(static_cast<float>(scale.back())) &&
                         std::isfinite(static_cast<float>(shift.back()));
              }
              // What is normalised may be finite all the same.
              if (!finite) continue;
              const size_t rank = data.shape.size();
              const ir::Value scale_value =
                  patch.add_constant(constant, node.name + "/scale", channel_constant(scale, rank));
              const ir::Value shift_value =
                  patch.add_constant(constant, node.name + "/shift", channel_constant(shift, rank));
              const ir::Value scaled =
                  patch.add(multiply, nullptr, {node.inputs[static_cast<size_t>(order.data)], scale_value}, {id},
                            node.name + "/multiply");
              patch.replace({id, 0}, patch.add(add, nullptr, {scaled, shift_value}, {id}));
            }
          }};
}

}  // namespace terroir::ops
