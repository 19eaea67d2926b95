#include "plugins/cpu/passes/fuse_attention.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/defs/matrix/matmul.hpp"
#include "ops/defs/sequence/attention.hpp"

namespace terroir::cpu {
namespace {

using Order = std::vector<int64_t>;

struct Operand {
  ir::Value value;
  Order order;
};

struct Match {
  Operand q, k, v;
  std::optional<ir::Value> mask, sink;
  double scale = 1;
  bool causal = false;
  ir::Value result;
  Order result_order;
  std::vector<ir::NodeId> nodes;  // what the step stands for, the one that names it first
};

bool is_portable(const ir::Node& node, const char* type) { return !is_cpu_op(node) && node.is(type); }

bool is_static_f32(const ir::Graph& graph, ir::Value value) {
  const ir::OutputPort& port = graph.port(value);
  return port.type == element::f32 && port.shape.is_static();
}

size_t rank_of(const ir::Graph& graph, ir::Value value) { return graph.port(value).shape.size(); }

ir::Dims dims_of(const ir::Graph& graph, ir::Value value) { return ir::to_dims(graph.port(value).shape.to_shape()); }

Order identity(size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool keeps_last(const Order& order) { return order.back() == static_cast<int64_t>(order.size()) - 1; }

/// The order of a Transpose that is known now.
std::optional<Order> transpose_order(const ir::Graph& graph, const ir::Node& node) {
  if (!is_portable(node, "Transpose")) return std::nullopt;
  const ir::Constant* constant = ir::constant_of(graph, node.inputs[1]);
  if (!constant) return std::nullopt;
  Order order = ir::to_integers(constant->view);
  const auto rank = static_cast<int64_t>(rank_of(graph, node.inputs[0]));
  if (order.empty()) {
    order = identity(static_cast<size_t>(rank));
    std::reverse(order.begin(), order.end());
  }
  for (int64_t& axis : order) axis += axis < 0 ? rank : 0;
  return order;
}

/// `value`, with its last two axes exchanged if `swapped`, as an order over a value further up whose last axis stays
/// last; as far up as possible. Empty when there is none.
std::optional<Operand> operand_of(const ir::Graph& graph, ir::Value value, bool swapped) {
  Order order = identity(rank_of(graph, value));
  if (swapped) std::swap(order[order.size() - 1], order[order.size() - 2]);
  std::optional<Operand> found;
  for (;;) {
    if (keeps_last(order)) found = Operand{value, order};
    const ir::Node& producer = graph.node(value.node);
    const auto above = transpose_order(graph, producer);
    if (!above) return found;
    for (int64_t& axis : order) axis = (*above)[static_cast<size_t>(axis)];
    value = producer.inputs[0];
  }
}

std::optional<double> scalar_constant(const ir::Graph& graph, ir::Value value) {
  const ir::Constant* constant = ir::constant_of(graph, value);
  if (!constant || constant->view.type != element::f32 || constant->view.count() != 1) return std::nullopt;
  return static_cast<double>(*constant->view.as<float>());
}

/// A mask has a value for every source, and broadcasts into scores of these extents without enlarging them; a sink has
/// one for all of them, so that they count as one.
bool fits_as_mask(const ir::Graph& graph, ir::Value mask, const ir::Dims& scores) {
  if (!graph.port(mask).shape.is_static()) return false;
  const ir::Dims dims = dims_of(graph, mask);
  if (dims.empty() || dims.size() > scores.size() || dims.back() != scores.back()) return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1 && dims[i] != scores[i + scores.size() - dims.size()]) return false;
  return true;
}

/// q and k of a product of scores.
bool match_scores(const ir::Graph& graph, ir::Value scores, Match& match) {
  const ir::Node& product = graph.node(scores.node);
  if (!is_portable(product, "MatMul") || !is_static_f32(graph, scores)) return false;
  const auto& attrs = product.attrs<ops::MatMulAttrs>();
  const size_t rank = rank_of(graph, scores);
  if (rank < 2 || rank_of(graph, product.inputs[0]) != rank || rank_of(graph, product.inputs[1]) != rank) return false;
  auto q = operand_of(graph, product.inputs[0], attrs.transpose_a);
  auto k = operand_of(graph, product.inputs[1], !attrs.transpose_b);
  if (!q || !k) return false;
  match.q = std::move(*q);
  match.k = std::move(*k);
  match.nodes.push_back(product.id);
  return true;
}

/// The other input of a Multiply by a constant scalar, or of a Divide by one, and the factor.
std::optional<std::pair<ir::Value, double>> scaled_value(const ir::Graph& graph, const ir::Node& node) {
  if (is_portable(node, "Divide")) {
    if (const auto divisor = scalar_constant(graph, node.inputs[1])) return {{node.inputs[0], 1.0 / *divisor}};
    return std::nullopt;
  }
  if (!is_portable(node, "Multiply")) return std::nullopt;
  for (size_t side = 0; side < 2; ++side)
    if (const auto factor = scalar_constant(graph, node.inputs[1 - side])) return {{node.inputs[side], *factor}};
  return std::nullopt;
}

/// Upwards from what a softmax reads: a mask, then a factor, then the product.
bool match_softmax_input(const ir::Graph& graph, ir::Value value, bool mask_allowed, Match& match) {
  if (graph.uses(value).size() != 1) return false;
  const ir::Node& node = graph.node(value.node);
  if (const auto scaled = scaled_value(graph, node);
      scaled && graph.port(scaled->first).shape == graph.port(value).shape && graph.uses(scaled->first).size() == 1) {
    match.scale = scaled->second;
    if (!match_scores(graph, scaled->first, match)) return false;
    match.nodes.push_back(node.id);
    return true;
  }
  if (mask_allowed && is_portable(node, "Add")) {
    const ir::Dims scores = dims_of(graph, value);
    for (size_t side = 0; side < 2; ++side) {
      const ir::Value mask = node.inputs[1 - side];
      if (!is_static_f32(graph, mask) || !fits_as_mask(graph, mask, scores) ||
          graph.port(node.inputs[side]).shape != graph.port(value).shape)
        continue;
      Match attempt = match;
      attempt.mask = mask;
      if (!match_softmax_input(graph, node.inputs[side], false, attempt)) continue;
      match = std::move(attempt);
      match.nodes.push_back(node.id);
      return true;
    }
    return false;
  }
  return match_scores(graph, value, match);
}

/// A Transpose behind the result, when it is the only reader and keeps the last axis.
void absorb_result_order(const ir::Graph& graph, Match& match) {
  match.result_order = identity(rank_of(graph, match.result));
  if (graph.uses(match.result).size() != 1) return;
  const ir::Node& reader = graph.node(graph.uses(match.result).front().node);
  const auto order = transpose_order(graph, reader);
  if (!order || graph.uses(match.result).front().input != 0 || !keeps_last(*order)) return;
  match.result_order = *order;
  match.result = {reader.id, 0};
  match.nodes.push_back(reader.id);
}

std::optional<Match> match_single_ops(const ir::Graph& graph, const ir::Node& softmax) {
  const ir::Value weights{softmax.id, 0};
  if (!is_static_f32(graph, weights) || rank_of(graph, weights) < 2 || graph.uses(weights).size() != 1)
    return std::nullopt;
  const auto rank = static_cast<int64_t>(rank_of(graph, weights));
  const auto axis = static_cast<int64_t>(ir::number_attribute(*softmax.attributes, "axis"));
  if (axis != rank - 1 && axis != -1) return std::nullopt;
  const ir::Use use = graph.uses(weights).front();
  const ir::Node& product = graph.node(use.node);
  if (!is_portable(product, "MatMul") || use.input != 0 || product.attrs<ops::MatMulAttrs>().transpose_a ||
      rank_of(graph, product.inputs[1]) != static_cast<size_t>(rank) ||
      product.outputs[0].shape.size() != static_cast<size_t>(rank) || product.outputs[0].shape.is_dynamic())
    return std::nullopt;
  Match match;
  if (!match_softmax_input(graph, softmax.inputs[0], true, match)) return std::nullopt;
  auto v = operand_of(graph, product.inputs[1], product.attrs<ops::MatMulAttrs>().transpose_b);
  if (!v) return std::nullopt;
  match.v = std::move(*v);
  match.nodes.push_back(softmax.id);
  match.nodes.push_back(product.id);
  match.result = {product.id, 0};
  return match;
}

std::optional<Match> match_whole_op(const ir::Graph& graph, const ir::Node& node) {
  const ir::Value result{node.id, 0};
  const size_t rank = node.outputs[0].shape.rank().is_static() ? rank_of(graph, result) : 0;
  if (rank < 2 || !is_static_f32(graph, result)) return std::nullopt;
  for (size_t i = 0; i < 3; ++i)
    if (!is_static_f32(graph, node.inputs[i]) || rank_of(graph, node.inputs[i]) != rank) return std::nullopt;
  Match match;
  match.causal = node.attrs<ops::AttentionAttrs>().causal;
  match.scale = 1.0 / std::sqrt(static_cast<double>(dims_of(graph, node.inputs[0]).back()));
  if (node.inputs.size() > 4) {
    const auto given = scalar_constant(graph, node.inputs[4]);
    if (!given) return std::nullopt;
    match.scale = *given;
  }
  ir::Dims scores = dims_of(graph, result);
  if (node.inputs.size() > 5) {
    scores.back() = 1;
    if (!is_static_f32(graph, node.inputs[5]) || !fits_as_mask(graph, node.inputs[5], scores)) return std::nullopt;
    match.sink = node.inputs[5];
  }
  // A mask that is a scalar zero stands for none, so that a scale can follow it.
  if (node.inputs.size() > 3 && !match.causal && scalar_constant(graph, node.inputs[3]) != 0.0) {
    const element::Type type = graph.port(node.inputs[3]).type;
    scores.back() = dims_of(graph, node.inputs[1])[rank - 2];
    if ((type != element::f32 && type != element::boolean) || !fits_as_mask(graph, node.inputs[3], scores))
      return std::nullopt;
    match.mask = node.inputs[3];
  }
  // The mask does not enlarge what the others make.
  const ir::Dims found = dims_of(graph, result);
  for (size_t axis = 0; axis + 2 < rank; ++axis)
    if (found[axis] != 1 && std::none_of(node.inputs.begin(), node.inputs.begin() + 3, [&](ir::Value operand) {
          return dims_of(graph, operand)[axis] == found[axis];
        }))
      return std::nullopt;
  match.q = *operand_of(graph, node.inputs[0], false);
  match.k = *operand_of(graph, node.inputs[1], false);
  match.v = *operand_of(graph, node.inputs[2], false);
  match.nodes = {node.id};
  match.result = result;
  return match;
}

}  // namespace

ir::Pass fuse_attention(const CpuOps& ops) {
  return {"fuse_attention", [&ops](const ir::Graph& graph, ir::Patch& patch) {
            for (ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              std::optional<Match> match;
              if (is_portable(node, "SoftMax"))
                match = match_single_ops(graph, node);
              else if (is_portable(node, "ScaledDotProductAttention"))
                match = match_whole_op(graph, node);
              if (!match) continue;
              absorb_result_order(graph, *match);
              FusedAttentionAttrs attrs{std::move(match->q.order),
                                        std::move(match->k.order),
                                        std::move(match->v.order),
                                        std::move(match->result_order),
                                        match->scale,
                                        match->causal,
                                        match->sink.has_value()};
              std::vector<ir::Value> inputs = {match->q.value, match->k.value, match->v.value};
              for (const auto& value : {match->mask, match->sink})
                if (value) inputs.push_back(*value);
              patch.replace(match->result, patch.add(ops.attention(), ir::make_attributes_of(std::move(attrs)),
                                                     std::move(inputs), std::move(match->nodes)));
            }
          }};
}

}  // namespace terroir::cpu
