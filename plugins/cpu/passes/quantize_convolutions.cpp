#include "plugins/cpu/passes/quantize_convolutions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "ir/schema/infrastructure.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "ops/defs/quantization/fake_quantize.hpp"

namespace terroir::cpu {
namespace {

/// A FakeQuantize as bytes and what these stand for: scale * (q - zero).
struct Quantisation {
  QuantizeAttrs levels;
  float scale, zero;
};

std::optional<Quantisation> quantisation_of(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("FakeQuantize") || is_cpu_op(node) || node.outputs[0].type != element::f32) return std::nullopt;
  const int64_t levels = node.attrs<ops::FakeQuantizeAttrs>().levels;
  if (levels > 256) return std::nullopt;
  std::array<float, 4> limits{};
  for (size_t i = 0; i < limits.size(); ++i) {
    const ir::Constant* limit = ir::constant_of(graph, node.inputs[i + 1]);
    if (!limit || limit->view.count() != 1) return std::nullopt;
    limits[i] = *limit->view.as<float>();
  }
  const auto [input_low, input_high, low, high] = limits;
  const float scale = (high - low) / static_cast<float>(levels - 1);
  Quantisation found{{input_low, input_high, levels}, scale, -low / scale};
  if (!(input_low < input_high) || !(scale > 0) || !std::isfinite(scale) || !std::isfinite(found.zero) ||
      !std::isfinite(found.levels.steps()))
    return std::nullopt;
  return found;
}

/// Convolution, GroupConvolution or MatMul, with or without a chain.
bool takes_bytes(const ir::Node& node) {
  return (node.is("Convolution") || node.is("GroupConvolution") || node.is("MatMul")) &&
         (is_fused(node) || ir::opset_number(node.schema->opset) > 0);
}

// Sums of kernels have 32 bits, and so have their tables of places in an image.
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kDeepest = kMost / (255 * 128);

/// The steps of its weights; null if kernels in bytes cannot compute it.
const ir::Constant* steps_of_matmul(const ir::Node& node, const ir::Constant& weights, const ir::Dims& data,
                                    WeightSteps& steps, const parallel::Arena* arena) {
  const ir::Attributes& attributes = base_attributes(node);
  const ir::Dims& dims = weights.view.dims;
  if (dims.size() != 2 || data.size() < 2 || ir::number_attribute(attributes, "transpose_a") != 0) return nullptr;
  const bool transposed = ir::number_attribute(attributes, "transpose_b") != 0;
  constexpr int64_t kAtOnce = 4;
  if (data.back() % kAtOnce != 0 || data.back() > kDeepest) return nullptr;
  return steps.get(weights, transposed ? dims[0] : dims[1], !transposed, arena);
}

const ir::Constant* steps_of(const ir::Graph& graph, const ir::Node& node, WeightSteps& steps,
                             const parallel::Arena* arena) {
  const ir::OutputPort& data = graph.port(node.inputs[0]);
  const ir::Constant* weights = ir::constant_of(graph, node.inputs[1]);
  if (!weights || weights->view.type != element::f32 || weights->view.count() == 0 || data.shape.is_dynamic() ||
      node.outputs[0].shape.is_dynamic() || node.outputs[0].type != element::f32)
    return nullptr;
  const ir::Dims& dims = weights->view.dims;
  const ir::Dims image = ir::to_dims(data.shape.to_shape());
  if (ir::element_count(image) == 0) return nullptr;
  if (node.is("MatMul")) return steps_of_matmul(node, *weights, image, steps, arena);
  const bool grouped = base_schema(node).type == "GroupConvolution";
  const int64_t groups = grouped ? dims[0] : 1, outputs = grouped ? dims[1] : dims[0],
                inputs = grouped ? dims[2] : dims[1], depth = weights->view.count() / (groups * outputs);
  constexpr int64_t kBlock = 16;
  const bool depthwise = grouped && outputs == 1 && inputs == 1;
  const std::vector<int64_t>& dilations = ir::attributes_as<ops::ConvolutionAttrs>(base_attributes(node)).dilations;
  if (depthwise && std::any_of(dilations.begin(), dilations.end(), [](int64_t dilation) { return dilation != 1; }))
    return nullptr;
  // Of windows that reach beyond the image on both sides few taps count, but all of their rows would be copied.
  for (size_t axis = 0; axis < dilations.size(); ++axis) {
    const int64_t taps = dims[dims.size() - dilations.size() + axis];
    if (dilations[axis] != 1 && (taps - 1) * dilations[axis] >= image[axis + 2]) return nullptr;
  }
  if (groups > 1 && !depthwise && (outputs % kBlock != 0 || inputs % kBlock != 0)) return nullptr;
  const int64_t padded = (image[1] + kBlock - 1) / kBlock * kBlock;
  if (depth > kDeepest || ir::element_count(image) / image[0] / image[1] > kMost / padded) return nullptr;
  return steps.get(*weights, groups * outputs, false, arena);
}

FusedAttrs as_fused(const ir::Node& node) {
  if (is_fused(node)) return node.attrs<FusedAttrs>();
  FusedAttrs attrs;
  attrs.base = node.schema;
  attrs.base_attributes = node.attributes->clone();
  attrs.base_inputs = static_cast<int>(node.inputs.size());
  return attrs;
}

}  // namespace

ir::Pass quantize_convolutions(const CpuOps& ops, const ir::OpRegistry& registry, WeightSteps& steps,
                               const parallel::Arena* arena) {
  const ir::OpSchema& constant = registry.get(ir::kConstType, "opset1");
  return {"quantize_convolutions", [&ops, &constant, &steps, arena](const ir::Graph& graph, ir::Patch& patch) {
            // What reads one value through the same levels reads the same bytes.
            std::map<std::tuple<ir::NodeId, int, float, float, int64_t>, ir::Value> bytes;
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (!takes_bytes(node)) continue;
              const ir::Node& source = graph.node(node.inputs[0].node);
              const auto found = quantisation_of(graph, source);
              if (!found) continue;
              const ir::Constant* const rows = steps_of(graph, node, steps, arena);
              if (!rows) continue;
              const ir::Value x = source.inputs[0];
              const QuantizeAttrs& levels = found->levels;
              const auto [known, is_new] =
                  bytes.try_emplace({x.node, x.output, levels.low, levels.high, levels.levels}, ir::Value{});
              if (is_new) known->second = patch.add(ops.quantize(), ir::make_attributes_of(levels), {x}, {source.id});
              QuantizedAttrs attrs{as_fused(node), found->scale, found->zero, std::nullopt};
              // The steps come between the inputs of the base op and the operands of its chain.
              for (FusedOp& op : attrs.fused.chain) op.operand += op.operand >= 0 ? 1 : 0;
              std::vector<ir::Value> inputs = node.inputs;
              inputs[0] = known->second;
              inputs.insert(inputs.begin() + kQuantizedSteps,
                            patch.add_constant(constant, node.name + "/steps", *rows));
              patch.replace({id, 0}, patch.add(node.is("MatMul") ? ops.quantized_matmul() : ops.quantized_convolution(),
                                               ir::make_attributes_of(std::move(attrs)), std::move(inputs), {id}));
            }
          }};
}

ir::Pass quantize_stores() {
  return {"quantize_stores", [](const ir::Graph& graph, ir::Patch& patch) {
            std::set<ir::NodeId> claimed;  // one set of levels to a layer
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& quantize = graph.node(id);
              if (!is_cpu_op(quantize) || !quantize.is(kQuantizeType)) continue;
              const ir::Node& source = graph.node(quantize.inputs[0].node);
              if (!is_quantized(source) || !claimed.insert(source.id).second) continue;
              QuantizedAttrs attrs = source.attrs<QuantizedAttrs>();
              attrs.store = quantize.attrs<QuantizeAttrs>();
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
