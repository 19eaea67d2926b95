#include <algorithm>

#include "ir/base/error.hpp"
#include "ops/defs/infrastructure/state.hpp"
#include "runtime/api/attributes_from_any.hpp"
#include "runtime/api/graph_state.hpp"
#include "runtime/plugin/hoist_variables.hpp"
#include "runtime/plugin/plugin.hpp"

namespace terroir {

namespace {

using detail::GraphState;
using op::util::VariableInfo;
using plugin::needs_state;
using plugin::variable_name;

// What a ReadValue or Assign layer says about its variable.
VariableInfo info_of(const ir::Node& node) {
  if (node.outputs.empty()) return {PartialShape::dynamic(), element::dynamic, variable_name(node)};
  return {node.outputs[0].shape, node.outputs[0].type, variable_name(node)};
}

bool has_variable(const op::util::VariableVector& variables, const std::string& name) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const auto& variable) { return variable->get_info().variable_id == name; });
}

bool carries_shape(const ir::Node& node) { return node.is("ReadValue") && node.schema->opset == "opset6"; }

GraphState::KnownVariable* find_known(const GraphState& state, const std::string& name) {
  const auto known = std::find_if(state.variables.begin(), state.variables.end(),
                                  [&](const auto& one) { return one.agreed.variable_id == name; });
  return known != state.variables.end() ? &*known : nullptr;
}

// The variable of a layer: what the program has or gets.
op::util::Variable::Ptr variable_of(const GraphState& state, const ir::Node& node) {
  VariableInfo info = info_of(node);
  const std::lock_guard lock(state.objects.mutex());
  if (const auto* known = find_known(state, info.variable_id)) return known->object;
  const auto spare =
      std::find_if(state.spare_variables.begin(), state.spare_variables.end(),
                   [&](const auto& variable) { return variable->get_info().variable_id == info.variable_id; });
  auto object = spare != state.spare_variables.end() ? *spare : std::make_shared<op::util::Variable>(std::move(info));
  state.variables.push_back({object, object->get_info()});
  return object;
}

}  // namespace

std::vector<detail::NodeAccess::Changed> detail::changed_variables(const GraphState& state) {
  std::vector<NodeAccess::Changed> changed;
  const std::lock_guard lock(state.objects.mutex());
  for (const auto& [object, agreed] : state.variables) {
    const VariableInfo& info = object->get_info();
    if (info == agreed) continue;
    for (const ir::NodeId id : state.graph->nodes()) {
      const ir::Node& node = state.graph->node(id);
      if (!needs_state(node) || variable_name(node) != agreed.variable_id) continue;
      AnyMap values{{"variable_id", info.variable_id}};
      if (carries_shape(node)) {
        values["variable_type"] = info.data_type;
        values["variable_shape"] = info.data_shape;
      }
      changed.push_back({id, std::move(values)});
    }
  }
  return changed;
}

void detail::take_up_variables(GraphState& state) {
  for (const auto& [id, values] : changed_variables(state)) {
    ir::Node& node = state.writable().node(id);
    node.attributes = changed_attributes(*node.schema, *node.attributes, values);
    state.rewired = true;
    state.changed.insert(id);
  }
  for (auto& [object, agreed] : state.variables) agreed = object->get_info();
}

void detail::update_variables(const GraphState& state) {
  const std::lock_guard lock(state.objects.mutex());
  for (auto& [object, agreed] : state.variables) {
    if (!(object->get_info() == agreed)) continue;
    for (const ir::NodeId id : state.graph->nodes()) {
      const ir::Node& node = state.graph->node(id);
      // It declares the variable, Assign only what it stores.
      if (!node.is("ReadValue") || variable_name(node) != agreed.variable_id || state.changed.count(id) != 0) continue;
      // Nothing is written that other threads may be reading, unless the layer has changed since.
      if (VariableInfo said = info_of(node); !(said == agreed)) {
        object->update(said);
        agreed = std::move(said);
      }
      break;
    }
  }
}

void detail::share_variables(const GraphState& from, const GraphState& to) {
  if (&from == &to) return;
  const std::lock_guard lock(from.objects.mutex());
  for (const auto& known : from.variables)
    if (find_known(to, known.agreed.variable_id) == nullptr) to.variables.push_back(known);
}

op::util::Variable::Ptr detail::variable_of(const Node& layer) {
  const ir::Node& node = NodeAccess::node(layer);
  const GraphState& state = *NodeAccess::state(layer);
  auto variable = terroir::variable_of(state, node);
  update_variables(state);
  return variable;
}

void detail::share_variable(const Node& layer, const op::util::Variable::Ptr& variable) {
  const GraphState& state = *NodeAccess::state(layer);
  const GraphState::KnownVariable shared{variable, variable->get_info()};
  auto* known = find_known(state, shared.agreed.variable_id);
  if (known == nullptr) {
    state.variables.push_back(shared);
  } else if (NodeAccess::node(layer).is("ReadValue")) {
    *known = shared;
  }
}

void detail::reshape_variables(ir::Graph& graph, const std::unordered_map<std::string, PartialShape>& shapes) {
  for (const auto& [name, shape] : shapes) {
    bool known = false;
    for (const ir::NodeId id : graph.nodes()) {
      ir::Node& node = graph.node(id);
      if (!needs_state(node) || variable_name(node) != name) continue;
      known = true;
      if (node.is("Assign")) continue;
      if (!carries_shape(node)) {
        throw_error(ErrorCode::unsupported, node.describe(), " of ", node.schema->opset,
                    " has the shape of its initial value, the variable '", name, "' cannot be reshaped");
      }
      auto attrs = node.attrs<ops::ReadValueAttrs>();
      attrs.variable_shape = shape;
      node.attributes = ir::make_attributes_of(std::move(attrs));
    }
    if (!known) throw_error(ErrorCode::not_found, "the model has no variable '", name, "'");
  }
}

const op::util::VariableVector Model::get_variables() const {
  op::util::VariableVector variables;
  const ir::Graph& graph = *state_->graph;
  const std::vector<bool> needed = detail::needed_by_ends(graph);
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    if (!needed[ir::index_of(id)] || !needs_state(node)) continue;
    auto variable = variable_of(*state_, node);
    if (std::find(variables.begin(), variables.end(), variable) == variables.end()) variables.push_back(variable);
  }
  detail::update_variables(*state_);
  for (const auto& spare : state_->spare_variables) {
    if (!has_variable(variables, spare->get_info().variable_id)) variables.push_back(spare);
  }
  return variables;
}

void Model::add_variables(const op::util::VariableVector& variables) {
  for (const auto& variable : variables) {
    if (variable == nullptr) throw_error(ErrorCode::invalid_argument, "a variable to add to the model is null");
  }
  for (const auto& variable : variables) {
    if (!has_variable(state_->spare_variables, variable->get_info().variable_id))
      state_->spare_variables.push_back(variable);
  }
}

void Model::remove_variable(const op::util::Variable::Ptr& variable) {
  const std::string name = variable != nullptr ? variable->get_info().variable_id : std::string();
  if (!has_variable(get_variables(), name)) throw_error(ErrorCode::not_found, "the model has no variable '", name, "'");
  std::erase_if(state_->spare_variables, [&](const auto& spare) { return spare->get_info().variable_id == name; });
  if (has_variable(get_variables(), name))
    throw_error(ErrorCode::invalid_argument, "layers of the model use the variable '", name, "'");
}

op::util::Variable::Ptr Model::get_variable_by_id(const std::string& variable_id) const {
  for (const auto& variable : get_variables()) {
    if (variable->get_info().variable_id == variable_id) return variable;
  }
  return nullptr;
}

}  // namespace terroir
