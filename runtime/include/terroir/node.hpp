// Layers of a model, and their outputs (ports).
//
// What: handles into a Model. They keep the model alive and see its changes: after Model::reshape() a port tells the
//       new shape. Two handles of the same layer or port compare equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/element_type.hpp"
#include "terroir/export.hpp"
#include "terroir/partial_shape.hpp"

namespace terroir {

class Node;
template <class NodeT>
class Output;
namespace detail {
struct GraphState;
struct NodeAccess;
}  // namespace detail

/// Type and version of a layer.
struct DiscreteTypeInfo {
  std::string name;        ///< "Convolution"
  std::string version_id;  ///< "opset1"
  bool operator==(const DiscreteTypeInfo& other) const { return name == other.name && version_id == other.version_id; }
  bool operator!=(const DiscreteTypeInfo& other) const { return !(*this == other); }
};

/// A layer.
class TERROIR_API Node : public std::enable_shared_from_this<Node> {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();

  /// The name in the user's file.
  std::string get_friendly_name() const;
  void set_friendly_name(const std::string& name);
  /// A name no other layer of the model has, e.g. "Convolution_12".
  std::string get_name() const;
  /// "Convolution".
  std::string get_type_name() const;
  DiscreteTypeInfo get_type_info() const;

  size_t get_input_size() const;
  size_t get_output_size() const;
  /// These throw Exception (invalid_argument) for an index out of range.
  Output<Node> output(size_t index);
  Output<const Node> output(size_t index) const;
  std::vector<Output<Node>> outputs();
  std::vector<Output<const Node>> outputs() const;
  /// The output that feeds input `index`.
  Output<Node> input_value(size_t index);
  Output<const Node> input_value(size_t index) const;
  std::vector<Output<Node>> input_values();

  element::Type get_output_element_type(size_t index) const;
  PartialShape get_output_partial_shape(size_t index) const;
  /// Throws Exception (invalid_argument) if the shape is dynamic.
  Shape get_output_shape(size_t index) const;
  element::Type get_input_element_type(size_t index) const;
  PartialShape get_input_partial_shape(size_t index) const;
  Shape get_input_shape(size_t index) const;
  /// Of the only output; throws Exception (invalid_argument) if there are several.
  element::Type get_element_type() const;
  Shape get_shape() const;

  /// The attributes in the spelling of IR files, e.g. {"strides", "1, 1"}.
  std::map<std::string, std::string> get_attributes() const;
  /// The layer's runtime information: names -> maps of texts.
  AnyMap get_rt_info() const;

  bool operator==(const Node& other) const;
  bool operator!=(const Node& other) const { return !(*this == other); }

 private:
  friend struct detail::NodeAccess;
  Node(std::shared_ptr<detail::GraphState> state, int32_t id);

  std::shared_ptr<detail::GraphState> state_;
  int32_t id_;
};

/// An output of a layer that can be looked at.
template <>
class TERROIR_API Output<const Node> {
 public:
  Output() = default;
  Output(std::shared_ptr<const Node> node, size_t index) : node_(std::move(node)), index_(index) {}
  Output(const Output<Node>& other);  // NOLINT: implicit, adds const

  const Node* get_node() const { return node_.get(); }
  std::shared_ptr<const Node> get_node_shared_ptr() const { return node_; }
  /// Which output of the layer it is.
  size_t get_index() const { return index_; }
  /// All functions throw Exception (invalid_argument) for a default-constructed port.
  element::Type get_element_type() const;
  PartialShape get_partial_shape() const;
  /// Throws Exception (invalid_argument) if the shape is dynamic.
  Shape get_shape() const;
  /// The names of the tensor; for a model's output, those of the tensor it takes.
  std::unordered_set<std::string> get_names() const;
  /// The first name in alphabetical order. Throws Exception (not_found) if there is none.
  std::string get_any_name() const;
  AnyMap get_rt_info() const;

  bool operator==(const Output& other) const;
  bool operator!=(const Output& other) const { return !(*this == other); }
  bool operator<(const Output& other) const;

 private:
  std::shared_ptr<const Node> node_;
  size_t index_ = 0;
};

/// An output of a layer that can also be renamed.
template <>
class TERROIR_API Output<Node> {
 public:
  Output() = default;
  Output(std::shared_ptr<Node> node, size_t index) : node_(std::move(node)), index_(index) {}

  Node* get_node() const { return node_.get(); }
  std::shared_ptr<Node> get_node_shared_ptr() const { return node_; }
  size_t get_index() const { return index_; }
  element::Type get_element_type() const { return Output<const Node>(*this).get_element_type(); }
  PartialShape get_partial_shape() const { return Output<const Node>(*this).get_partial_shape(); }
  Shape get_shape() const { return Output<const Node>(*this).get_shape(); }
  std::unordered_set<std::string> get_names() const { return Output<const Node>(*this).get_names(); }
  std::string get_any_name() const { return Output<const Node>(*this).get_any_name(); }
  AnyMap get_rt_info() const { return Output<const Node>(*this).get_rt_info(); }
  /// Replace or extend the names of the tensor.
  void set_names(const std::unordered_set<std::string>& names);
  void add_names(const std::unordered_set<std::string>& names);

  bool operator==(const Output& other) const { return Output<const Node>(*this) == Output<const Node>(other); }
  bool operator!=(const Output& other) const { return !(*this == other); }
  bool operator<(const Output& other) const { return Output<const Node>(*this) < Output<const Node>(other); }

 private:
  std::shared_ptr<Node> node_;
  size_t index_ = 0;
};

inline Output<const Node>::Output(const Output<Node>& other)
    : node_(other.get_node_shared_ptr()), index_(other.get_index()) {}

/// "Convolution 'conv1'[0]:f32[1,64,112,112]".
TERROIR_API std::ostream& operator<<(std::ostream& out, const Output<const Node>& port);
TERROIR_API std::ostream& operator<<(std::ostream& out, const Output<Node>& port);
/// "Convolution 'conv1'".
TERROIR_API std::ostream& operator<<(std::ostream& out, const Node& node);

}  // namespace terroir
