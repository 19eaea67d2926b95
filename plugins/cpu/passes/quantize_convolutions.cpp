#include "plugins/cpu/passes/quantize_convolutions.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "ops/defs/convolution/convolution.hpp"
#include "ops/defs/convolution/convolution_backprop_data.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/nodes/quantized_problem.hpp"
#include "plugins/cpu/passes/byte_values.hpp"
#include "plugins/cpu/passes/multiplied_layers.hpp"

namespace terroir::cpu {
namespace {

// Sums of kernels have 32 bits.
constexpr int64_t kDeepest = std::numeric_limits<int32_t>::max() / (255 * 128);

/// The steps of its weights; null if kernels in bytes cannot compute it.
const ir::Constant* steps_of(const ir::Node& node, const MultipliedLayer& layer, const Quantisation& levels,
                             WeightSteps& steps, const parallel::Arena* arena) {
  if (layer.depth > kDeepest || (levels.by_channel() && (!layer.depthwise || layer.transposed))) return nullptr;
  if (layer.matrix) return steps.get(*layer.weights, layer.outputs, layer.weights_in_rows ? 0 : 1, arena);
  if (layer.transposed) {
    if (!node.is("ConvolutionBackpropData")) return nullptr;
    return steps.get(*layer.weights, layer.outputs, layer.weights->view.count() / layer.inputs / layer.outputs, arena);
  }
  if (layer.depthwise) {
    const std::vector<int64_t>& dilations = node.attrs<ops::ConvolutionAttrs>().dilations;
    if (std::any_of(dilations.begin(), dilations.end(), [](int64_t dilation) { return dilation != 1; })) return nullptr;
  } else if (layer.groups > 1) {
    // Of fewer channels a group the floats are faster.
    const ByteForm form = form_of_bytes(*byte_conv_kernels(active_byte_products()));
    const int64_t least_inputs = form.tiles ? 4 : 8;
    if (layer.inputs < least_inputs ||
        ByteProblem::groups_at_once(layer.groups, layer.inputs, layer.outputs, form) == 0)
      return nullptr;
  }
  return steps.get(*layer.weights, layer.groups * layer.outputs, 0, arena);
}

/// Those of the layer, without a third input: where outputs begin and how many there are, in pads.
std::shared_ptr<const ir::Attributes> attributes_of(const ir::Graph& graph, const ir::Node& node) {
  if (node.inputs.size() < 3) return node.attributes->clone();
  auto attrs = node.attrs<ops::ConvolutionBackpropDataAttrs>();
  const auto dims_of = [](const PartialShape& shape) { return ir::to_dims(shape.to_shape()); };
  const ir::Dims out = dims_of(node.outputs[0].shape);
  const std::vector<int64_t> extents(out.begin() + 2, out.end());
  const ops::ConvGeometry geometry = ops::conv_backprop_geometry(
      attrs, dims_of(graph.port(node.inputs[0]).shape), dims_of(graph.port(node.inputs[1]).shape), false, &extents);
  attrs.auto_pad = ops::AutoPad::explicit_pads;
  attrs.pads_begin.clear();
  attrs.pads_end.clear();
  attrs.output_padding.clear();
  for (const ops::WindowAxis& axis : geometry.axes) {
    const int64_t beyond = (axis.input - 1) * axis.stride + axis.kernel - axis.pad_begin - axis.output;
    attrs.pads_begin.push_back(axis.pad_begin);
    attrs.pads_end.push_back(std::max<int64_t>(beyond, 0));
    attrs.output_padding.push_back(std::max<int64_t>(-beyond, 0));
  }
  return ir::make_attributes_of(std::move(attrs));
}

}  // namespace

ir::Pass quantize_convolutions(const CpuOps& ops, const ir::OpRegistry& registry, WeightSteps& steps,
                               const parallel::Arena* arena) {
  const ir::OpSchema& constant = registry.get(ir::kConstType, "opset1");
  return {"quantize_convolutions", [&ops, &constant, &steps, arena](const ir::Graph& graph, ir::Patch& patch) {
            ByteValues bytes(graph, ops, patch);
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              const std::optional<MultipliedLayer> layer = multiplied_layer(graph, node);
              const Quantisation* const levels = layer ? bytes.find(node.inputs[0]) : nullptr;
              const ir::Constant* const rows = levels ? steps_of(node, *layer, *levels, steps, arena) : nullptr;
              if (!rows) continue;
              QuantizedAttrs attrs{{}, levels->scale, levels->zero, std::nullopt};
              attrs.fused.base = node.schema;
              attrs.fused.base_attributes = attributes_of(graph, node);
              attrs.fused.base_inputs = 2;
              if (layer->matrix) attrs.fused.channel_axis = static_cast<int>(node.outputs[0].shape.size()) - 1;
              const ir::Value steps_of_rows = patch.add_constant(constant, node.name + "/steps", *rows);
              bytes.take({id, 0});
              patch.replace({id, 0}, patch.add(layer->matrix ? ops.quantized_matmul() : ops.quantized_convolution(),
                                               ir::make_attributes_of(std::move(attrs)),
                                               {bytes.get(node.inputs[0]), node.inputs[1], steps_of_rows}, {id}));
            }
            bytes.dequantize_others();
          }};
}

ir::Pass quantize_stores() {
  return {"quantize_stores", [](const ir::Graph& graph, ir::Patch& patch) {
            std::set<ir::NodeId> claimed;  // one set of levels to a layer
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& quantize = graph.node(id);
              if (!is_cpu_op(quantize) || !quantize.is(kQuantizeType)) continue;
              const ir::Node& source = graph.node(quantize.inputs[0].node);
              const auto& levels = quantize.attrs<QuantizeAttrs>();
              // Axis 1 is that of a convolution's outputs, and another one of a product's.
              if (levels.by_channel() && source.is(kQuantizedMatMulType)) continue;
              if (!is_quantized(source) || !claimed.insert(source.id).second) continue;
              QuantizedAttrs attrs = source.attrs<QuantizedAttrs>();
              attrs.store = levels;
              attrs.also_floats = graph.uses(quantize.inputs[0]).size() > 1;
              const bool both = attrs.also_floats;
              const ir::Value stored =
                  patch.add(*source.schema, ir::make_attributes_of(std::move(attrs)), source.inputs, {source.id, id});
              if (both) patch.replace({source.id, 0}, stored);
              patch.replace({id, 0}, both ? ir::Patch::output(stored, 1) : stored);
            }
          }};
}

}  // namespace terroir::cpu
