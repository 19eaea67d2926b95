#include "plugins/cpu/passes/narrow_products.hpp"

#include <algorithm>
#include <map>

#include "ir/graph/order.hpp"
#include "plugins/cpu/nodes/quantized_problem.hpp"
#include "plugins/cpu/passes/multiplied_layers.hpp"

namespace terroir::cpu {
namespace {

bool multiplies_bf16(const ir::Graph& graph, const ir::Node& node) {
  const std::optional<MultipliedLayer> layer = multiplied_layer(graph, node);
  if (!layer || layer->depthwise) return false;
  if (layer->groups == 1) return true;
  const int64_t at_once = ByteProblem::groups_at_once(layer->groups, layer->inputs, layer->outputs, true, kBf16Bytes);
  return layer->transposed ? at_once == 1 : at_once > 0;
}

/// Whether a use reads numbers of bf16 as well as floats: the data of such a layer, or the tensor it adds.
bool reads_bf16(const ir::Graph& graph, const ir::Use& use, bool by_convolution) {
  const ir::Node& node = graph.node(use.node);
  if (!is_bf16(node) || node.is(kBf16ConvolutionType) != by_convolution) return false;
  if (use.input == 0) return true;
  const std::vector<FusedOp>& chain = node.attrs<Bf16Attrs>().fused.chain;
  const auto residual = byte_store_of(chain).residual;
  return residual && chain[*residual].operand == use.input;
}

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
            std::map<ir::Value, ir::Value> narrow;  // instead of floats
            for (const ir::NodeId id : ir::topological_order(graph)) {
              const ir::Node& node = graph.node(id);
              if (!is_bf16(node)) continue;
              const auto& uses = graph.uses({id, 0});
              const bool stores = !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
                return reads_bf16(graph, use, node.is(kBf16ConvolutionType));
              });
              std::vector<ir::Value> inputs = node.inputs;
              for (ir::Value& input : inputs)
                if (const auto found = narrow.find(input); found != narrow.end()) input = found->second;
              if (!stores && inputs == node.inputs) continue;
              auto attrs = node.attrs<Bf16Attrs>();
              attrs.stores_bf16 = stores;
              const ir::Value made =
                  patch.add(*node.schema, ir::make_attributes_of(std::move(attrs)), std::move(inputs), {id});
              if (stores)
                narrow[{id, 0}] = made;
              else
                patch.replace({id, 0}, made);
            }
          }};
}

}  // namespace terroir::cpu
