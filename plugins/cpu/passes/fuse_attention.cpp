#include "plugins/cpu/passes/fuse_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "ops/defs/matrix/matmul.hpp"
#include "ops/defs/sequence/attention.hpp"

namespace terroir::cpu {
namespace {

using Order = std::vector<int64_t>;

struct Operand {
  ir::Value value;
  Order order;
  int64_t groups = 1;  // heads in a row that each matrix stands for
  double factor = 1;   // of all elements
};

struct Match {
  Operand q, k, v;
  std::optional<ir::Value> mask, bias, sink;
  double scale = 1;
  bool causal = false;
  bool forbids = false;
  double forbidden = std::numeric_limits<float>::lowest();
  bool selects = false;
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

std::optional<double> scalar_constant(const ir::Graph& graph, ir::Value value) {
  const ir::Constant* constant = ir::constant_of(graph, value);
  if (!constant || constant->view.type != element::f32 || constant->view.count() != 1) return std::nullopt;
  return static_cast<double>(*constant->view.as<float>());
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

bool is_view(const ir::Node& node) {
  return is_portable(node, "Reshape") || is_portable(node, "Unsqueeze") || is_portable(node, "Squeeze");
}

/// The producer's data input when it is a Broadcast that aligns the last axes.
std::optional<ir::Value> broadcast_value(const ir::Graph& graph, ir::Value value) {
  const ir::Node& node = graph.node(value.node);
  if (!is_portable(node, "Broadcast") || node.inputs.size() > 2 || !graph.port(node.inputs[0]).shape.is_static() ||
      !graph.port(value).shape.is_static())
    return std::nullopt;
  return node.inputs[0];
}

/// When every matrix along `axis` of `value` was repeated for several heads in a row, as Unsqueeze, Broadcast and
/// Reshape do: what they read, of the same rank, and how often.
std::optional<std::pair<ir::Value, int64_t>> repeated_heads(const ir::Graph& graph, ir::Value value, size_t axis) {
  const ir::Node& merge = graph.node(value.node);
  if (!is_view(merge)) return std::nullopt;
  const auto single = broadcast_value(graph, merge.inputs[0]);
  if (!single || !is_view(graph.node(single->node))) return std::nullopt;
  const ir::Value source = graph.node(single->node).inputs[0];
  if (!is_static_f32(graph, source)) return std::nullopt;
  const ir::Dims once = dims_of(graph, source), apart = dims_of(graph, *single);
  const ir::Dims repeated = dims_of(graph, merge.inputs[0]), merged = dims_of(graph, value);
  const size_t rank = merged.size();
  if (once.size() != rank || apart.size() != rank + 1 || repeated.size() != rank + 1 || apart[axis + 1] != 1)
    return std::nullopt;
  const int64_t groups = repeated[axis + 1];
  if (groups < 1) return std::nullopt;
  for (size_t i = 0; i < rank; ++i) {
    const size_t at = i > axis ? i + 1 : i;
    if (apart[at] != once[i] || repeated[at] != once[i] || merged[i] != (i == axis ? groups : 1) * once[i])
      return std::nullopt;
  }
  return {{source, groups}};
}

enum class Role { query, key, value };

/// `value`, with its last two axes exchanged if `swapped`, as an order over a value further up whose last axis stays
/// last; as far up as possible, past what can be left to the step: Transposes, the repetition of keys and values for
/// heads in a row, a factor of queries or keys. Empty when there is none.
std::optional<Operand> operand_of(const ir::Graph& graph, ir::Value value, bool swapped, Role role) {
  const size_t rank = rank_of(graph, value);
  Operand at{value, identity(rank)};
  if (swapped) std::swap(at.order[rank - 1], at.order[rank - 2]);
  std::optional<Operand> found;
  for (;;) {
    if (keeps_last(at.order)) found = at;
    const ir::Node& producer = graph.node(at.value.node);
    if (const auto above = transpose_order(graph, producer)) {
      for (int64_t& axis : at.order) axis = (*above)[static_cast<size_t>(axis)];
      at.value = producer.inputs[0];
    } else if (const auto scaled = role == Role::value ? std::nullopt : scaled_value(graph, producer);
               scaled && graph.uses(at.value).size() == 1 &&
               graph.port(scaled->first).shape == graph.port(at.value).shape) {
      at.factor *= scaled->second;
      at.value = scaled->first;
    } else if (const auto once = role == Role::query || rank < 3 || at.groups != 1
                                     ? std::nullopt
                                     : repeated_heads(graph, at.value, static_cast<size_t>(at.order[rank - 3]))) {
      std::tie(at.value, at.groups) = *once;
    } else {
      return found;
    }
  }
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

/// What a mask was repeated from, as long as that fits too.
ir::Value mask_source(const ir::Graph& graph, ir::Value mask, const ir::Dims& scores) {
  const auto single = broadcast_value(graph, mask);
  return single && fits_as_mask(graph, *single, scores) ? *single : mask;
}

/// Without the ones in front.
ir::Dims proper_dims(const ir::Graph& graph, ir::Value value) {
  ir::Dims dims = dims_of(graph, value);
  dims.erase(dims.begin(), std::find_if(dims.begin(), dims.end(), [](int64_t extent) { return extent != 1; }));
  return dims;
}

/// Whether the node only puts ones in front of the extents, or takes some away.
bool changes_rank_only(const ir::Graph& graph, const ir::Node& node) {
  return is_view(node) && is_static_f32(graph, node.inputs[0]) && is_static_f32(graph, {node.id, 0}) &&
         proper_dims(graph, node.inputs[0]) == proper_dims(graph, {node.id, 0}) &&
         rank_of(graph, node.inputs[0]) >= 2 && rank_of(graph, {node.id, 0}) >= 2;
}

/// q and k of a product of scores.
bool match_scores(const ir::Graph& graph, ir::Value scores, Match& match) {
  const ir::Node& product = graph.node(scores.node);
  if (!is_portable(product, "MatMul") || !is_static_f32(graph, scores)) return false;
  const auto& attrs = product.attrs<ops::MatMulAttrs>();
  const size_t rank = rank_of(graph, scores);
  if (rank < 2 || rank_of(graph, product.inputs[0]) != rank || rank_of(graph, product.inputs[1]) != rank) return false;
  auto q = operand_of(graph, product.inputs[0], attrs.transpose_a, Role::query);
  auto k = operand_of(graph, product.inputs[1], !attrs.transpose_b, Role::key);
  if (!q || !k) return false;
  match.scale *= q->factor * k->factor;
  match.q = std::move(*q);
  match.k = std::move(*k);
  match.nodes.push_back(product.id);
  return true;
}

constexpr int kMostMasks = 2;

/// Upwards from what a softmax reads: two masks that are added, or one that is or selects, then a factor, then the
/// product.
bool match_softmax_input(const ir::Graph& graph, ir::Value value, int masks_allowed, Match& match) {
  if (graph.uses(value).size() != 1) return false;
  const ir::Node& node = graph.node(value.node);
  if (changes_rank_only(graph, node)) {
    if (!match_softmax_input(graph, node.inputs[0], masks_allowed, match)) return false;
    match.nodes.push_back(node.id);
    return true;
  }
  if (const auto scaled = scaled_value(graph, node);
      scaled && graph.port(scaled->first).shape == graph.port(value).shape && graph.uses(scaled->first).size() == 1) {
    match.scale *= scaled->second;
    if (!match_scores(graph, scaled->first, match)) return false;
    match.nodes.push_back(node.id);
    return true;
  }
  const bool selects = is_portable(node, "Select");
  if (masks_allowed < (selects ? kMostMasks : 1) || (!selects && !is_portable(node, "Add")))
    return match_scores(graph, value, match);
  // So low that only masks have it.
  constexpr double kNever = -1e30;
  const ir::Dims scores = dims_of(graph, value);
  for (size_t side = 0; side < 2; ++side) {
    const ir::Value input = node.inputs[side + (selects ? 1 : 0)];
    const ir::Value mask = node.inputs[selects ? 0 : 1 - side];
    const auto fill = selects ? scalar_constant(graph, node.inputs[2 - side]) : kNever;
    if (!fill || !(*fill <= kNever) || graph.port(mask).type != (selects ? element::boolean : element::f32) ||
        !fits_as_mask(graph, mask, scores) || graph.port(input).shape != graph.port(value).shape)
      continue;
    Match attempt = match;
    (match.mask ? attempt.bias : attempt.mask) = mask_source(graph, mask, scores);
    attempt.forbids = selects && side == 1;
    attempt.selects = selects;
    if (selects) attempt.forbidden = *fill;
    if (!match_softmax_input(graph, input, selects ? 0 : masks_allowed - 1, attempt)) continue;
    match = std::move(attempt);
    match.nodes.push_back(node.id);
    return true;
  }
  return false;
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
  if (!match_softmax_input(graph, softmax.inputs[0], kMostMasks, match) ||
      match.q.order.size() != static_cast<size_t>(rank))
    return std::nullopt;
  auto v = operand_of(graph, product.inputs[1], product.attrs<ops::MatMulAttrs>().transpose_b, Role::value);
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
  match.q = *operand_of(graph, node.inputs[0], false, Role::query);
  match.k = *operand_of(graph, node.inputs[1], false, Role::key);
  match.v = *operand_of(graph, node.inputs[2], false, Role::value);
  match.scale *= match.q.factor * match.k.factor;
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
                                        match->sink.has_value(),
                                        match->k.groups,
                                        match->v.groups,
                                        match->forbids,
                                        match->forbidden,
                                        match->selects,
                                        match->bias.has_value()};
              std::vector<ir::Value> inputs = {match->q.value, match->k.value, match->v.value};
              for (const auto& value : {match->mask, match->bias, match->sink})
                if (value) inputs.push_back(*value);
              patch.replace(match->result, patch.add(ops.attention(), ir::make_attributes_of(std::move(attrs)),
                                                     std::move(inputs), std::move(match->nodes)));
            }
          }};
}

}  // namespace terroir::cpu
