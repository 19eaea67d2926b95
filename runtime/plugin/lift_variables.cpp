#include <algorithm>
#include <utility>
#include <vector>

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

std::vector<NodeId> nodes_of(const ir::Graph& graph, std::string_view type) {
  std::vector<NodeId> nodes = graph.nodes();
  std::erase_if(nodes, [&](NodeId id) { return !graph.node(id).is(type); });
  return nodes;
}

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
  using Source = std::pair<size_t, ir::Value>;  // a variable and its initial value

  ir::Graph& graph() { return *lifted_.graph; }

  LiftedGraph::Variable& variable(const ir::Node& node) {
    const std::string& name = variable_name(node);
    const auto known = std::find_if(lifted_.variables.begin(), lifted_.variables.end(),
                                    [&](const auto& variable) { return variable.info.name == name; });
    if (known != lifted_.variables.end()) return *known;
    const ir::OutputPort& port = node.outputs.at(0);
    if (port.type == element::string)
      throw_error(ErrorCode::unsupported, node.describe(), ": a variable cannot hold strings");
    lifted_.variables.push_back({{name, port.type, port.shape}, port.shape});
    return lifted_.variables.back();
  }

  void lift_read(NodeId id) {
    const ir::Node& node = original_.node(id);
    LiftedGraph::Variable& variable = this->variable(node);
    check(variable, node.outputs.at(0));  // it may have been assigned before
    if (variable.input == LiftedGraph::kNone) {
      variable.input = graph().parameters().size();
      const ir::OutputPort port = node.outputs.at(0);
      variable.declared = port.shape;
      const NodeId parameter = graph().add(ops::newest(ir::kParameterType), node.name,
                                           ir::make_attributes_of(ir::ParameterAttrs{port.shape, port.type}));
      graph().node(parameter).origin = node.origin;
      graph().port({parameter, 0}).type = port.type;
      graph().port({parameter, 0}).shape = port.shape;
      if (!node.inputs.empty()) initial_sources_.emplace_back(index_of(variable.info.name), node.inputs[0]);
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
    const NodeId result = graph().add(ops::newest(ir::kResultType), node.name, nullptr, {source});
    graph().node(result).origin = node.origin;
  }

  size_t index_of(const std::string& name) const {
    const auto at = std::find_if(lifted_.variables.begin(), lifted_.variables.end(),
                                 [&](const auto& variable) { return variable.info.name == name; });
    return static_cast<size_t>(at - lifted_.variables.begin());
  }

  /// Whether an expression starts from the value of a variable of which `asked` is true. What is behind a ReadValue is
  /// no part of it.
  bool reads_any(ir::Value source, const std::vector<bool>& asked) const {
    std::vector<bool> seen(original_.id_bound(), false);
    std::vector<NodeId> open{source.node};
    while (!open.empty()) {
      const ir::Node& node = original_.node(open.back());
      open.pop_back();
      if (seen[ir::index_of(node.id)]) continue;
      seen[ir::index_of(node.id)] = true;
      if (!node.is("ReadValue")) {
        for (const ir::Value& input : node.inputs) open.push_back(input.node);
      } else if (asked[index_of(variable_name(node))]) {
        return true;
      }
    }
    return false;
  }

  /// As many graphs as there are initial values in a row of which each reads the one before.
  void make_initial_values() {
    auto left = std::move(initial_sources_);
    while (!left.empty()) {
      std::vector<bool> unknown(lifted_.variables.size(), false);
      for (const auto& [variable, source] : left) unknown[variable] = true;
      std::vector<Source> next, waiting;
      for (const Source& each : left) (reads_any(each.second, unknown) ? waiting : next).push_back(each);
      // An initial value is that of the variable's first ReadValue, so those it reads are read before.
      TERROIR_ASSERT(!next.empty(), left.size());
      lifted_.initial_values.push_back(graph_of(next));
      left = std::move(waiting);
    }
  }

  /// The original graph with these initial values as its only results, and the variables they read as inputs.
  LiftedGraph::InitialValues graph_of(const std::vector<Source>& sources) {
    LiftedGraph::InitialValues values;
    values.graph = original_.clone();
    ir::Graph& graph = *values.graph;
    const std::vector<NodeId> own_results = graph.results();
    for (NodeId id : own_results) graph.erase(id);
    for (const auto& [variable, source] : sources) {
      graph.add(ops::newest(ir::kResultType), lifted_.variables[variable].info.name, nullptr, {source});
      values.gives.push_back(variable);
    }
    for (NodeId id : nodes_of(graph, "Assign")) {
      graph.replace_uses({id, 0}, graph.node(id).inputs.at(0));
      graph.erase(id);
    }
    graph.erase_unreachable();
    for (NodeId id : nodes_of(graph, "ReadValue")) read_as_input(values, id);
    graph.erase_unreachable();
    return values;
  }

  void read_as_input(LiftedGraph::InitialValues& values, NodeId id) {
    ir::Graph& graph = *values.graph;
    const size_t variable = index_of(variable_name(graph.node(id)));
    auto at = std::find(values.reads.begin(), values.reads.end(), variable);
    if (at == values.reads.end()) {
      graph.add(ops::newest(ir::kParameterType), lifted_.variables[variable].info.name, parameter_of(variable));
      values.reads.push_back(variable);
      at = values.reads.end() - 1;
    }
    const size_t parameter = lifted_.inputs + static_cast<size_t>(at - values.reads.begin());
    graph.replace_uses({id, 0}, {graph.parameters()[parameter], 0});
    graph.erase(id);
  }

  std::unique_ptr<ir::Attributes> parameter_of(size_t variable) const {
    const VariableInfo& info = lifted_.variables[variable].info;
    return ir::make_attributes_of(ir::ParameterAttrs{info.shape, info.type});
  }

  /// Shapes of variables that hold for initial and for assigned values.
  void settle_shapes() {
    for (bool changed = true; std::exchange(changed, false);) {
      for (const LiftedGraph::InitialValues& values : lifted_.initial_values) {
        for (size_t i = 0; i < values.reads.size(); ++i)
          values.graph->node(values.graph->parameters()[lifted_.inputs + i]).attributes = parameter_of(values.reads[i]);
        ir::infer_graph(*values.graph);
        for (size_t i = 0; i < values.gives.size(); ++i)
          changed |= check(lifted_.variables[values.gives[i]], values.graph->port({values.graph->results()[i], 0}));
      }
      for (size_t i = 0; i < lifted_.variables.size(); ++i)
        if (const size_t input = lifted_.variables[i].input; input != LiftedGraph::kNone)
          graph().node(graph().parameters()[input]).attributes = parameter_of(i);
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
  std::vector<Source> initial_sources_;
};

}  // namespace

LiftedGraph lift_variables(const ir::Graph& graph) {
  if (has_variables_in_bodies(graph)) return Lift(*hoist_variables(graph)).run();
  return Lift(graph).run();
}

}  // namespace terroir::plugin
