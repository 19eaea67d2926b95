#include <algorithm>
#include <unordered_map>

#include "ir/graph/order.hpp"
#include "ir/schema/attribute_text.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "ops/rewrites/transposes.hpp"

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

/// Whether every reader of the value can be moved in front of the Transpose that makes it, or cancels it.
bool leaves_nothing_behind(const ir::Graph& graph, ir::Value value) {
  return std::all_of(graph.uses(value).begin(), graph.uses(value).end(), [&](const ir::Use& use) {
    const ir::Node& reader = graph.node(use.node);
    return is_elementwise(reader) || reader.is("PReLU") || reader.is("Transpose");
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
    for (ir::NodeId id : ir::topological_order(graph_)) sink_into(graph_.node(id));
  }

 private:
  /// A value as a Transpose gives it, or would if it were moved behind the value's node.
  struct Transposed {
    ir::Value before;
    Order order;
  };

  std::optional<Transposed> transposed(ir::Value value) const {
    if (const auto moved = moved_.find(value.node); moved != moved_.end()) return moved->second;
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

  void sink_into(const ir::Node& node) {
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
    moved_.emplace(node.id, Transposed{moved, *order});
    const ir::Value axes = patch_.add_constant(constant_, node.name + "/order", integers_constant(*order));
    patch_.replace({node.id, 0},
                   patch_.add(transpose_, nullptr, {moved, axes}, {node.id}, node.name + "/channels_last"));
  }

  const ir::OpSchema& constant_;
  const ir::OpSchema& transpose_;
  const ir::Graph& graph_;
  ir::Patch& patch_;
  std::unordered_map<ir::NodeId, Transposed> moved_;  // nodes of this patch
};

}  // namespace

ir::Pass sink_transposes(const ir::OpRegistry& registry) {
  return {"sink_transposes",
          [&registry](const ir::Graph& graph, ir::Patch& patch) { Sinking(registry, graph, patch).run(); }};
}

}  // namespace terroir::ops
