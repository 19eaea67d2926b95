#pragma once
// What: ReadValue and Assign: a variable that lives from one inference to the next, and Identity.
// ReadValue gives the variable's value, at first input 0 (ReadValue-6: optional); Assign stores its input and hands it
// on. The variable itself belongs to whoever runs the graph; the references here are what a first inference does.
// Source: operation pages ReadValue-3, ReadValue-6, Assign-3, Assign-6, Identity-16.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

/// ReadValue-3, Assign-3 and Assign-6.
struct VariableAttrs {
  std::string variable_id;

  template <class V>
  void visit(V& v) {
    v("variable_id", variable_id, ir::Presence::required);
  }
};

/// ReadValue-6; older files have the name alone.
struct ReadValueAttrs {
  std::string variable_id;
  element::Type variable_type = element::dynamic;
  PartialShape variable_shape = PartialShape::dynamic();

  template <class V>
  void visit(V& v) {
    v("variable_id", variable_id, ir::Presence::required);
    v("variable_type", variable_type);
    v("variable_shape", variable_shape);
  }
};

}  // namespace terroir::ops
