#include <bit>
#include <optional>

#include "ir/base/mapped_file.hpp"
#include "ir/base/returned_memory.hpp"
#include "ir/schema/attribute_text.hpp"
#include "ops/rewrites/channel_constants.hpp"
#include "ops/rewrites/convolutions.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

struct ScaleMatch {
  ir::NodeId convolution;
  std::optional<ir::NodeId> add;  // between the convolution and the multiplication
  const float* scale;
  const float* bias;  // of `add`
};

std::optional<ScaleMatch> match(const ir::Graph& graph, const ir::Node& multiply) {
  if (!multiply.is("Multiply") || multiply.outputs[0].type != element::f32 ||
      ir::broadcasts_from_an_axis(*multiply.attributes))
    return std::nullopt;
  const PartialShape& shape = multiply.outputs[0].shape;
  if (shape.rank().is_dynamic() || shape.size() < 3 || shape[1].is_dynamic()) return std::nullopt;
  const int64_t channels = shape[1].get_length();
  for (size_t side = 0; side < 2; ++side) {
    const float* scale = constant_per_channel(graph, multiply.inputs[1 - side], channels, shape.size());
    if (!scale) continue;
    ir::Value source = multiply.inputs[side];
    ScaleMatch found{source.node, std::nullopt, scale, nullptr};
    const ir::Node* producer = &graph.node(source.node);
    if (producer->is("Add") && graph.uses(source).size() == 1 && !ir::broadcasts_from_an_axis(*producer->attributes)) {
      for (size_t i = 0; i < 2 && !found.bias; ++i) {
        found.bias = constant_per_channel(graph, producer->inputs[1 - i], channels, shape.size());
        if (found.bias) source = producer->inputs[i];
      }
      if (!found.bias) continue;
      found.add = producer->id;
      found.convolution = source.node;
      producer = &graph.node(source.node);
    }
    // Constants of a higher rank move the channels to another axis.
    if (is_convolution(*producer) && producer->outputs[0].shape.size() == shape.size() &&
        producer->outputs[0].shape[1] == Dimension(channels) && graph.uses(source).size() == 1 &&
        ir::constant_of(graph, producer->inputs[1]) &&
        ir::constant_of(graph, producer->inputs[1])->view.type == element::f32)
      return found;
  }
  return std::nullopt;
}

/// A copy of `tensor` with run i of its `channels` equal runs multiplied by scale[i]; empty where a number would not be
/// finite, though what is computed with it may be.
std::optional<ir::Constant> scaled(const ir::TensorView& tensor, const float* scale, int64_t channels) {
  auto buffer = allocate_returned(tensor.bytes());
  const float* src = tensor.as<float>();
  auto* dst = static_cast<float*>(buffer.get());
  const int64_t run = channels == 0 ? 0 : tensor.count() / channels;
  for (int64_t c = 0; c < channels; ++c) {
    // As integers, which compilers compare in vectors.
    uint32_t not_finite = 0;
    for (int64_t i = 0; i < run; ++i) {
      constexpr uint32_t kExponent = 0x7f800000;
      dst[c * run + i] = src[c * run + i] * scale[c];
      not_finite |= (std::bit_cast<uint32_t>(dst[c * run + i]) & kExponent) == kExponent ? 1 : 0;
    }
    if (not_finite != 0) return std::nullopt;
  }
  MappedFile::evict(src, tensor.bytes());
  return ir::Constant{{element::f32, tensor.dims, dst}, buffer};
}

}  // namespace

ir::Pass fold_scale_into_convolution(const ir::OpRegistry& registry) {
  const ir::OpSchema& constant = registry.get(ir::kConstType, "opset1");
  const ir::OpSchema& add_schema = registry.get("Add", "opset1");
  return {"fold_scale_into_convolution", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (ir::NodeId id : graph.nodes()) {
              const ir::Node& multiply = graph.node(id);
              const auto found = match(graph, multiply);
              if (!found) continue;
              const ir::Node& conv = graph.node(found->convolution);
              const ir::TensorView& weights = ir::constant_of(graph, conv.inputs[1])->view;
              const int64_t channels = conv.outputs[0].shape[1].get_length();
              ir::Dims bias_dims(conv.outputs[0].shape.size(), 1);
              bias_dims[1] = channels;
              std::optional<ir::Constant> scaled_bias;
              if (found->add) {
                scaled_bias = scaled({element::f32, std::move(bias_dims), found->bias}, found->scale, channels);
                if (!scaled_bias) continue;
              }
              auto scaled_weights = scaled(weights, found->scale, channels);
              if (!scaled_weights) continue;
              const ir::Value new_weights =
                  patch.add_constant(constant, conv.name + "/scaled_weights", std::move(*scaled_weights));
              ir::Value result =
                  patch.add(*conv.schema, conv.attributes->clone(), {conv.inputs[0], new_weights},
                            found->add ? std::vector<ir::NodeId>{conv.id} : std::vector<ir::NodeId>{conv.id, id});
              if (found->add) {
                const ir::Value bias =
                    patch.add_constant(constant, multiply.name + "/scaled_bias", std::move(*scaled_bias));
                result = patch.add(add_schema, nullptr, {result, bias}, {*found->add, id});
              }
              patch.replace({id, 0}, result);
            }
          }};
}

}  // namespace terroir::ops
