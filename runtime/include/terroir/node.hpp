// Layers of a model, and their outputs (ports).
//
// What: handles into a Model. They keep the model alive and see its changes: after Model::reshape() a port tells the
//       new shape. Two handles of the same layer or port compare equal. A layer made in code (terroir/ops.hpp) belongs
//       to no model until a Model is made of its results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/element_type.hpp"
#include "terroir/export.hpp"
#include "terroir/partial_shape.hpp"

namespace terroir {

class Node;
template <class NodeT>
class Output;
template <class NodeT>
class Input;
namespace detail {
struct GraphState;
struct NodeAccess;
/// Where a layer is.
struct NodeHandle {
  std::shared_ptr<GraphState> state;
  int32_t id;
};
}  // namespace detail
namespace descriptor {
class Tensor;
}
using NodeVector = std::vector<std::shared_ptr<Node>>;
using OutputVector = std::vector<Output<Node>>;

/// Type and version of a layer.
struct DiscreteTypeInfo {
  std::string name;        ///< "Convolution"
  std::string version_id;  ///< the set that introduced it: "opset1"
  bool operator==(const DiscreteTypeInfo& other) const { return name == other.name && version_id == other.version_id; }
  bool operator!=(const DiscreteTypeInfo& other) const { return !(*this == other); }
};

/// A layer.
class TERROIR_API Node : public std::enable_shared_from_this<Node> {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node();

  /// The name in the user's file.
  std::string get_friendly_name() const;
  void set_friendly_name(const std::string& name);
  /// A name no other layer of the model has, e.g. "Convolution_12".
  std::string get_name() const;
  /// The name of the class in terroir/ops.hpp: "Convolution", "Relu".
  std::string get_type_name() const;
  std::string description() const { return get_type_name(); }
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
  Output<Node> get_input_source_output(size_t index);
  Output<const Node> get_input_source_output(size_t index) const;
  /// What reads, and may be fed by another output: see terroir/node_input.hpp.
  Input<Node> input(size_t index);
  Input<const Node> input(size_t index) const;
  std::vector<Input<Node>> inputs();
  std::vector<Input<const Node>> inputs() const;
  /// The layer that feeds input `index`; the pointer of get_input_node_ptr() owns its handle.
  std::shared_ptr<Node> get_input_node_shared_ptr(size_t index) const;
  std::shared_ptr<Node> get_input_node_ptr(size_t index) const { return get_input_node_shared_ptr(index); }

  /// Inputs that read output `index`, and the layers that read any output, each once.
  std::set<Input<Node>> get_output_target_inputs(size_t index) const;
  std::vector<std::shared_ptr<Node>> get_users() const;
  /// The only output; throws Exception (invalid_argument) if there are several.
  Output<Node> get_default_output();
  Output<const Node> get_default_output() const;

  /// To name the tensor of an output.
  descriptor::Tensor get_output_tensor(size_t index);
  /// The same of what input `index` reads.
  descriptor::Tensor get_input_tensor(size_t index);
  element::Type get_output_element_type(size_t index) const;
  PartialShape get_output_partial_shape(size_t index) const;
  /// Throws Exception (invalid_argument) if the shape is dynamic.
  Shape get_output_shape(size_t index) const;
  element::Type get_input_element_type(size_t index) const;
  PartialShape get_input_partial_shape(size_t index) const;
  Shape get_input_shape(size_t index) const;
  /// Whether the shape of an output is not known.
  bool is_dynamic() const;
  /// Of the only output; throws Exception (invalid_argument) if there are several.
  element::Type get_element_type() const;
  Shape get_shape() const;

  /// The attributes in the spelling of IR files, e.g. {"strides", "1, 1"}.
  std::map<std::string, std::string> get_attributes() const;
  /// The layer's runtime information, which all its handles share. Records of files are maps of texts; of what code
  /// adds, files get maps with a "version", and keys that begin with "user_data", as in OpenVINO. It lives as long as
  /// the model.
  using RTMap = AnyMap;
  RTMap& get_rt_info();
  const RTMap& get_rt_info() const;

  /// A layer like this one, with a name of its own, that reads `inputs`. Throws Exception: invalid_argument for inputs
  /// of different models, and what the operation refuses.
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const;
  /// The same, with this layer's name.
  std::shared_ptr<Node> copy_with_new_inputs(const OutputVector& inputs) const;
  /// Input::replace_source_output().
  void set_argument(size_t index, const Output<Node>& source);

  bool operator==(const Node& other) const;
  bool operator!=(const Node& other) const { return !(*this == other); }

 protected:
  explicit Node(const detail::NodeHandle& handle);

 private:
  friend struct detail::NodeAccess;

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
  /// Of the tensor, as Node::get_rt_info().
  const RTMap& get_rt_info() const;
  /// Inputs that read it.
  std::set<Input<Node>> get_target_inputs() const;

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
  /// The first output of a layer.
  template <typename T, typename = std::enable_if_t<std::is_convertible_v<T*, Node*>>>
  Output(const std::shared_ptr<T>& node) : node_(node) {}  // NOLINT: implicit, as in OpenVINO

  Node* get_node() const { return node_.get(); }
  std::shared_ptr<Node> get_node_shared_ptr() const { return node_; }
  size_t get_index() const { return index_; }
  element::Type get_element_type() const { return Output<const Node>(*this).get_element_type(); }
  PartialShape get_partial_shape() const { return Output<const Node>(*this).get_partial_shape(); }
  Shape get_shape() const { return Output<const Node>(*this).get_shape(); }
  std::unordered_set<std::string> get_names() const { return Output<const Node>(*this).get_names(); }
  std::string get_any_name() const { return Output<const Node>(*this).get_any_name(); }
  RTMap& get_rt_info();
  const RTMap& get_rt_info() const { return Output<const Node>(*this).get_rt_info(); }
  std::set<Input<Node>> get_target_inputs() const;
  /// What reads this output reads `replacement` instead, and tensor names move there. Throws Exception as
  /// Input::replace_source_output().
  void replace(const Output<Node>& replacement);
  /// The tensor by itself: its names are the port's.
  descriptor::Tensor get_tensor() const;
  std::shared_ptr<descriptor::Tensor> get_tensor_ptr() const;
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

namespace descriptor {

/// The tensor of an output, under OpenVINO's name for it: its type, shape and names.
class Tensor {
 public:
  explicit Tensor(Output<Node> port) : port_(std::move(port)) {}
  element::Type get_element_type() const { return port_.get_element_type(); }
  PartialShape get_partial_shape() const { return port_.get_partial_shape(); }
  Shape get_shape() const { return port_.get_shape(); }
  std::unordered_set<std::string> get_names() const { return port_.get_names(); }
  std::string get_any_name() const { return port_.get_any_name(); }
  void set_names(const std::unordered_set<std::string>& names) { port_.set_names(names); }
  void add_names(const std::unordered_set<std::string>& names) { port_.add_names(names); }
  RTMap& get_rt_info() { return port_.get_rt_info(); }
  const RTMap& get_rt_info() const { return port_.get_rt_info(); }

 private:
  Output<Node> port_;
};

}  // namespace descriptor

inline descriptor::Tensor Node::get_output_tensor(size_t index) { return descriptor::Tensor(output(index)); }
inline descriptor::Tensor Node::get_input_tensor(size_t index) { return descriptor::Tensor(input_value(index)); }
inline descriptor::Tensor Output<Node>::get_tensor() const { return descriptor::Tensor(*this); }
inline std::shared_ptr<descriptor::Tensor> Output<Node>::get_tensor_ptr() const {
  return std::make_shared<descriptor::Tensor>(*this);
}

/// "Convolution 'conv1'[0]:f32[1,64,112,112]".
TERROIR_API std::ostream& operator<<(std::ostream& out, const Output<const Node>& port);
TERROIR_API std::ostream& operator<<(std::ostream& out, const Output<Node>& port);
/// "Convolution 'conv1'".
TERROIR_API std::ostream& operator<<(std::ostream& out, const Node& node);

}  // namespace terroir

#include "terroir/node_input.hpp"
