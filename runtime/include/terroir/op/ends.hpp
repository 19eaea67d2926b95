// The ends of a model made in code: its inputs and outputs.
#pragma once

#include "terroir/element_type.hpp"
#include "terroir/export.hpp"
#include "terroir/layout.hpp"
#include "terroir/op/layer.hpp"
#include "terroir/partial_shape.hpp"

namespace terroir {
namespace op {
namespace v0 {

/// An input of the model.
class TERROIR_API Parameter : public Node {
  TERROIR_TYPE_INFO(Node, Parameter, "opset1")
  /// Gets its type and shape later.
  Parameter() : Parameter(element::dynamic, PartialShape::dynamic()) {}
  explicit Parameter(const detail::NodeHandle& handle) : Node(handle) {}
  Parameter(const element::Type& type, const PartialShape& shape)
      : Node(detail::make_layer("Parameter", "opset1", {}, {{"element_type", type}, {"shape", shape}})) {}

  const PartialShape get_partial_shape() const { return get_output_partial_shape(0); }
  /// What follows from them is inferred when the model is validated, reshaped, compiled or written next.
  void set_partial_shape(const PartialShape& shape) { detail::set_parameter(*this, get_output_element_type(0), shape); }
  void set_element_type(const element::Type& type) { detail::set_parameter(*this, type, get_partial_shape()); }
  Layout get_layout() const { return layout::get_layout(output(0)); }
  void set_layout(const Layout& layout) { layout::set_layout(output(0), layout); }
};

/// An output of the model.
class TERROIR_API Result : public Node {
  TERROIR_TYPE_INFO(Node, Result, "opset1")
  /// Gets what it is the output of later, by set_arguments().
  Result() : Node(detail::make_open_layer("Result", "opset1", {})) {}
  explicit Result(const detail::NodeHandle& handle) : Node(handle) {}
  explicit Result(const Output<Node>& value) : Node(detail::make_layer("Result", "opset1", {value}, {})) {}

  Layout get_layout() const { return layout::get_layout(output(0)); }
  void set_layout(const Layout& layout) { layout::set_layout(output(0), layout); }
};

}  // namespace v0
}  // namespace op
}  // namespace terroir
