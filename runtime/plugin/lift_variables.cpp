#include <algorithm>
#include <map>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"
#include "ops/defs/infrastructure/state.hpp"
#include "ops/registry.hpp"
#include "runtime/plugin/hoist_variables.hpp"
#include "runtime/plugin/variables.hpp"

namespace terroir::plugin {
namespace {

using ir::NodeId;

const ir::OpSchema& builtin(std::string_view type) { return ops::builtin_registry().get(type, "opset1"); }

/// Extents that differ become unknown. Whether anything changed.
bool widen(PartialShape& shape, const PartialShape& other) {
  if (shape.rank().is_dynamic() || shape == other) return false;
  if (other.rank().is_dynamic() || other.size() != shape.size()) {
    shape = PartialShape::dynamic();
    return true;
  }
  bool changed = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto axis = static_cast<std::ptrdiff_t>(i);
    if (shape[axis] == other[axis] || shape[axis] == Dimension()) continue;
    shape[axis] = Dimension();
    changed = true;
  }
  return changed;
}

class Lift {
 public:
  explicit Lift(const ir::Graph& graph) : original_(graph) {
    lifted_.graph = graph.clone();
    lifted_.inputs = graph.parameters().size();
    lifted_.outputs = graph.results().size();
  }

  LiftedGraph run() {
    for (NodeId id : ir::topological_order(original_)) {
      if (original_.node(id).is("ReadValue")) lift_read(id);
      if (original_.node(id).is("Assign")) lift_assign(id);
    }
    make_initial_values();
    settle_shapes();
    return std::move(lifted_);
  }

 private:
  ir::Graph& graph() { return *lifted_.graph; }

  LiftedGraph::Variable& variable(const ir::Node& node) {
    const std::string& name = variable_name(node);
    const auto known = std::find_if(lifted_.variables.begin(), lifted_.variables.end(),
                                    [&](const auto& variable) { return variable.info.name == name; });
    if (known != lifted_.variables.end()) return *known;
    const ir::OutputPort& port = node.outputs.at(0);
    if (port.type == element::string)
      throw_error(ErrorCode::unsupported, node.describe(), ": a variable cannot hold strings");
    lifted_.variables.push_back({{name, port.type, port.shape}});
    return lifted_.variables.back();
  }

  void lift_read(NodeId id) {
    const ir::Node& node = original_.node(id);
    LiftedGraph::Variable& variable = this->variable(node);
    check(variable, node.outputs.at(0));  // it may have been assigned before
    if (variable.input == LiftedGraph::kNone) {
      variable.input = graph().parameters().size();
      const ir::OutputPort port = node.outputs.at(0);
      const NodeId parameter = graph().add(builtin(ir::kParameterType), node.name,
                                           ir::make_attributes_of(ir::ParameterAttrs{port.shape, port.type}));
      graph().node(parameter).origin = node.origin;
      graph().port({parameter, 0}).type = port.type;
      graph().port({parameter, 0}).shape = port.shape;
      if (!node.inputs.empty()) initial_sources_.emplace_back(variable.info.name, node.inputs[0]);
    }
    graph().replace_uses({id, 0}, {graph().parameters()[variable.input], 0});
    graph().erase(id);
  }

  void lift_assign(NodeId id) {
    const ir::Node& node = original_.node(id);
    LiftedGraph::Variable& variable = this->variable(node);
    if (variable.output != LiftedGraph::kNone)
      throw_error(ErrorCode::unsupported, node.describe(), ": the variable '", variable.info.name,
                  "' is assigned twice");
    const ir::Value source = graph().node(id).inputs.at(0);
    graph().replace_uses({id, 0}, source);
    graph().erase(id);
    variable.output = graph().results().size();
    const NodeId result = graph().add(builtin(ir::kResultType), node.name, nullptr, {source});
    graph().node(result).origin = node.origin;
  }

  /// The original graph with the initial values as its only results.
  void make_initial_values() {
    if (initial_sources_.empty()) return;
    auto values = original_.clone();
    const std::vector<NodeId> own_results = values->results();
    for (NodeId id : own_results) values->erase(id);
    for (const auto& [name, source] : initial_sources_) {
      const auto at = std::find_if(lifted_.variables.begin(), lifted_.variables.end(),
                                   [&, &wanted = name](const auto& variable) { return variable.info.name == wanted; });
      at->initial = values->results().size();
      values->add(builtin(ir::kResultType), name, nullptr, {source});
    }
    for (NodeId id : values->sinks())
      if (values->node(id).is("Assign")) {
        values->replace_uses({id, 0}, values->node(id).inputs.at(0));
        values->erase(id);
      }
    values->erase_unreachable();
    for (NodeId id : values->nodes())
      if (needs_state(values->node(id)))
        throw_error(ErrorCode::not_implemented, values->node(id).describe(),
                    ": an initial value that depends on another variable is not supported yet");
    ir::infer_graph(*values);
    lifted_.initial_values = std::move(values);
  }

  /// Shapes of variables that hold for initial and for assigned values.
  void settle_shapes() {
    for (LiftedGraph::Variable& variable : lifted_.variables)
      if (variable.initial != LiftedGraph::kNone)
        check(variable, lifted_.initial_values->port({lifted_.initial_values->results()[variable.initial], 0}));
    for (bool changed = true; std::exchange(changed, false);) {
      for (const LiftedGraph::Variable& variable : lifted_.variables)
        if (variable.input != LiftedGraph::kNone)
          graph().node(graph().parameters()[variable.input]).attributes =
              ir::make_attributes_of(ir::ParameterAttrs{variable.info.shape, variable.info.type});
      ir::infer_graph(graph());
      for (LiftedGraph::Variable& variable : lifted_.variables)
        if (variable.output != LiftedGraph::kNone)
          changed |= check(variable, graph().port({graph().results()[variable.output], 0}));
    }
  }

  /// Lets the variable hold such a value, too. Whether its shape changed.
  static bool check(LiftedGraph::Variable& variable, const ir::OutputPort& value) {
    if (!element::Type::merge(variable.info.type, variable.info.type, value.type))
      throw_error(ErrorCode::type_mismatch, "the variable '", variable.info.name, "' of type ", variable.info.type,
                  " gets a value of type ", value.type);
    return widen(variable.info.shape, value.shape);
  }

  const ir::Graph& original_;
  LiftedGraph lifted_;
  std::vector<std::pair<std::string, ir::Value>> initial_sources_;  // by variable
};

}  // namespace

LiftedGraph lift_variables(const ir::Graph& graph) {
  if (has_variables_in_bodies(graph)) return Lift(*hoist_variables(graph)).run();
  return Lift(graph).run();
}

}  // namespace terroir::plugin
