#include <algorithm>

#include "ir/base/error.hpp"
#include "ops/defs/infrastructure/state.hpp"
#include "runtime/api/graph_state.hpp"
#include "runtime/plugin/plugin.hpp"

namespace terroir {

namespace {

// What a ReadValue or Assign layer says about its variable.
op::util::VariableInfo info_of(const ir::Node& node) {
  const ir::OutputPort& port = node.outputs.at(0);
  op::util::VariableInfo info{port.shape, port.type, {}};
  for (const ir::AttributeText& text : ir::to_text(*node.attributes)) {
    if (text.name == "variable_id") info.variable_id = text.value;
  }
  return info;
}

bool has_variable(const op::util::VariableVector& variables, const std::string& name) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const auto& variable) { return variable->get_info().variable_id == name; });
}

bool carries_shape(const ir::Node& node) { return node.is("ReadValue") && node.schema->opset == "opset6"; }

}  // namespace

void detail::reshape_variables(ir::Graph& graph, const std::unordered_map<std::string, PartialShape>& shapes) {
  for (const auto& [name, shape] : shapes) {
    bool known = false;
    for (const ir::NodeId id : graph.nodes()) {
      ir::Node& node = graph.node(id);
      if (!plugin::needs_state(node) || info_of(node).variable_id != name) continue;
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
    if (!needed[ir::index_of(id)] || !plugin::needs_state(node)) continue;
    op::util::VariableInfo info = info_of(node);
    const auto known = std::find_if(variables.begin(), variables.end(), [&](const auto& variable) {
      return variable->get_info().variable_id == info.variable_id;
    });
    if (known == variables.end()) {
      variables.push_back(std::make_shared<op::util::Variable>(std::move(info)));
    } else if (node.is("ReadValue")) {
      (*known)->update(info);  // it declares the variable, Assign only what it stores
    }
  }
  for (const auto& spare : state_->spare_variables) {
    const auto& name = spare->get_info().variable_id;
    if (!has_variable(variables, name)) variables.push_back(std::make_shared<op::util::Variable>(*spare));
  }
  return variables;
}

void Model::add_variables(const op::util::VariableVector& variables) {
  for (const auto& variable : variables) {
    if (variable == nullptr) throw_error(ErrorCode::invalid_argument, "a variable to add to the model is null");
  }
  for (const auto& variable : variables) {
    if (!has_variable(get_variables(), variable->get_info().variable_id)) state_->spare_variables.push_back(variable);
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
