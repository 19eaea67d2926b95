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

}  // namespace detail

namespace op {
namespace util {

inline std::shared_ptr<Variable> ReadValueBase::get_variable() const { return terroir::detail::variable_of(*this); }
inline void ReadValueBase::set_variable(const std::shared_ptr<Variable>& variable) {
  set_variable_id(variable->get_info().variable_id);
  terroir::detail::share_variable(*this, variable);
}
inline std::shared_ptr<Variable> AssignBase::get_variable() const { return terroir::detail::variable_of(*this); }
inline void AssignBase::set_variable(const std::shared_ptr<Variable>& variable) {
  set_variable_id(variable->get_info().variable_id);
  terroir::detail::share_variable(*this, variable);
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
      : ReadValue(OutputVector{}, detail::by_name(*variable)) {
    detail::share_variable(*this, variable);
  }
  ReadValue(const Output<Node>& initial_value, const std::shared_ptr<util::Variable>& variable)
      : ReadValue(OutputVector{initial_value}, detail::by_name(*variable)) {
    detail::share_variable(*this, variable);
  }
  void set_variable(const std::shared_ptr<util::Variable>& variable) override {
    detail::set_attributes(*this, detail::by_name(*variable));
    detail::share_variable(*this, variable);
  }
};

class Assign : public util::AssignBase {
  TERROIR_LAYER_OF(util::AssignBase, Assign, "Assign", "opset6")
  Assign(const Output<Node>& value, const std::shared_ptr<util::Variable>& variable)
      : Assign(OutputVector{value}, {{"variable_id", variable->get_info().variable_id}}) {
    detail::share_variable(*this, variable);
  }
};

}  // namespace v6
}  // namespace op
}  // namespace terroir
