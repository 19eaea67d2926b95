#include "plugins/cpu/passes/quantize_convolutions.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "ir/schema/infrastructure.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/nodes/quantized_problem.hpp"
#include "plugins/cpu/passes/byte_values.hpp"

namespace terroir::cpu {
namespace {

/// Convolution, GroupConvolution or MatMul.
bool takes_bytes(const ir::Node& node) {
  return (node.is("Convolution") || node.is("GroupConvolution") || node.is("MatMul")) &&
         ir::opset_number(node.schema->opset) > 0;
}

// Sums of kernels have 32 bits, and so have their tables of places in an image.
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kDeepest = kMost / (255 * 128);

/// The steps of its weights; null if kernels in bytes cannot compute it.
const ir::Constant* steps_of_matmul(const ir::Node& node, const ir::Constant& weights, const ir::Dims& data,
                                    WeightSteps& steps, const parallel::Arena* arena) {
  const ir::Attributes& attributes = *node.attributes;
  const ir::Dims& dims = weights.view.dims;
  if (dims.size() != 2 || data.size() < 2 || ir::number_attribute(attributes, "transpose_a") != 0) return nullptr;
  const bool transposed = ir::number_attribute(attributes, "transpose_b") != 0;
  if (data.back() > kDeepest) return nullptr;
  return steps.get(weights, transposed ? dims[0] : dims[1], !transposed, arena);
}

const ir::Constant* steps_of(const ir::Graph& graph, const ir::Node& node, const Quantisation& levels,
                             WeightSteps& steps, const parallel::Arena* arena) {
  const ir::OutputPort& data = graph.port(node.inputs[0]);
  const ir::Constant* weights = ir::constant_of(graph, node.inputs[1]);
  if (!weights || weights->view.type != element::f32 || weights->view.count() == 0 || data.shape.is_dynamic() ||
      node.outputs[0].shape.is_dynamic() || node.outputs[0].type != element::f32)
    return nullptr;
  const ir::Dims& dims = weights->view.dims;
  const ir::Dims image = ir::to_dims(data.shape.to_shape());
  if (ir::element_count(image) == 0) return nullptr;
  if (levels.by_channel() && !node.is("GroupConvolution")) return nullptr;
  if (node.is("MatMul")) return steps_of_matmul(node, *weights, image, steps, arena);
  const bool grouped = node.is("GroupConvolution");
  const int64_t groups = grouped ? dims[0] : 1, outputs = grouped ? dims[1] : dims[0],
                inputs = grouped ? dims[2] : dims[1], depth = weights->view.count() / (groups * outputs);
  constexpr int64_t kBlock = 16;
  const bool depthwise = grouped && outputs == 1 && inputs == 1;
  const std::vector<int64_t>& dilations = node.attrs<ops::ConvolutionAttrs>().dilations;
  if (depthwise && std::any_of(dilations.begin(), dilations.end(), [](int64_t dilation) { return dilation != 1; }))
    return nullptr;
  // Of windows that reach beyond the image on both sides few taps count, but all of their rows would be copied.
  for (size_t axis = 0; axis < dilations.size(); ++axis) {
    const int64_t taps = dims[dims.size() - dilations.size() + axis];
    if (dilations[axis] != 1 && (taps - 1) * dilations[axis] >= image[axis + 2]) return nullptr;
  }
  if (levels.by_channel() && !depthwise) return nullptr;
  // Of fewer channels a group the floats are faster.
  const int64_t least_inputs = active_byte_products() == ByteProducts::amx ? 4 : 8;
  if (groups > 1 && !depthwise &&
      (inputs < least_inputs || ByteProblem::groups_at_once(groups, inputs, outputs, false) == 0))
    return nullptr;
  const int64_t padded = (image[1] + kBlock - 1) / kBlock * kBlock;
  if (depth > kDeepest || ir::element_count(image) / image[0] / image[1] > kMost / padded) return nullptr;
  return steps.get(*weights, groups * outputs, false, arena);
}

}  // namespace

ir::Pass quantize_convolutions(const CpuOps& ops, const ir::OpRegistry& registry, WeightSteps& steps,
                               const parallel::Arena* arena) {
  const ir::OpSchema& constant = registry.get(ir::kConstType, "opset1");
  return {"quantize_convolutions", [&ops, &constant, &steps, arena](const ir::Graph& graph, ir::Patch& patch) {
            ByteValues bytes(graph, ops, patch);
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (!takes_bytes(node)) continue;
              const Quantisation* const levels = bytes.find(node.inputs[0]);
              const ir::Constant* const rows = levels ? steps_of(graph, node, *levels, steps, arena) : nullptr;
              if (!rows) continue;
              QuantizedAttrs attrs{{}, levels->scale, levels->zero, std::nullopt};
              attrs.fused.base = node.schema;
              attrs.fused.base_attributes = node.attributes->clone();
              attrs.fused.base_inputs = 2;
              const bool is_matmul = node.is("MatMul");
              if (is_matmul) attrs.fused.channel_axis = static_cast<int>(node.outputs[0].shape.size()) - 1;
              const ir::Value steps_of_rows = patch.add_constant(constant, node.name + "/steps", *rows);
              bytes.take({id, 0});
              patch.replace({id, 0}, patch.add(is_matmul ? ops.quantized_matmul() : ops.quantized_convolution(),
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
