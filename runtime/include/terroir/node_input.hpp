// Inputs of layers: what they read, and how that is changed.
//
// What: handles like those of layers and outputs. An input that reads another output is the only edit of layers that
//       there are; types and shapes behind it are those of before until the model is validated
//       (Model::validate_nodes_and_infer_types), reshaped, compiled or written, which refuse what does not fit.
#pragma once

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>

#include "terroir/node.hpp"

namespace terroir {

/// An input of a layer that can be looked at.
template <>
class TERROIR_API Input<const Node> {
 public:
  /// Throws Exception (invalid_argument) for an index out of range.
  Input(std::shared_ptr<const Node> node, size_t index);
  Input(const Input<Node>& other);  // NOLINT: implicit, adds const

  const Node* get_node() const { return node_.get(); }
  /// Which input of the layer it is.
  size_t get_index() const { return index_; }
  /// Of what it reads.
  const element::Type get_element_type() const { return get_source_output().get_element_type(); }
  const PartialShape get_partial_shape() const { return get_source_output().get_partial_shape(); }
  /// Throws Exception (invalid_argument) if the shape is dynamic.
  const Shape get_shape() const { return get_source_output().get_shape(); }
  Output<const Node> get_source_output() const { return node_->input_value(index_); }
  descriptor::Tensor& get_tensor() const { return node_->get_input_tensor(index_); }
  std::shared_ptr<descriptor::Tensor> get_tensor_ptr() const {
    return {get_source_output().get_node_shared_ptr(), &get_tensor()};
  }
  /// As Node::get_rt_info().
  const RTMap& get_rt_info() const;

  bool operator==(const Input& other) const { return index_ == other.index_ && *node_ == *other.node_; }
  bool operator!=(const Input& other) const { return !(*this == other); }
  bool operator<(const Input& other) const;

 private:
  std::shared_ptr<const Node> node_;
  size_t index_;
};

/// An input of a layer that can also be fed by something else.
template <>
class TERROIR_API Input<Node> {
 public:
  Input(std::shared_ptr<Node> node, size_t index);

  Node* get_node() const { return node_.get(); }
  size_t get_index() const { return index_; }
  const element::Type get_element_type() const { return get_source_output().get_element_type(); }
  const PartialShape get_partial_shape() const { return get_source_output().get_partial_shape(); }
  const Shape get_shape() const { return get_source_output().get_shape(); }
  Output<Node> get_source_output() const { return node_->input_value(index_); }
  descriptor::Tensor& get_tensor() const { return node_->get_input_tensor(index_); }
  std::shared_ptr<descriptor::Tensor> get_tensor_ptr() const {
    return {get_source_output().get_node_shared_ptr(), &get_tensor()};
  }
  RTMap& get_rt_info();
  const RTMap& get_rt_info() const { return Input<const Node>(*this).get_rt_info(); }

  /// Throws Exception (invalid_argument), and then nothing has changed: if the layer would read what follows from it,
  /// and for outputs of another model, and of Parameters that are not the model's.
  void replace_source_output(const Output<Node>& source) const;

  bool operator==(const Input& other) const { return index_ == other.index_ && *node_ == *other.node_; }
  bool operator!=(const Input& other) const { return !(*this == other); }
  bool operator<(const Input& other) const { return Input<const Node>(*this) < Input<const Node>(other); }

 private:
  friend class Input<const Node>;

  std::shared_ptr<Node> node_;
  size_t index_;
};

/// "Convolution 'conv1'.input(0)".
inline std::ostream& operator<<(std::ostream& out, const Input<const Node>& input) {
  return out << *input.get_node() << ".input(" << input.get_index() << ')';
}
inline std::ostream& operator<<(std::ostream& out, const Input<Node>& input) { return out << Input<const Node>(input); }
/// "Convolution_opset1".
inline std::ostream& operator<<(std::ostream& out, const DiscreteTypeInfo& type) { return out << std::string(type); }
namespace descriptor {
/// "(names, f32[1,3])".
inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  out << '(';
  for (const std::string& name : tensor.get_names()) out << name << ", ";
  return out << tensor.get_element_type() << tensor.get_partial_shape() << ')';
}
}  // namespace descriptor

/// What reads an output of `target` reads the same output of `replacement` instead, and tensor names move along. Throws
/// Exception (invalid_argument) as Input::replace_source_output(), and if they have not as many outputs.
TERROIR_API void replace_node(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement);
TERROIR_API void replace_node(const std::shared_ptr<Node>& target, const OutputVector& replacements);

inline void Node::set_arguments(const NodeVector& sources) {
  set_arguments(OutputVector(sources.begin(), sources.end()));
}
inline bool Node::has_same_type(const std::shared_ptr<const Node>& other) const {
  if (get_output_size() != other->get_output_size()) return false;
  for (size_t i = 0; i < get_output_size(); ++i) {
    if (get_output_element_type(i) != other->get_output_element_type(i) ||
        get_output_partial_shape(i) != other->get_output_partial_shape(i))
      return false;
  }
  return true;
}

}  // namespace terroir
