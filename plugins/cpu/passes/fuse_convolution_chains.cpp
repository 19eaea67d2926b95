#include "plugins/cpu/passes/fuse_convolution_chains.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "ops/defs/reduction/reduce.hpp"
#include "plugins/cpu/nodes/channel_gate.hpp"
#include "plugins/cpu/nodes/convolution_chain.hpp"
#include "plugins/cpu/nodes/gated_convolution.hpp"
#include "plugins/cpu/nodes/joined_convolution.hpp"
#include "plugins/cpu/nodes/pooled_convolution.hpp"
#include "plugins/cpu/passes/layouts.hpp"
#include "plugins/cpu/post_op_chain.hpp"

namespace terroir::cpu {
namespace {

bool has_run_time_operands(const ir::Node& node) {
  const std::vector<FusedOp>& chain = chain_of(node);
  return std::any_of(chain.begin(), chain.end(),
                     [](const FusedOp& op) { return op.operand >= 0 && op.mode == OperandMode::tensor; });
}

/// A node that is an op of IR or its fused twin, with one f32 result of known extents.
bool is_op(const ir::Node& node, std::string_view type) {
  return node.is(type) && (is_fused(node) || ir::opset_number(node.schema->opset) > 0) &&
         node.outputs[0].type == element::f32 && node.outputs[0].shape.is_static();
}

class ChainFinder {
 public:
  ChainFinder(const ir::Graph& graph, Isa isa, WeightsCache& weights, bool accuracy)
      : graph_(graph), isa_(isa), weights_(weights), accuracy_(accuracy) {}

  /// The stages of the chain around a depthwise convolution; fewer than two: none.
  std::vector<ir::NodeId> around(ir::NodeId id, const std::set<ir::NodeId>& claimed) const {
    const ir::Node& depthwise = graph_.node(id);
    if (!is_op(depthwise, "GroupConvolution") || !can_continue_chain(context(depthwise))) return {};
    std::vector<ir::NodeId> stages = {id};
    const ir::Value source = depthwise.inputs[0];
    const ir::Node& first = graph_.node(source.node);
    if (is_op(first, "Convolution") && !claimed.contains(first.id) && graph_.uses(source).size() == 1 &&
        !has_run_time_operands(first) && can_begin_chain(context(first)))
      stages.insert(stages.begin(), first.id);
    const auto& uses = graph_.uses({id, 0});
    if (uses.size() == 1 && uses.front().input == 0 && !has_run_time_operands(depthwise)) {
      const ir::Node& last = graph_.node(uses.front().node);
      if (is_op(last, "Convolution") && !claimed.contains(last.id) && can_end_chain(context(last)) && pays(depthwise))
        stages.push_back(last.id);
    }
    return stages;
  }

  /// The gate in front of a convolution, and the convolution; or none.
  std::vector<ir::NodeId> behind_gate(ir::NodeId id, const std::set<ir::NodeId>& claimed) const {
    const ir::Node& convolution = graph_.node(id);
    if (!is_op(convolution, "Convolution") || claimed.contains(id)) return {};
    const ir::Value source = convolution.inputs[0];
    const ir::Node& gate = graph_.node(source.node);
    if (!is_op(gate, "Multiply") || is_fused(gate) || graph_.uses(source).size() != 1 ||
        gate_input(context(gate)) < 0 || gate.inputs[0] == gate.inputs[1] || !can_take_gate(context(convolution)))
      return {};
    return {gate.id, id};
  }

  /// The transposed convolution and the Concat in front of a convolution, and the convolution; or none.
  std::vector<ir::NodeId> behind_join(ir::NodeId id, const std::set<ir::NodeId>& claimed) const {
    const ir::Node& convolution = graph_.node(id);
    if (!is_op(convolution, "Convolution") || claimed.contains(id) || has_run_time_operands(convolution)) return {};
    const ir::Value source = convolution.inputs[0];
    const ir::Node& concat = graph_.node(source.node);
    if (!is_op(concat, "Concat") || graph_.uses(source).size() != 1 || !can_join_rows(context(concat))) return {};
    for (const ir::Value& part : concat.inputs) {
      const ir::Node& transposed = graph_.node(part.node);
      if (is_op(transposed, "ConvolutionBackpropData") && graph_.uses(part).size() == 1 &&
          !has_run_time_operands(transposed) && can_make_rows(context(transposed)) &&
          can_read_rows(context(convolution)))
        return {transposed.id, concat.id, id};
    }
    return {};
  }

  /// The convolution in front of a pooling, and the pooling; or none.
  std::vector<ir::NodeId> in_front_of_pool(ir::NodeId id, const std::set<ir::NodeId>& claimed) const {
    const ir::Node& pool = graph_.node(id);
    if (!is_op(pool, "MaxPool") || is_fused(pool) || !can_pool_rows(context(pool))) return {};
    const ir::Value source = pool.inputs[0];
    const ir::Node& convolution = graph_.node(source.node);
    if (!is_op(convolution, "Convolution") || claimed.contains(convolution.id) || graph_.uses(source).size() != 1 ||
        has_run_time_operands(convolution) || !can_make_pooled_rows(context(convolution)))
      return {};
    return {convolution.id, id};
  }

  /// The ReduceMean over the spatial axes of a depthwise convolution's result.
  ir::NodeId mean_of(ir::NodeId id) const {
    if (!graph_.node(id).is("GroupConvolution")) return ir::NodeId::none;
    const int64_t rank = static_cast<int64_t>(graph_.node(id).outputs[0].shape.size());
    for (const ir::Use& use : graph_.uses({id, 0})) {
      const ir::Node& mean = graph_.node(use.node);
      if (!is_op(mean, "ReduceMean") || use.input != 0 || !mean.attrs<ops::ReduceAttrs>().keep_dims) continue;
      const ir::Constant* axes = ir::constant_of(graph_, mean.inputs[1]);
      if (!axes) continue;
      std::set<int64_t> reduced, spatial;
      for (const int64_t axis : ir::to_integers(axes->view)) reduced.insert(axis < 0 ? axis + rank : axis);
      for (int64_t axis = 2; axis < rank; ++axis) spatial.insert(axis);
      if (reduced == spatial) return mean.id;
    }
    return ir::NodeId::none;
  }

 private:
  NodeContext context(const ir::Node& node) const {
    NodeContext context = make_context(graph_, node, isa_, weights_);
    context.accuracy = accuracy_;
    return context;
  }

  /// Whether threads that share the rows of three stages do better than those that share channels first: few rows make
  /// uneven shares, and much is made twice. No matter how many threads: layouts around chains, and so bits, depend on
  /// it.
  bool pays(const ir::Node& depthwise) const {
    constexpr size_t kManyRows = 28;
    return depthwise.outputs[0].shape.to_shape()[2] >= kManyRows;
  }

  const ir::Graph& graph_;
  Isa isa_;
  WeightsCache& weights_;
  bool accuracy_;
};

/// `mean`: the ReduceMean that becomes the chain's second output, or none.
ir::Value add_chain(const ir::Graph& graph, const CpuOps& ops, std::vector<ir::NodeId> nodes, ir::NodeId mean,
                    ir::Patch& patch) {
  ConvolutionChainAttrs attrs;
  attrs.mean = mean != ir::NodeId::none;
  std::vector<ir::Value> inputs;
  for (size_t s = 0; s < nodes.size(); ++s) {
    const ir::Node& node = graph.node(nodes[s]);
    ConvolutionChainAttrs::Stage stage{node.schema, node.attributes->clone(), node.name, {}};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool previous = s > 0 && node.inputs[i] == ir::Value{nodes[s - 1], 0};
      stage.inputs.push_back(previous ? ConvolutionChainAttrs::kPrevious : static_cast<int>(inputs.size()));
      if (!previous) inputs.push_back(node.inputs[i]);
    }
    attrs.stages.push_back(std::move(stage));
  }
  if (attrs.mean) nodes.push_back(mean);
  // It is called after the convolution.
  if (graph.node(nodes.back()).is("Convolution") && !graph.node(nodes.front()).is("Convolution"))
    std::rotate(nodes.begin(), nodes.end() - 1, nodes.end());
  return patch.add(ops.convolution_chain(), ir::make_attributes_of(std::move(attrs)), std::move(inputs),
                   std::move(nodes));
}

}  // namespace

ir::Pass fuse_convolution_chains(const CpuOps& ops, Isa isa, WeightsCache& weights, bool accuracy) {
  return {"fuse_convolution_chains", [&ops, isa, &weights, accuracy](const ir::Graph& graph, ir::Patch& patch) {
            const ChainFinder finder(graph, isa, weights, accuracy);
            std::set<ir::NodeId> claimed;
            for (ir::NodeId id : graph.nodes()) {
              const std::vector<ir::NodeId> nodes = finder.around(id, claimed);
              if (nodes.size() < 2) continue;
              claimed.insert(nodes.begin(), nodes.end());
              const ir::NodeId mean = finder.mean_of(nodes.back());
              const ir::Value chain = add_chain(graph, ops, nodes, mean, patch);
              patch.replace({nodes.back(), 0}, chain);
              if (mean != ir::NodeId::none) patch.replace({mean, 0}, ir::Patch::output(chain, 1));
            }
            for (ir::NodeId id : graph.nodes()) {
              std::vector<ir::NodeId> nodes = finder.behind_gate(id, claimed);
              if (nodes.empty()) nodes = finder.behind_join(id, claimed);
              if (nodes.empty()) nodes = finder.in_front_of_pool(id, claimed);
              if (nodes.empty()) continue;
              claimed.insert(nodes.begin(), nodes.end());
              patch.replace({id, 0}, add_chain(graph, ops, nodes, ir::NodeId::none, patch));
            }
          }};
}

}  // namespace terroir::cpu
