// Variables of models with state, as code makes them.
#pragma once

#include <memory>
#include <string>

#include "terroir/op/attribute_access.hpp"
#include "terroir/op/bases.hpp"
#include "terroir/op/layer.hpp"
#include "terroir/variable.hpp"

namespace terroir {
namespace detail {

inline AnyMap by_name(const op::util::Variable& variable) {
  const op::util::VariableInfo& info = variable.get_info();
  return {{"variable_id", info.variable_id}, {"variable_type", info.data_type}, {"variable_shape", info.data_shape}};
}

inline std::shared_ptr<op::util::Variable> variable_of(const Output<const Node>& value, const std::string& id) {
  return std::make_shared<op::util::Variable>(
      op::util::VariableInfo{value.get_partial_shape(), value.get_element_type(), id});
}

}  // namespace detail

namespace op {
namespace util {

inline std::shared_ptr<Variable> ReadValueBase::get_variable() const {
  return terroir::detail::variable_of(output(0), get_variable_id());
}
inline void ReadValueBase::set_variable(const std::shared_ptr<Variable>& variable) {
  set_variable_id(variable->get_info().variable_id);
}
inline std::shared_ptr<Variable> AssignBase::get_variable() const {
  return terroir::detail::variable_of(input_value(0), get_variable_id());
}
inline void AssignBase::set_variable(const std::shared_ptr<Variable>& variable) {
  set_variable_id(variable->get_info().variable_id);
}

}  // namespace util

namespace v3 {

class ReadValue : public util::ReadValueBase {
  TERROIR_LAYER_OF(util::ReadValueBase, ReadValue, "ReadValue", "opset3")
  ReadValue(const Output<Node>& initial_value, const std::string& variable_id)
      : ReadValue(OutputVector{initial_value}, {{"variable_id", variable_id}}) {}
};

class Assign : public util::AssignBase {
  TERROIR_LAYER_OF(util::AssignBase, Assign, "Assign", "opset3")
  Assign(const Output<Node>& value, const std::string& variable_id)
      : Assign(OutputVector{value}, {{"variable_id", variable_id}}) {}
};

}  // namespace v3

namespace v6 {

class ReadValue : public util::ReadValueBase {
  TERROIR_LAYER_OF(util::ReadValueBase, ReadValue, "ReadValue", "opset6")
  explicit ReadValue(const std::shared_ptr<util::Variable>& variable)
      : ReadValue(OutputVector{}, detail::by_name(*variable)) {}
  ReadValue(const Output<Node>& initial_value, const std::shared_ptr<util::Variable>& variable)
      : ReadValue(OutputVector{initial_value}, detail::by_name(*variable)) {}
  void set_variable(const std::shared_ptr<util::Variable>& variable) override {
    detail::set_attributes(*this, detail::by_name(*variable));
  }
};

class Assign : public util::AssignBase {
  TERROIR_LAYER_OF(util::AssignBase, Assign, "Assign", "opset6")
  Assign(const Output<Node>& value, const std::shared_ptr<util::Variable>& variable)
      : Assign(OutputVector{value}, {{"variable_id", variable->get_info().variable_id}}) {}
};

}  // namespace v6
}  // namespace op
}  // namespace terroir
