#include "plugins/cpu/passes/fuse_post_ops.hpp"

#include <algorithm>
#include <set>

#include "ir/graph/order.hpp"
#include "ops/defs/image/interpolate.hpp"
#include "plugins/cpu/passes/byte_values.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/post_op_table.hpp"

namespace terroir::cpu {
namespace {

struct Chain {
  FusedAttrs attrs;
  std::vector<ir::Value> inputs;
  std::vector<ir::NodeId> nodes;        // the base first
  std::optional<ir::NodeId> quantised;  // a FakeQuantize whose bytes are to be the operand at this input
  size_t quantised_input = 0;
};

bool is_contraction(const ir::Node& node) {
  return node.is("Convolution") || node.is("GroupConvolution") || node.is("ConvolutionBackpropData") ||
         node.is("GroupConvolutionBackpropData") || node.is("MatMul") || is_quantized(node) || is_bf16(node) ||
         is_compressed(node);
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
  if (node.is("MatMul") || node.is(kQuantizedMatMulType) || node.is(kBf16MatMulType) || is_compressed(node)) {
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

/// Behind a layer in bytes FakeQuantize is a rounding at its store.
bool append_rounding(const ir::Graph& graph, const ir::Node& base, const ir::Use& use, Chain& chain) {
  const ir::Node& next = graph.node(use.node);
  if (!is_quantized(base) || use.input != 0 || chain.attrs.chain.size() + kRoundingSteps >= kMaxPostOps) return false;
  const auto levels = quantisation_of(graph, next);
  if (!levels || levels->by_channel()) return false;
  const auto steps = rounding_steps(levels->levels, levels->scale[0], levels->zero[0]);
  chain.attrs.chain.insert(chain.attrs.chain.end(), steps.begin(), steps.end());
  chain.nodes.push_back(next.id);
  return true;
}

/// The tensor that the last step adds, as bytes where it is what bytes stand for and the store takes them.
void read_bytes(const ir::Graph& graph, const ir::Node& base, Chain& chain, const std::set<ir::NodeId>& claimed) {
  const std::vector<FusedOp>& steps = chain.attrs.chain;
  if (!is_quantized(base) || byte_store_of(steps).residual != steps.size() - 1) return;
  FusedOp& sum = chain.attrs.chain.back();
  const ir::Value other = chain.inputs[static_cast<size_t>(sum.operand)];
  const ir::Node& source = graph.node(other.node);
  float scale = 0, zero = 0;
  if (source.is(kDequantizeType) && is_cpu_op(source)) {
    const auto& attrs = source.attrs<DequantizeAttrs>();
    scale = attrs.scale;
    zero = attrs.zero;
    chain.inputs[static_cast<size_t>(sum.operand)] = source.inputs[0];
  } else {
    const auto levels = quantisation_of(graph, source);
    if (!levels || levels->by_channel() || graph.uses(other).size() != 1 || claimed.contains(source.id)) return;
    scale = levels->scale[0];
    zero = levels->zero[0];
    chain.quantised = source.id;
    chain.quantised_input = static_cast<size_t>(sum.operand);
  }
  sum.alpha = scale;
  sum.beta = -scale * zero;
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
    if (append_rounding(graph, base, use, chain)) {
      value = {next.id, 0};
      continue;
    }
    int with_step = axis;
    auto step = as_post_op(graph, next, use.input, with_step);
    if (!step || !takes_channels(graph, base, with_step)) break;
    axis = with_step;
    if (step->operand >= 0) {
      chain.inputs.push_back(next.inputs[static_cast<size_t>(step->operand)]);
      step->operand = static_cast<int>(chain.inputs.size()) - 1;
    }
    chain.attrs.chain.push_back(*step);
    read_bytes(graph, base, chain, claimed);
    chain.nodes.push_back(next.id);
    value = {next.id, 0};
  }
  chain.attrs.base = base.schema;
  chain.attrs.base_inputs = static_cast<int>(base.inputs.size());
  chain.attrs.channel_axis = axis >= 0 ? axis : static_cast<int>(base.outputs[0].shape.size()) - 1;
  return chain;
}

/// Of an op that has a chain, longer or not.
template <class Attrs>
std::unique_ptr<ir::Attributes> with_chain(Attrs attrs, Chain& chain) {
  attrs.fused.chain = std::move(chain.attrs.chain);
  return ir::make_attributes_of(std::move(attrs));
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
              const bool has_chain = is_quantized(base) || is_bf16(base) || is_compressed(base);
              const ir::OpSchema* fused = claimed.contains(id) ? nullptr
                                          : has_chain          ? base.schema
                                                               : ops.fused(*base.schema);
              if (!fused || base.outputs.size() != 1 || base.outputs[0].type != element::f32 ||
                  base.outputs[0].shape.is_dynamic() || graph.uses({id, 0}).empty())
                continue;
              if (!is_main_base(base) && !base.is("Interpolate") && !is_elementwise_base(graph, base)) continue;
              Chain chain = follow(graph, base, claimed);
              if (chain.attrs.chain.empty()) continue;
              claimed.insert(chain.nodes.begin(), chain.nodes.end());
              if (chain.quantised) {
                const ir::Node& other = graph.node(*chain.quantised);
                claimed.insert(other.id);
                chain.inputs[chain.quantised_input] =
                    patch.add(ops.quantize(), ir::make_attributes_of(quantisation_of(graph, other)->levels),
                              {other.inputs[0]}, {other.id});
              }
              std::unique_ptr<ir::Attributes> attributes;
              if (is_quantized(base)) {
                attributes = with_chain(base.attrs<QuantizedAttrs>(), chain);
              } else if (is_bf16(base)) {
                attributes = with_chain(base.attrs<Bf16Attrs>(), chain);
              } else if (is_compressed(base)) {
                attributes = with_chain(base.attrs<CompressedAttrs>(), chain);
              } else {
                chain.attrs.base_attributes = base.attributes->clone();
                attributes = ir::make_attributes_of(std::move(chain.attrs));
              }
              patch.replace({chain.nodes.back(), 0},
                            patch.add(*fused, std::move(attributes), std::move(chain.inputs), chain.nodes));
            }
          }};
}

}  // namespace terroir::cpu
