#include "plugins/cpu/passes/narrow_products.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ir/graph/order.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/nodes/quantized_problem.hpp"
#include "plugins/cpu/passes/moved_values.hpp"
#include "plugins/cpu/passes/multiplied_layers.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

bool multiplies_bf16(const ir::Graph& graph, const ir::Node& node) {
  const std::optional<MultipliedLayer> layer = multiplied_layer(graph, node);
  if (!layer || layer->depthwise) return false;
  // Of windows that are too tall for more than a row of outputs at once most is copied for a few taps.
  const int64_t channels = round_up(ir::to_dims(graph.port(node.inputs[0]).shape.to_shape())[1], kByteBlock);
  if (layer->spreads && layer->window * channels * kBf16Bytes > cache_sizes().l2 / 4) return false;
  if (layer->groups == 1) return true;
  const int64_t at_once = ByteProblem::groups_at_once(layer->groups, layer->inputs, layer->outputs, kBf16Form);
  return layer->transposed ? at_once == 1 : at_once > 0;
}

/// Floats of depthwise layers that are made of numbers of bf16, or into such, some rows at a time.
bool converts_rows(const ir::Graph& graph, const ir::Node& node) {
  if (is_bf16(node) || is_quantized(node) || base_schema(node).type != "GroupConvolution" ||
      (is_cpu_op(node) && !is_fused(node)))
    return false;
  const ir::OutputPort& data = graph.port(node.inputs[0]);
  const ir::Constant* const weights = ir::constant_of(graph, node.inputs[1]);
  if (!weights || weights->view.type != element::f32 || data.type != element::f32 || data.shape.is_dynamic() ||
      node.outputs.size() != 1 || node.outputs[0].type != element::f32 || node.outputs[0].shape.is_dynamic())
    return false;
  const ir::Dims& taps = weights->view.dims;
  const ir::Dims image = ir::to_dims(data.shape.to_shape()), result = ir::to_dims(node.outputs[0].shape.to_shape());
  if (image.size() != 4 || taps[1] != 1 || taps[2] != 1 || ir::element_count(image) == 0 ||
      ir::element_count(result) == 0 || image[2] == 1 || result[2] == 1)
    return false;
  for (const int64_t dilation : ir::attributes_as<ops::ConvolutionAttrs>(base_attributes(node)).dilations)
    if (dilation != 1) return false;
  if (is_fused(node))
    for (const FusedOp& op : node.attrs<FusedAttrs>().chain)
      if (op.mode == OperandMode::tensor) return false;
  // Of such large rows not even those of one output row would stay in L2.
  const int64_t positions = (taps[3] + 1) * std::max(image[3], result[3]);
  return positions * kBf16Block * static_cast<int64_t>(sizeof(float)) <= cache_sizes().l2 / 2;
}

/// Layers whose results can be numbers of bf16, and what moves these on to other such layers.
class NarrowValues {
 public:
  explicit NarrowValues(const ir::Graph& graph) : graph_(graph), order_(ir::topological_order(graph)) {
    for (const ir::NodeId id : order_)
      if (is_bf16(graph_.node(id)) || moves_narrow(graph_.node(id)) || converts_rows(graph_, graph_.node(id)))
        narrow_.insert(id);
    for (size_t count = 0; count != narrow_.size();) {
      count = narrow_.size();
      for (auto id = order_.rbegin(); id != order_.rend(); ++id)
        if (narrow_.contains(*id) && !stays_narrow(graph_.node(*id))) narrow_.erase(*id);
    }
  }
  const std::vector<ir::NodeId>& order() const { return order_; }
  bool contains(ir::NodeId id) const { return narrow_.contains(id); }

 private:
  /// Whether values that it moves come from such layers alone, as far as those in front of it are known.
  bool moves_narrow(const ir::Node& node) const {
    const size_t moved = is_cpu_op(node) ? 0 : moved_inputs_in_blocks(graph_, node);
    return moved > 0 && std::all_of(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(moved),
                                    [this](ir::Value input) {
                                      const ir::Node& source = graph_.node(input.node);
                                      return narrow_.contains(input.node) && !source.is(kBf16MatMulType);
                                    });
  }
  bool stays_narrow(const ir::Node& node) const {
    if (!is_bf16(node) && !moves_narrow(node) && !converts_rows(graph_, node)) return false;
    bool read = false;
    for (int output = 0; output < static_cast<int>(node.outputs.size()); ++output)
      for (const ir::Use& use : graph_.uses({node.id, output})) {
        if (!reads_narrow(use, !node.is(kBf16MatMulType))) return false;
        read = true;
      }
    return read;
  }
  /// The data of a layer, the tensor it adds, or what is moved.
  bool reads_narrow(const ir::Use& use, bool in_blocks) const {
    const ir::Node& node = graph_.node(use.node);
    if (converts_rows(graph_, node)) return in_blocks && use.input == 0;
    if (!is_bf16(node))
      return in_blocks && narrow_.contains(node.id) &&
             static_cast<size_t>(use.input) < moved_inputs_in_blocks(graph_, node);
    if (node.is(kBf16ConvolutionType) != in_blocks) return false;
    if (use.input == 0) return true;
    const std::vector<FusedOp>& chain = node.attrs<Bf16Attrs>().fused.chain;
    const auto residual = byte_store_of(chain, false).residual;
    return residual && chain[*residual].operand == use.input;
  }

  const ir::Graph& graph_;
  std::vector<ir::NodeId> order_;
  std::set<ir::NodeId> narrow_;
};

/// The node as the base of another.
FusedAttrs base_of(const ir::Node& node) {
  if (is_fused(node)) return node.attrs<FusedAttrs>();
  FusedAttrs base;
  base.base = node.schema;
  base.base_attributes = node.attributes->clone();
  base.base_inputs = static_cast<int>(node.inputs.size());
  return base;
}

}  // namespace

ir::Pass narrow_products(const CpuOps& ops) {
  return {"narrow_products", [&ops](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (!multiplies_bf16(graph, node)) continue;
              Bf16Attrs attrs{base_of(node)};
              const bool is_matmul = node.is("MatMul");
              if (is_matmul) attrs.fused.channel_axis = static_cast<int>(node.outputs[0].shape.size()) - 1;
              patch.replace({id, 0}, patch.add(is_matmul ? ops.bf16_matmul() : ops.bf16_convolution(),
                                               ir::make_attributes_of(std::move(attrs)), node.inputs, {id}));
            }
          }};
}

ir::Pass narrow_stores(const CpuOps& ops) {
  return {"narrow_stores", [&ops](const ir::Graph& graph, ir::Patch& patch) {
            const NarrowValues values(graph);
            std::map<ir::Value, ir::Value> narrow;  // instead of floats
            for (const ir::NodeId id : values.order()) {
              const ir::Node& node = graph.node(id);
              const bool stores = values.contains(id);
              const bool converts = converts_rows(graph, node);
              if (!is_bf16(node) && !converts && !stores) continue;
              std::vector<ir::Value> inputs = node.inputs;
              for (ir::Value& input : inputs)
                if (const auto found = narrow.find(input); found != narrow.end()) input = found->second;
              const bool stored = node.outputs[0].type == element::bf16;
              if (stores == stored && inputs == node.inputs) continue;
              std::unique_ptr<ir::Attributes> attributes = node.attributes->clone();
              if (is_bf16(node) || converts) {
                Bf16Attrs attrs = is_bf16(node) ? node.attrs<Bf16Attrs>() : Bf16Attrs{base_of(node)};
                attrs.stores_bf16 = stores;
                attributes = ir::make_attributes_of(std::move(attrs));
              }
              const ir::Value made = patch.add(converts ? ops.bf16_convolution() : *node.schema, std::move(attributes),
                                               std::move(inputs), {id});
              if (!stores) patch.replace({id, 0}, made);
              for (int output = 0; stores && output < static_cast<int>(node.outputs.size()); ++output)
                narrow[{id, output}] = ir::Patch::output(made, output);
            }
          }};
}

}  // namespace terroir::cpu
