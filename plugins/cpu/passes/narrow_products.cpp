#include "plugins/cpu/passes/narrow_products.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ir/graph/order.hpp"
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
  const int64_t at_once = ByteProblem::groups_at_once(layer->groups, layer->inputs, layer->outputs, true, kBf16Bytes);
  return layer->transposed ? at_once == 1 : at_once > 0;
}

/// Layers whose results can be numbers of bf16, and what moves these on to other such layers.
class NarrowValues {
 public:
  explicit NarrowValues(const ir::Graph& graph) : graph_(graph), order_(ir::topological_order(graph)) {
    for (const ir::NodeId id : order_)
      if (is_bf16(graph_.node(id)) || moves_narrow(graph_.node(id))) narrow_.insert(id);
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
    if (!is_bf16(node) && !moves_narrow(node)) return false;
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

}  // namespace

ir::Pass narrow_products(const CpuOps& ops) {
  return {"narrow_products", [&ops](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (!multiplies_bf16(graph, node)) continue;
              Bf16Attrs attrs;
              attrs.fused.base = node.schema;
              attrs.fused.base_attributes = node.attributes->clone();
              attrs.fused.base_inputs = static_cast<int>(node.inputs.size());
              const bool is_matmul = node.is("MatMul");
              if (is_matmul) attrs.fused.channel_axis = static_cast<int>(node.outputs[0].shape.size()) - 1;
              patch.replace({id, 0}, patch.add(is_matmul ? ops.bf16_matmul() : ops.bf16_convolution(),
                                               ir::make_attributes_of(std::move(attrs)), node.inputs, {id}));
            }
          }};
}

ir::Pass narrow_stores() {
  return {"narrow_stores", [](const ir::Graph& graph, ir::Patch& patch) {
            const NarrowValues values(graph);
            std::map<ir::Value, ir::Value> narrow;  // instead of floats
            for (const ir::NodeId id : values.order()) {
              const ir::Node& node = graph.node(id);
              const bool stores = values.contains(id);
              if (!is_bf16(node) && !stores) continue;
              std::vector<ir::Value> inputs = node.inputs;
              for (ir::Value& input : inputs)
                if (const auto found = narrow.find(input); found != narrow.end()) input = found->second;
              const bool stored = node.outputs[0].type == element::bf16;
              if (stores == stored && inputs == node.inputs) continue;
              std::unique_ptr<ir::Attributes> attributes = node.attributes->clone();
              if (is_bf16(node)) {
                auto attrs = node.attrs<Bf16Attrs>();
                attrs.stores_bf16 = stores;
                attributes = ir::make_attributes_of(std::move(attrs));
              }
              const ir::Value made = patch.add(*node.schema, std::move(attributes), std::move(inputs), {id});
              if (!stores) patch.replace({id, 0}, made);
              for (int output = 0; stores && output < static_cast<int>(node.outputs.size()); ++output)
                narrow[{id, output}] = ir::Patch::output(made, output);
            }
          }};
}

}  // namespace terroir::cpu
