#include <algorithm>
#include <unordered_map>

#include "ir/graph/node_sets.hpp"
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
Order channels_last(size_t rank) {
  Order order(rank, 1);
  order.front() = 0;
  for (size_t i = 1; i + 1 < rank; ++i) order[i] = static_cast<int64_t>(i) + 1;
  return order;
}

bool puts_channels_last(const Order& order) {
  return order.size() >= 3 && order.size() <= 5 && order == channels_last(order.size());
}

bool is_elementwise(const ir::Node& node) {
  // A slope of one axis runs along axis 1 of the data, wherever the channels are.
  return node.schema->flags.elementwise && node.outputs.size() == 1 && !node.is("PReLU");
}

bool are_ones(PartialShape::const_iterator begin, PartialShape::const_iterator end) {
  return std::all_of(begin, end, [](const Dimension& d) { return d == 1; });
}

/// Whether each image of a tensor of so many axes meets one element, wherever its channels are; one image or many, or
/// an image would have other bits alone.
bool has_one_element(const PartialShape& shape, size_t rank) {
  if (shape.rank().is_dynamic()) return false;
  const bool of_each_image = shape.size() == rank && rank > 0;
  return are_ones(shape.begin() + (of_each_image ? 1 : 0), shape.end());
}

bool is_split(const ir::Node& node) { return node.is("Split") || node.is("VariadicSplit"); }

/// The axis that a Transpose makes `axis` of.
int64_t axis_before(const Order& order, int64_t axis) {
  return order[static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(order.size())))];
}

/// An operand that is no Transpose, as it must be beside values that are not transposed.
struct FixedOperand {
  bool fits = false;
  std::optional<ir::Constant> moved;  // the same elements under other extents; none: as it is
};

FixedOperand operand_without(const ir::Graph& graph, ir::Value value, const Order& order) {
  const PartialShape& shape = graph.port(value).shape;
  if (shape.rank().is_dynamic() || shape.size() > order.size()) return {};
  if (has_one_element(shape, order.size())) return {.fits = true, .moved = {}};
  const ir::Constant* constant = ir::constant_of(graph, value);
  if (!constant) return {};
  ir::Dims aligned(order.size(), 1);
  std::copy_backward(constant->view.dims.begin(), constant->view.dims.end(), aligned.end());
  if (std::count_if(aligned.begin(), aligned.end(), [](int64_t extent) { return extent != 1; }) > 1) return {};
  ir::Constant moved = *constant;
  moved.view.dims.assign(order.size(), 1);
  for (size_t i = 0; i < order.size(); ++i) moved.view.dims[static_cast<size_t>(order[i])] = aligned[i];
  return {.fits = true, .moved = std::move(moved)};
}

class Sinking {
 public:
  Sinking(const ir::OpRegistry& registry, const ir::Graph& graph, ir::Patch& patch)
      : constant_(registry.get(ir::kConstType, "opset1")),
        transpose_(registry.get("Transpose", "opset1")),
        graph_(graph),
        patch_(patch),
        axes_(graph.id_bound()),
        held_(graph.id_bound()),
        exposed_(graph.id_bound()),
        crowded_(graph.id_bound()) {}

  void run() {
    const std::vector<ir::NodeId> nodes = ir::topological_order(graph_);
    for (ir::NodeId id : nodes) axes_[ir::index_of(id)] = axes_of(graph_.node(id));
    for (ir::NodeId id : nodes)
      if (!moves(id) && !graph_.node(id).is("Transpose")) pending_.push_back(id);
    settle();
    find_crowded(nodes);
    for (ir::NodeId id : nodes)
      if (exposed_[ir::index_of(id)]) keep_in_crowd(id);
    settle();
    for (ir::NodeId id : nodes)
      if (moves(id)) sink_into(graph_.node(id));
  }

 private:
  uint8_t axes(ir::Value value) const { return axes_[ir::index_of(value.node)]; }
  bool moves(ir::NodeId id) const { return axes_[ir::index_of(id)] != 0 && !graph_.node(id).is("Transpose"); }

  /// What `axes_` says of the node if the other readers of its operands move too.
  uint8_t axes_of(const ir::Node& node) const {
    if (node.is("Transpose")) {
      const auto order = transpose_order(graph_, node);
      return order && puts_channels_last(*order) ? static_cast<uint8_t>(order->size()) : uint8_t{0};
    }
    uint8_t common = 0;
    for (const ir::Value& input : node.inputs) {
      const uint8_t given = axes(input);
      if (given != 0 && common != 0 && given != common) return 0;
      if (given != 0) common = given;
    }
    return common != 0 && fits(node, channels_last(common)) ? common : uint8_t{0};
  }

  /// Whether the operands that are not transposed let the node stand in front of the Transposes of the others.
  bool fits(const ir::Node& node, const Order& order) const {
    const auto& uses = graph_.uses_by_output(node.id);
    if (std::all_of(uses.begin(), uses.end(), [](const auto& readers) { return readers.empty(); })) return false;
    const auto is_constant = [&](size_t input) { return ir::constant_of(graph_, node.inputs[input]) != nullptr; };
    if (node.is("Concat"))
      return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::Value input) { return axes(input) != 0; });
    if (is_split(node)) return axes(node.inputs[0]) != 0 && is_constant(1);
    if (node.is("Pad")) return axes(node.inputs[0]) != 0 && is_constant(1) && is_constant(2);
    const bool prelu =
        node.is("PReLU") && node.inputs.size() == 2 && has_one_element(graph_.port(node.inputs[1]).shape, order.size());
    if ((!is_elementwise(node) && !prelu) || ir::broadcasts_from_an_axis(*node.attributes)) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ir::Value input) { return axes(input) != 0 || operand_without(graph_, input, order).fits; });
  }

  void keep(ir::NodeId id) {
    if (!moves(id)) return;
    axes_[ir::index_of(id)] = 0;
    pending_.push_back(id);
  }

  void expose(ir::NodeId id) {
    if (!moves(id) || exposed_[ir::index_of(id)]) return;
    exposed_[ir::index_of(id)] = true;
    pending_.push_back(id);
    keep_in_crowd(id);
  }

  void keep_in_crowd(ir::NodeId id) {
    if (crowded_[ir::index_of(id)]) keep(id);
  }

  void hold(ir::Value value) {
    if (held_[ir::index_of(value.node)]) return;
    held_[ir::index_of(value.node)] = true;
    for (const ir::Use& use : graph_.uses(value))
      if (exposed_[ir::index_of(use.node)]) keep(use.node);
  }

  /// Until nothing more follows from what stays or is exposed.
  void settle() {
    while (!pending_.empty()) {
      const ir::Node& node = graph_.node(pending_.back());
      pending_.pop_back();
      follow(node);
    }
  }

  /// Where more Transposes would be made than go, as one would be for every branch: there, nothing may be exposed.
  void find_crowded(const std::vector<ir::NodeId>& nodes) {
    ir::NodeSets sets(graph_.id_bound());
    for (ir::NodeId id : nodes)
      for (const ir::Value& input : graph_.node(id).inputs)
        if (moves(id) && axes(input) != 0) sets.join(id, input.node);
    std::vector<int64_t> more(graph_.id_bound());  // by set: Transposes that are made, less those that go
    for (ir::NodeId id : nodes) {
      if (axes_[ir::index_of(id)] == 0) continue;
      for (const auto& readers : graph_.uses_by_output(id)) {
        bool one_stays = false, one_moves = false;
        for (const ir::Use& use : readers) {
          one_moves = one_moves || moves(use.node);
          one_stays = one_stays || !(moves(use.node) || graph_.node(use.node).is("Transpose"));
        }
        if (moves(id))
          more[sets.of(id)] += one_stays ? 1 : 0;
        else
          more[sets.of(id)] -= one_moves && !one_stays ? 1 : 0;
      }
    }
    for (ir::NodeId id : nodes) crowded_[ir::index_of(id)] = more[sets.of(id)] > 0;
  }

  /// What follows for others from a node that stays or is exposed.
  void follow(const ir::Node& node) {
    const bool stays = !moves(node.id);
    for (const ir::Value& input : node.inputs) {
      if (axes(input) == 0) continue;
      if (stays && is_split(graph_.node(input.node)))
        keep(input.node);  // one Transpose would become one of every part
      else if (stays)
        hold(input);
      else if (held_[ir::index_of(input.node)])
        keep(node.id);
      expose(input.node);
    }
    if (!stays) return;
    for (const auto& readers : graph_.uses_by_output(node.id))
      for (const ir::Use& use : readers)
        if (moves(use.node) && axes_of(graph_.node(use.node)) == 0) keep(use.node);
  }

  /// The value without the Transpose that makes it, or that would if it were moved behind the value's node.
  ir::Value before(ir::Value value) const {
    const auto moved = moved_.find(value);
    return moved != moved_.end() ? moved->second : graph_.node(value.node).inputs[0];
  }

  ir::Value integers(const ir::Node& node, const std::vector<int64_t>& values, const char* suffix) {
    return patch_.add_constant(constant_, node.name + suffix, integers_constant(values));
  }

  void sink_into(const ir::Node& node) {
    const Order order = channels_last(axes_[ir::index_of(node.id)]);
    std::vector<ir::Value> inputs;
    for (const ir::Value& input : node.inputs) {
      std::optional<ir::Constant> moved;
      if (axes(input) == 0 && (is_elementwise(node) || node.is("PReLU")))
        moved = operand_without(graph_, input, order).moved;
      inputs.push_back(axes(input) != 0 ? before(input)
                       : moved ? patch_.add_constant(constant_, graph_.node(input.node).name, std::move(*moved))
                               : input);
    }
    auto attributes = node.attributes->clone();
    if (node.is("Concat"))
      attributes = ir::make_attributes_of(ConcatAttrs{axis_before(order, node.attrs<ConcatAttrs>().axis)});
    if (is_split(node)) inputs[1] = integers(node, {axis_before(order, numbers(node.inputs[1]).at(0))}, "/axis");
    for (size_t side = 1; node.is("Pad") && side <= 2; ++side) {
      const std::vector<int64_t> given = numbers(node.inputs[side]);
      std::vector<int64_t> pads(given.size());
      for (size_t i = 0; i < given.size(); ++i) pads[static_cast<size_t>(order[i])] = given[i];
      inputs[side] = integers(node, pads, side == 1 ? "/pads_begin" : "/pads_end");
    }
    const ir::Value moved = patch_.add(*node.schema, std::move(attributes), std::move(inputs), {node.id});
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ir::Value output{node.id, static_cast<int>(i)};
      if (graph_.uses(output).empty()) continue;
      moved_.emplace(output, ir::Patch::output(moved, output.output));
      const ir::Value behind = integers(node, order, "/order");
      patch_.replace(output, patch_.add(transpose_, nullptr, {moved_.at(output), behind}, {node.id},
                                        node.name + "/channels_last"));
    }
  }

  std::vector<int64_t> numbers(ir::Value constant) const {
    return ir::to_integers(ir::constant_of(graph_, constant)->view);
  }

  const ir::OpSchema& constant_;
  const ir::OpSchema& transpose_;
  const ir::Graph& graph_;
  ir::Patch& patch_;
  // By node: how many axes its values have if it is a Transpose that puts channels last, or such ones move behind it.
  std::vector<uint8_t> axes_;
  std::vector<bool> held_;     // by node: a reader stays, so that the Transpose in front of it does
  std::vector<bool> exposed_;  // by node: what moves behind it does not end in Transposes, and would be one more
  std::vector<bool> crowded_;  // by node: see find_crowded()
  std::vector<ir::NodeId> pending_;
  std::unordered_map<ir::Value, ir::Value> moved_;  // to nodes of this patch
};

}  // namespace

ir::Pass sink_transposes(const ir::OpRegistry& registry) {
  return {"sink_transposes",
          [&registry](const ir::Graph& graph, ir::Patch& patch) { Sinking(registry, graph, patch).run(); }};
}

}  // namespace terroir::ops
