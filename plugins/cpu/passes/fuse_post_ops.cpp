#include "plugins/cpu/passes/fuse_post_ops.hpp"

#include <algorithm>
#include <set>

#include "ir/graph/order.hpp"
#include "ops/defs/image/interpolate.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/post_op_table.hpp"

namespace terroir::cpu {
namespace {

struct Chain {
  FusedAttrs attrs;
  std::vector<ir::Value> inputs;
  std::vector<ir::NodeId> nodes;  // the base first
};

bool is_contraction(const ir::Node& node) {
  return node.is("Convolution") || node.is("GroupConvolution") || node.is("ConvolutionBackpropData") ||
         node.is("GroupConvolutionBackpropData") || node.is("MatMul");
}

/// Ops with a store of their own, where a chain costs no pass over memory.
bool is_main_base(const ir::Node& node) {
  return is_contraction(node) || node.is("MVN") || node.is("GroupNormalization");
}

/// Whether a node enlarges images, by kernels that take chains. Row by row, which pays for whole vectors of channels
/// and rows that are not few: measured, a chain of its own is up to 17 times as fast on 3 channels last.
bool enlarges_images(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Interpolate") || is_cpu_op(node) || node.schema->opset == "opset1" ||
      node.outputs[0].type != element::f32)
    return false;
  const PartialShape &from = graph.port(node.inputs[0]).shape, &to = node.outputs[0].shape;
  if (from.is_dynamic() || to.is_dynamic() || to.size() != 4 || to[0] != from[0] || to[1] != from[1]) return false;
  const auto& attrs = node.attrs<ops::InterpolateAttrs>();
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  if (!std::all_of(attrs.pads_begin.begin(), attrs.pads_begin.end(), is_zero) ||
      !std::all_of(attrs.pads_end.begin(), attrs.pads_end.end(), is_zero))
    return false;
  constexpr int64_t kWholeVectors = 16, kLeastPixels = 1024;
  if (to[1].get_length() % kWholeVectors != 0 || to[2].get_length() * to[3].get_length() < kLeastPixels) return false;
  const bool larger = to[2].get_length() > from[2].get_length() && to[3].get_length() > from[3].get_length();
  return larger && (attrs.mode == ops::ResampleMode::nearest || attrs.mode == ops::ResampleMode::linear ||
                    attrs.mode == ops::ResampleMode::linear_onnx);
}

/// Whether an elementwise node can be the base of a chain: it must be a step itself, with data at some input.
bool is_elementwise_base(const ir::Graph& graph, const ir::Node& node) {
  for (int input = 0; input < static_cast<int>(std::min<size_t>(node.inputs.size(), 2)); ++input) {
    int axis = -1;
    if (as_post_op(graph, node, input, axis)) return true;
  }
  return false;
}

/// -1 as long as no per-channel operand has said which axis; contractions know theirs.
int channel_axis_of(const ir::Graph& graph, const ir::Node& node) {
  if (node.is("MatMul")) {
    // The columns; a product with a vector has a single one, which is no axis of the result.
    const auto rank = static_cast<int>(node.outputs[0].shape.size());
    return graph.port(node.inputs[1]).shape.size() == 1 ? rank : rank - 1;
  }
  if (is_contraction(node) || node.is("GroupNormalization") || node.is("Interpolate")) return 1;
  if (node.is("MVN")) return -1;
  int axis = -1;
  for (int input = 0; input < static_cast<int>(std::min<size_t>(node.inputs.size(), 2)); ++input)
    if (as_post_op(graph, node, input, axis)) break;
  return axis;
}

/// Whether the base has a kernel for per-channel operands along `axis`; -1: there are none.
bool takes_channels(const ir::Graph& graph, const ir::Node& base, int axis) {
  if (axis < 0 || !base.is("MVN") || base.inputs.size() < 2) return true;
  const auto axes = ir::constant_integers(graph, base.inputs[1]);
  if (!axes) return false;
  const auto rank = static_cast<int64_t>(base.outputs[0].shape.size());
  std::set<int64_t> normalised;
  for (const int64_t a : *axes) normalised.insert(a < 0 ? a + rank : a);
  const auto count = static_cast<int64_t>(normalised.size());
  const bool last_ones = !normalised.empty() && *normalised.begin() == rank - count && *normalised.rbegin() == rank - 1;
  return last_ones || normalised == std::set<int64_t>{axis};
}

Chain follow(const ir::Graph& graph, const ir::Node& base, const std::set<ir::NodeId>& claimed) {
  Chain chain;
  chain.inputs = base.inputs;
  chain.nodes = {base.id};
  int axis = channel_axis_of(graph, base);
  ir::Value value{base.id, 0};
  // One step is kept free for the base of an elementwise chain, which becomes a step itself.
  while (chain.attrs.chain.size() + 1 < kMaxPostOps && graph.uses(value).size() == 1) {
    const ir::Use use = graph.uses(value).front();
    const ir::Node& next = graph.node(use.node);
    if (claimed.contains(next.id)) break;
    int with_step = axis;
    auto step = as_post_op(graph, next, use.input, with_step);
    if (!step || !takes_channels(graph, base, with_step)) break;
    axis = with_step;
    if (step->operand >= 0) {
      chain.inputs.push_back(next.inputs[static_cast<size_t>(step->operand)]);
      step->operand = static_cast<int>(chain.inputs.size()) - 1;
    }
    chain.attrs.chain.push_back(*step);
    chain.nodes.push_back(next.id);
    value = {next.id, 0};
  }
  chain.attrs.base = base.schema;
  chain.attrs.base_inputs = static_cast<int>(base.inputs.size());
  chain.attrs.channel_axis = axis >= 0 ? axis : static_cast<int>(base.outputs[0].shape.size()) - 1;
  return chain;
}

}  // namespace

ir::Pass fuse_post_ops(const CpuOps& ops, ChainBases which) {
  return {"fuse_post_ops", [&ops, which](const ir::Graph& graph, ir::Patch& patch) {
            std::vector<ir::NodeId> order = ir::topological_order(graph);
            // Contractions first, the later one first: of the two sides of a residual Add the later one has the other's
            // result at hand. Then enlarged images, likewise. Elementwise chains from their first op on.
            std::vector<ir::NodeId> bases;
            if (which != ChainBases::elementwise) {
              for (auto it = order.rbegin(); it != order.rend(); ++it)
                if (is_main_base(graph.node(*it))) bases.push_back(*it);
              for (auto it = order.rbegin(); it != order.rend(); ++it)
                if (enlarges_images(graph, graph.node(*it))) bases.push_back(*it);
            }
            if (which != ChainBases::with_own_store)
              for (ir::NodeId id : order)
                if (!is_main_base(graph.node(id)) && !graph.node(id).is("Interpolate")) bases.push_back(id);
            std::set<ir::NodeId> claimed;
            for (ir::NodeId id : bases) {
              const ir::Node& base = graph.node(id);
              const ir::OpSchema* fused = claimed.contains(id) ? nullptr : ops.fused(*base.schema);
              if (!fused || base.outputs.size() != 1 || base.outputs[0].type != element::f32 ||
                  base.outputs[0].shape.is_dynamic() || graph.uses({id, 0}).empty())
                continue;
              if (!is_main_base(base) && !base.is("Interpolate") && !is_elementwise_base(graph, base)) continue;
              Chain chain = follow(graph, base, claimed);
              if (chain.attrs.chain.empty()) continue;
              claimed.insert(chain.nodes.begin(), chain.nodes.end());
              chain.attrs.base_attributes = base.attributes->clone();
              patch.replace({chain.nodes.back(), 0}, patch.add(*fused, ir::make_attributes_of(std::move(chain.attrs)),
                                                               std::move(chain.inputs), chain.nodes));
            }
          }};
}

}  // namespace terroir::cpu
