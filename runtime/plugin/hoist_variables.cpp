#include "runtime/plugin/hoist_variables.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"
#include "ops/defs/infrastructure/state.hpp"
#include "ops/registry.hpp"
#include "runtime/plugin/plugin.hpp"

namespace terroir::plugin {
namespace {

using ir::Body;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Value;

/// Copies the expression of an initial value from a body to the graph around it.
class InitialValue {
 public:
  InitialValue(Graph& outer, NodeId owner, const Body& body) : outer_(outer), owner_(owner), body_(body) {}

  Value copy(Value inner) {
    if (const auto known = copied_.find(inner.node); known != copied_.end()) return {known->second, inner.output};
    const Node& node = body_.graph->node(inner.node);
    if (node.is(ir::kParameterType)) return fed(node);
    if (!node.bodies.empty() || needs_state(node)) refuse(node);
    std::vector<Value> inputs;
    for (const Value& input : node.inputs) inputs.push_back(copy(input));
    const NodeId id = node.constant ? outer_.add_constant(*node.schema, node.name, *node.constant)
                                    : outer_.add(*node.schema, node.name, node.attributes->clone(), std::move(inputs));
    outer_.node(id).origin = node.origin;
    copied_.emplace(inner.node, id);
    return {id, inner.output};
  }

 private:
  /// What the Parameter is, where that is the same for the whole run of the node.
  Value fed(const Node& parameter) const {
    for (const auto& edge : body_.ports.back_edges)
      if (edge.parameter == parameter.id) refuse(parameter);
    for (const auto& input : body_.ports.inputs)
      if (input.parameter == parameter.id && !input.axis && !input.current_iteration && input.external_port >= 0)
        return outer_.node(owner_).inputs.at(static_cast<size_t>(input.external_port));
    refuse(parameter);
  }

  [[noreturn]] void refuse(const Node& node) const {
    throw_error(ErrorCode::not_implemented, outer_.node(owner_).describe(), ": ", node.describe(),
                ": a variable's initial value that only the body knows is not supported yet");
  }

  Graph& outer_;
  NodeId owner_;
  const Body& body_;
  std::unordered_map<NodeId, NodeId> copied_;
};

class Hoist {
 public:
  explicit Hoist(Graph& graph) : graph_(graph) {}

  /// Leaves no variable in the bodies of this graph's nodes.
  void run() {
    for (NodeId id : ir::topological_order(graph_))
      if (!graph_.node(id).bodies.empty()) hoist(id);
    for (const auto& [name, value] : assigned_) {
      for (NodeId id : graph_.nodes())
        if (graph_.node(id).is("Assign") && variable_name(graph_.node(id)) == name)
          throw_error(ErrorCode::unsupported, graph_.node(id).describe(), ": the variable '", name,
                      "' is assigned twice, here and in the body of ", graph_.node(value.node).describe());
      const NodeId assign =
          graph_.add(ops::newest("Assign"), name, ir::make_attributes_of(ops::VariableAttrs{name}), {value});
      graph_.node(assign).origin = graph_.node(value.node).origin;
    }
  }

 private:
  /// A variable in the bodies of one node.
  struct Used {
    bool assigned = false;
    element::Type type;
    PartialShape shape = PartialShape::dynamic();
    // A ReadValue with an initial value, which may be that of a variable carried before.
    const Body* body = nullptr;
    NodeId reader = NodeId::none;
  };

  void hoist(NodeId id) {
    for (Body& body : graph_.node(id).bodies) {
      if (!has_variables_in_bodies(*body.graph)) continue;
      Hoist(*body.graph).run();
      ir::infer_graph(*body.graph);
    }
    for (const auto& [name, used] : variables_of(graph_.node(id))) {
      Node& node = graph_.node(id);
      const auto external = static_cast<int64_t>(node.inputs.size());
      const Value current = current_value(id, name, used);
      graph_.add_input(id, current);
      const auto output = static_cast<int64_t>(node.outputs.size());
      if (used.assigned) node.outputs.emplace_back();
      for (Body& body : graph_.node(id).bodies) carry(node, body, name, used, external, output);
      if (used.assigned) assigned_[name] = {id, static_cast<int32_t>(output)};
    }
    for (Body& body : graph_.node(id).bodies) ir::infer_graph(*body.graph);
  }

  /// Those first that the initial values of others are made from.
  static std::vector<std::pair<std::string, Used>> variables_of(const Node& node) {
    std::vector<std::pair<std::string, Used>> variables;
    const auto variable = [&](const std::string& name) -> Used& {
      for (auto& [known, used] : variables)
        if (known == name) return used;
      return variables.emplace_back(name, Used{}).second;
    };
    for (const Body& body : node.bodies)
      for (NodeId id : ir::topological_order(*body.graph)) {
        const Node& inner = body.graph->node(id);
        if (!needs_state(inner)) continue;
        Used& used = variable(variable_name(inner));
        const ir::OutputPort& port = inner.outputs.at(0);
        if (inner.is("Assign")) {
          used.assigned = true;
          if (used.type.is_dynamic()) used.type = port.type, used.shape = port.shape;
          continue;
        }
        used.type = port.type;
        used.shape = port.shape;
        if (!inner.inputs.empty() && !used.body) used.body = &body, used.reader = id;
      }
    return variables;
  }

  /// The variable's value in front of the node.
  Value current_value(NodeId id, const std::string& name, const Used& used) {
    if (const auto known = assigned_.find(name); known != assigned_.end()) return known->second;
    for (NodeId other : graph_.nodes())
      if (graph_.node(other).is("ReadValue") && variable_name(graph_.node(other)) == name) return {other, 0};
    std::vector<Value> inputs;
    if (used.body)
      inputs.push_back(InitialValue(graph_, id, *used.body).copy(used.body->graph->node(used.reader).inputs[0]));
    const NodeId read =
        graph_.add(ops::newest("ReadValue"), name,
                   ir::make_attributes_of(ops::ReadValueAttrs{name, used.type, used.shape}), std::move(inputs));
    graph_.node(read).origin = graph_.node(id).origin;
    graph_.port({read, 0}).type = used.type;
    graph_.port({read, 0}).shape = used.shape;
    return {read, 0};
  }

  /// Lets the body read the variable from input `external`, and give it as `output` if any body assigns it.
  static void carry(const Node& node, Body& body, const std::string& name, const Used& used, int64_t external,
                    int64_t output) {
    Graph& inner = *body.graph;
    const NodeId parameter = inner.add(ops::newest(ir::kParameterType), name,
                                       ir::make_attributes_of(ir::ParameterAttrs{used.shape, used.type}));
    inner.port({parameter, 0}).type = used.type;
    inner.port({parameter, 0}).shape = used.shape;
    ir::BodyPortMap::Input input;
    input.external_port = external;
    input.parameter = parameter;
    body.ports.inputs.push_back(input);
    std::vector<NodeId> assigns;
    for (NodeId id : inner.nodes()) {
      if (!needs_state(inner.node(id)) || variable_name(inner.node(id)) != name) continue;
      if (inner.node(id).is("Assign")) {
        assigns.push_back(id);
        continue;
      }
      inner.replace_uses({id, 0}, {parameter, 0});
      inner.erase(id);
    }
    if (assigns.size() > 1)
      throw_error(ErrorCode::unsupported, node.describe(), ": ", inner.node(assigns[1]).describe(), ": the variable '",
                  name, "' is assigned twice");
    Value last{parameter, 0};
    for (NodeId id : assigns) {
      last = inner.node(id).inputs.at(0);
      inner.replace_uses({id, 0}, last);
      inner.erase(id);
    }
    if (!used.assigned) return;
    const NodeId result = inner.add(ops::newest(ir::kResultType), name, nullptr, {last});
    ir::BodyPortMap::Output given;
    given.external_port = output;
    given.result = result;
    body.ports.outputs.push_back(given);
    if (body.role == "body") body.ports.back_edges.push_back({result, parameter});
  }

  Graph& graph_;
  std::map<std::string, Value> assigned_;  // by variable: the output of the last node whose bodies assign it
};

}  // namespace

const std::string& variable_name(const Node& node) {
  return node.is("ReadValue") && node.schema->opset != "opset3" ? node.attrs<ops::ReadValueAttrs>().variable_id
                                                                : node.attrs<ops::VariableAttrs>().variable_id;
}

bool has_variables_in_bodies(const Graph& graph) {
  for (NodeId id : graph.nodes())
    for (const Body& body : graph.node(id).bodies) {
      const std::vector<NodeId> nodes = body.graph->nodes();
      if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId inner) { return needs_state(body.graph->node(inner)); }) ||
          has_variables_in_bodies(*body.graph))
        return true;
    }
  return false;
}

std::unique_ptr<Graph> hoist_variables(const Graph& graph) {
  auto hoisted = graph.clone();
  Hoist(*hoisted).run();
  ir::infer_graph(*hoisted);
  return hoisted;
}

}  // namespace terroir::plugin
