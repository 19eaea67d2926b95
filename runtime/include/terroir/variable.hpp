// The variables of a model with state, as the model declares them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "terroir/element_type.hpp"
#include "terroir/export.hpp"
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

/// What layers that have it share. Model::reshape(), and whatever else infers a model anew, changes what it says; what
/// the program changes by update(), the model takes up when it is validated, reshaped, compiled, copied or written
/// next.
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

/// What layers of a variable are, ReadValue and Assign. Layers of a model that name the same one share it; setting that
/// of one leaves the other's.
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

class Node;
namespace detail {
/// That of a ReadValue or Assign.
TERROIR_API std::shared_ptr<op::util::Variable> variable_of(const Node& layer);
/// The layer, which says so already, is one of this variable.
TERROIR_API void share_variable(const Node& layer, const std::shared_ptr<op::util::Variable>& variable);
}  // namespace detail

}  // namespace terroir
