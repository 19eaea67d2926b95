#include <algorithm>
#include <unordered_map>

#include "ir/graph/order.hpp"
#include "ir/schema/attribute_text.hpp"
#include "ops/defs/shape/reshape.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

/// Every element of a constant f32 or integer input equals `number`.
bool is_filled_with(const ir::Graph& graph, ir::Value value, double number) {
  const ir::Constant* constant = ir::constant_of(graph, value);
  if (!constant || constant->view.type.bitwidth() < 8 ||
      !(constant->view.type.is_real() || constant->view.type.is_integral_number()))
    return false;
  if (constant->view.type.is_real() && constant->view.type.bitwidth() == 8) return false;
  if (constant->view.count() > 0) {
    // Weights differ in their first element already.
    const ir::TensorView first{constant->view.type, {1}, constant->view.data};
    if (ir::to_reals(first)[0] != number) return false;
  }
  const std::vector<double> values = ir::to_reals(constant->view);
  return std::all_of(values.begin(), values.end(), [number](double v) { return v == number; });
}

/// The input whose elements the node's only output always has, though perhaps in another type or shape, or none.
std::optional<ir::Value> passed_input(const ir::Graph& graph, const ir::Node& node) {
  const auto& inputs = node.inputs;
  if (node.is("Multiply") || node.is("Add")) {
    const double neutral = node.is("Add") ? 0.0 : 1.0;
    if (is_filled_with(graph, inputs[1], neutral)) return inputs[0];
    if (is_filled_with(graph, inputs[0], neutral)) return inputs[1];
  }
  if (node.is("Subtract") && is_filled_with(graph, inputs[1], 0.0)) return inputs[0];
  if (node.is("Divide") && is_filled_with(graph, inputs[1], 1.0)) return inputs[0];
  // A target of the run may be one that Reshape refuses.
  if (node.is("Reshape") && !ir::constant_of(graph, inputs[1])) return std::nullopt;
  if (node.is("Convert") || node.is("Reshape") || node.is("Squeeze") || node.is("Unsqueeze")) return inputs[0];
  if (node.is("Concat") && inputs.size() == 1) return inputs[0];
  if (node.is("Transpose")) {
    const auto order = ir::constant_integers(graph, inputs[1]);
    if (order && !order->empty() && std::is_sorted(order->begin(), order->end())) return inputs[0];
  }
  if (node.is("Pad")) {
    const auto begin = ir::constant_integers(graph, inputs[1]), end = ir::constant_integers(graph, inputs[2]);
    const auto none = [](const auto& pads) {
      return pads && std::all_of(pads->begin(), pads->end(), [](int64_t v) { return v == 0; });
    };
    if (none(begin) && none(end)) return inputs[0];
  }
  return std::nullopt;
}

/// Whether the extents of `from` pass, too, whatever they are.
bool keeps_extents(const ir::Graph& graph, const ir::Node& node, ir::Value from) {
  if (node.is("Convert") || node.is("Concat") || node.is("Transpose") || node.is("Pad")) return true;
  const PartialShape& shape = graph.port(from).shape;
  if (shape.rank().is_dynamic()) return false;
  if (node.is("Reshape")) {
    const auto target = ir::constant_integers(graph, node.inputs[1]);
    return node.attrs<ReshapeAttrs>().special_zero && target && target->size() == shape.size() &&
           std::all_of(target->begin(), target->end(), [](int64_t extent) { return extent == 0; });
  }
  if (node.inputs.size() != 2 || !node.schema->flags.elementwise || ir::broadcasts_from_an_axis(*node.attributes))
    return false;
  const PartialShape& other = graph.port(node.inputs[node.inputs[0] == from ? 1 : 0]).shape;
  if (other.rank().is_dynamic() || other.size() > shape.size()) return false;
  const size_t before = shape.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i)
    if (other[i] != 1 && !(other[i].is_static() && other[i] == shape[before + i])) return false;
  return true;
}

/// The input that the node's only output always equals, or none.
std::optional<ir::Value> forwarded_input(const ir::Graph& graph, const ir::Node& node) {
  if (node.outputs.size() != 1) return std::nullopt;
  const auto source = passed_input(graph, node);
  if (!source) return std::nullopt;
  const ir::OutputPort &from = graph.port(*source), &to = node.outputs[0];
  const bool same = from.type == to.type && from.shape == to.shape;
  return same && (from.shape.is_static() || keeps_extents(graph, node, *source)) ? source : std::nullopt;
}

}  // namespace

bool may_be_no_op(const ir::Graph& graph, const ir::Node& node) {
  if (node.outputs.size() != 1) return false;
  auto source = passed_input(graph, node);
  // A target or pads that are computed from extents are constants when these are known.
  if (!source && (node.is("Reshape") || node.is("Pad")) && !ir::constant_of(graph, node.inputs[1]))
    source = node.inputs[0];
  return source && (graph.port(*source).shape.is_dynamic() || node.outputs[0].shape.is_dynamic());
}

ir::Pass remove_no_ops() {
  return {"remove_no_ops", [](const ir::Graph& graph, ir::Patch& patch) {
            // Behind a chain of no-ops all read its beginning, which nothing replaces.
            std::unordered_map<ir::NodeId, ir::Value> beginnings;
            for (ir::NodeId id : ir::topological_order(graph)) {
              const ir::Node& node = graph.node(id);
              if (node.outputs.empty()) continue;
              auto source = forwarded_input(graph, node);
              if (!source) continue;
              if (const auto known = beginnings.find(source->node); known != beginnings.end()) source = known->second;
              beginnings.emplace(id, *source);
              if (!graph.uses({id, 0}).empty()) patch.replace({id, 0}, *source);
            }
          }};
}

}  // namespace terroir::ops
