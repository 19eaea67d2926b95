#include <algorithm>
#include <unordered_map>

#include "ir/graph/order.hpp"
#include "ir/schema/attribute_text.hpp"
#include "ir/schema/infer_context.hpp"
#include "ops/defs/movement/concat.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "ops/rewrites/transposes.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

using Order = std::vector<int64_t>;

/// [0, 2, 3, 1] and its kin of 1 to 3 spatial axes.
bool puts_channels_last(const Order& order) {
  if (order.size() < 3 || order.size() > 5 || order.front() != 0 || order.back() != 1) return false;
  for (size_t i = 1; i + 1 < order.size(); ++i)
    if (order[i] != static_cast<int64_t>(i) + 1) return false;
  return true;
}

bool is_elementwise(const ir::Node& node) {
  // A slope of one axis runs along axis 1 of the data, wherever the channels are.
  return node.schema->flags.elementwise && node.outputs.size() == 1 && !node.is("PReLU");
}

bool has_one_element(const PartialShape& shape) {
  return shape.is_static() && std::all_of(shape.begin(), shape.end(), [](const Dimension& d) { return d == 1; });
}

bool is_split(const ir::Node& node) { return node.is("Split") || node.is("VariadicSplit"); }

/// The axis that a Transpose makes `axis` of.
int64_t axis_before(const Order& order, int64_t axis) {
  return order[static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(order.size())))];
}

/// Layers in front of which a Transpose can be moved, as a rule.
bool lets_through(const ir::Node& node) {
  return is_elementwise(node) || node.is("PReLU") || node.is("Concat") || is_split(node) || node.is("Pad");
}

/// Whether every reader of the value can be moved in front of the Transpose that makes it, or cancels it.
bool leaves_nothing_behind(const ir::Graph& graph, ir::Value value) {
  return std::all_of(graph.uses(value).begin(), graph.uses(value).end(), [&](const ir::Use& use) {
    const ir::Node& reader = graph.node(use.node);
    if (reader.is("Concat"))
      return std::all_of(reader.inputs.begin(), reader.inputs.end(), [&](ir::Value other) {
        const ir::Node& producer = graph.node(other.node);
        return producer.is("Transpose") || lets_through(producer);
      });
    return reader.is("Transpose") || lets_through(reader);
  });
}

/// An operand that is no Transpose, as it must be beside values that are not transposed.
struct FixedOperand {
  bool fits = false;
  bool same = false;                  // as it is
  std::optional<ir::Constant> moved;  // the same elements under other extents
};

FixedOperand operand_without(const ir::Graph& graph, ir::Value value, const Order& order) {
  const PartialShape& shape = graph.port(value).shape;
  if (shape.rank().is_dynamic() || shape.size() > order.size()) return {};
  if (has_one_element(shape)) return {.fits = true, .same = true, .moved = {}};
  const ir::Constant* constant = ir::constant_of(graph, value);
  if (!constant) return {};
  ir::Dims aligned(order.size(), 1);
  std::copy_backward(constant->view.dims.begin(), constant->view.dims.end(), aligned.end());
  if (std::count_if(aligned.begin(), aligned.end(), [](int64_t extent) { return extent != 1; }) > 1) return {};
  ir::Constant moved = *constant;
  moved.view.dims.assign(order.size(), 1);
  for (size_t i = 0; i < order.size(); ++i) moved.view.dims[static_cast<size_t>(order[i])] = aligned[i];
  return {.fits = true, .same = false, .moved = std::move(moved)};
}

class Sinking {
 public:
  Sinking(const ir::OpRegistry& registry, const ir::Graph& graph, ir::Patch& patch)
      : constant_(registry.get(ir::kConstType, "opset1")),
        transpose_(registry.get("Transpose", "opset1")),
        graph_(graph),
        patch_(patch) {}

  void run() {
    for (ir::NodeId id : ir::topological_order(graph_)) {
      const ir::Node& node = graph_.node(id);
      if (node.is("Concat"))
        sink_into_concat(node);
      else if (is_split(node))
        sink_into_split(node);
      else if (node.is("Pad"))
        sink_into_pad(node);
      else
        sink_into_elementwise(node);
    }
  }

 private:
  /// A value as a Transpose gives it, or would if it were moved behind the value's node.
  struct Transposed {
    ir::Value before;
    Order order;
  };

  std::optional<Transposed> transposed(ir::Value value) const {
    if (const auto moved = moved_.find(value); moved != moved_.end()) return moved->second;
    const ir::Node& producer = graph_.node(value.node);
    auto order = transpose_order(graph_, producer);
    return order ? std::optional(Transposed{producer.inputs[0], std::move(*order)}) : std::nullopt;
  }

  /// The one order of all Transposes that the node reads.
  std::optional<Order> common_order(const ir::Node& node) const {
    std::optional<Order> common;
    for (const ir::Value& input : node.inputs) {
      const auto source = transposed(input);
      if (!source) continue;
      if (!puts_channels_last(source->order) || (common && *common != source->order) ||
          !leaves_nothing_behind(graph_, input))
        return std::nullopt;
      common = source->order;
    }
    return common;
  }

  /// What the node's output is without the Transposes before it: these move behind.
  void put_behind(const ir::Node& node, int output, ir::Value moved, const Order& order) {
    moved_.emplace(ir::Value{node.id, output}, Transposed{moved, order});
    const ir::Value axes = integers(node, order, "/order");
    patch_.replace({node.id, output},
                   patch_.add(transpose_, nullptr, {moved, axes}, {node.id}, node.name + "/channels_last"));
  }

  ir::Value integers(const ir::Node& node, const std::vector<int64_t>& values, const char* suffix) {
    return patch_.add_constant(constant_, node.name + suffix, integers_constant(values));
  }

  void sink_into_concat(const ir::Node& node) {
    const auto order = common_order(node);
    if (!order) return;
    std::vector<ir::Value> inputs;
    for (const ir::Value& input : node.inputs) {
      const auto source = transposed(input);
      if (!source) return;
      inputs.push_back(source->before);
    }
    const int64_t before = axis_before(*order, node.attrs<ConcatAttrs>().axis);
    put_behind(node, 0,
               patch_.add(*node.schema, ir::make_attributes_of(ConcatAttrs{before}), std::move(inputs), {node.id}),
               *order);
  }

  /// One Transpose becomes one of every part: only where these go on.
  void sink_into_split(const ir::Node& node) {
    const auto source = transposed(node.inputs[0]);
    const auto order = common_order(node);
    const ir::Constant* given = ir::constant_of(graph_, node.inputs[1]);
    if (!source || !order || !given) return;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (!leaves_nothing_behind(graph_, {node.id, static_cast<int>(i)})) return;
    std::vector<ir::Value> inputs = node.inputs;
    inputs[0] = source->before;
    inputs[1] = integers(node, {axis_before(*order, ir::to_integers(given->view).at(0))}, "/axis");
    const ir::Value moved = patch_.add(*node.schema, node.attributes->clone(), std::move(inputs), {node.id});
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const auto output = static_cast<int>(i);
      if (!graph_.uses({node.id, output}).empty()) put_behind(node, output, ir::Patch::output(moved, output), *order);
    }
  }

  void sink_into_pad(const ir::Node& node) {
    const auto source = transposed(node.inputs[0]);
    const auto order = common_order(node);
    if (!source || !order || graph_.uses({node.id, 0}).empty()) return;
    std::vector<ir::Value> inputs = node.inputs;
    inputs[0] = source->before;
    for (size_t side = 1; side <= 2; ++side) {
      const ir::Constant* known = ir::constant_of(graph_, node.inputs[side]);
      if (!known) return;
      const std::vector<int64_t> given = ir::to_integers(known->view);
      std::vector<int64_t> pads(given.size());
      for (size_t i = 0; i < given.size(); ++i) pads[static_cast<size_t>((*order)[i])] = given[i];
      inputs[side] = integers(node, pads, side == 1 ? "/pads_begin" : "/pads_end");
    }
    put_behind(node, 0, patch_.add(*node.schema, node.attributes->clone(), std::move(inputs), {node.id}), *order);
  }

  void sink_into_elementwise(const ir::Node& node) {
    const bool prelu =
        node.is("PReLU") && node.inputs.size() == 2 && has_one_element(graph_.port(node.inputs[1]).shape);
    if ((!is_elementwise(node) && !prelu) || graph_.uses({node.id, 0}).empty()) return;
    const auto order = common_order(node);
    if (!order || ir::broadcasts_from_an_axis(*node.attributes)) return;
    std::vector<std::pair<ir::Value, FixedOperand>> inputs;
    for (const ir::Value& input : node.inputs) {
      if (const auto source = transposed(input))
        inputs.push_back({source->before, {.fits = true, .same = true, .moved = {}}});
      else
        inputs.push_back({input, operand_without(graph_, input, *order)});
      if (!inputs.back().second.fits) return;
    }
    std::vector<ir::Value> values;
    for (auto& [value, operand] : inputs)
      values.push_back(operand.same
                           ? value
                           : patch_.add_constant(constant_, graph_.node(value.node).name, std::move(*operand.moved)));
    const ir::Value moved = patch_.add(*node.schema, node.attributes->clone(), std::move(values), {node.id});
    put_behind(node, 0, moved, *order);
  }

  const ir::OpSchema& constant_;
  const ir::OpSchema& transpose_;
  const ir::Graph& graph_;
  ir::Patch& patch_;
  std::unordered_map<ir::Value, Transposed> moved_;  // nodes of this patch
};

}  // namespace

ir::Pass sink_transposes(const ir::OpRegistry& registry) {
  return {"sink_transposes",
          [&registry](const ir::Graph& graph, ir::Patch& patch) { Sinking(registry, graph, patch).run(); }};
}

}  // namespace terroir::ops
