// The variables of a model with state, as the model declares them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "terroir/element_type.hpp"
#include "terroir/partial_shape.hpp"

namespace terroir {

namespace op {

namespace util {

struct VariableInfo {
  PartialShape data_shape;
  element::Type data_type;
  std::string variable_id;
  bool operator==(const VariableInfo& other) const {
    return data_shape == other.data_shape && data_type == other.data_type && variable_id == other.variable_id;
  }
};

/// A description; it does not see later changes of the model.
class Variable {
 public:
  using Ptr = std::shared_ptr<Variable>;
  Variable() = default;
  explicit Variable(VariableInfo info) : info_(std::move(info)) {}
  const VariableInfo& get_info() const { return info_; }
  void update(const VariableInfo& info) { info_ = info; }

 private:
  VariableInfo info_;
};
using VariableVector = std::vector<Variable::Ptr>;

/// What layers of a variable are, ReadValue and Assign. Each layer has a variable of its own by its identifier:
/// setting that of one leaves the other's.
class VariableExtension {
 public:
  virtual ~VariableExtension() = default;
  virtual std::shared_ptr<Variable> get_variable() const { return m_variable; }
  virtual void set_variable(const std::shared_ptr<Variable>& variable) { m_variable = variable; }
  virtual std::string get_variable_id() const = 0;
  virtual void set_variable_id(const std::string& id) {
    VariableInfo info = m_variable->get_info();
    info.variable_id = id;
    m_variable->update(info);
  }

 protected:
  std::shared_ptr<Variable> m_variable;  // of classes of the program's own; OpenVINO's name
};

}  // namespace util

}  // namespace op

}  // namespace terroir
