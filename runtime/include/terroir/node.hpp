// Layers of a model, and their outputs (ports).
//
// What: handles into a Model. They keep its graph alive and see its changes: after Model::reshape() a port tells the
//       new shape. A layer has one object, whoever asks for it, as long as the Model lives; a layer made in code
//       (terroir/ops.hpp) is the object that the program made, and belongs to no model until a Model is made of its
//       results. Layers keep those that they read. as_type_ptr() may give a layer of a file an object of its class,
//       too; pointers (std::shared_ptr) to objects of the same layer compare equal.
// Types, shapes, names: are returned by value, const, so that what OpenVINO returns by reference binds to `auto&`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
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
class AttributeVisitor;
class Tensor;
using TensorVector = std::vector<Tensor>;
namespace detail {
struct GraphState;
struct NodeAccess;
struct NodeBelongings;
}  // namespace detail
namespace descriptor {
class Tensor;
}
using NodeVector = std::vector<std::shared_ptr<Node>>;
namespace detail {
/// Where a layer is.
struct NodeHandle {
  std::shared_ptr<GraphState> state;
  int32_t id;
  bool is_new = false;     // nobody knows the layer yet: the object made of this is the layer's
  NodeVector inputs = {};  // of a new layer: the objects of what it reads, which its object keeps
};
}  // namespace detail
using OutputVector = std::vector<Output<Node>>;

/// What an inference is for, in the words of the program.
using EvaluationContext = AnyMap;

/// Type and version of a layer, a pass or an attribute.
struct DiscreteTypeInfo {
  const char* name = nullptr;                ///< "Convolution"; of none: equal to others of none only
  const char* version_id = nullptr;          ///< the set that introduced it: "opset1"
  const DiscreteTypeInfo* parent = nullptr;  ///< of the class it is derived from, where that is said

  std::string get_version() const { return version_id != nullptr ? version_id : ""; }
  /// Whether it is the same, or derived from it.
  bool is_castable(const DiscreteTypeInfo& target) const {
    return *this == target || (parent != nullptr && parent->is_castable(target));
  }
  bool operator==(const DiscreteTypeInfo& other) const {
    if (name == nullptr || other.name == nullptr) return name == other.name;
    return std::strcmp(name, other.name) == 0 && get_version() == other.get_version();
  }
  bool operator!=(const DiscreteTypeInfo& other) const { return !(*this == other); }
  bool operator<(const DiscreteTypeInfo& other) const { return std::string(*this) < std::string(other); }
  size_t hash() const { return std::hash<std::string>()(std::string(*this)); }
  /// "Convolution_opset1": the key of runtime information of this type.
  operator std::string() const {  // NOLINT: implicit, as in OpenVINO
    return (name != nullptr ? name : "") + ("_" + get_version());
  }
};

/// A layer.
class TERROIR_API Node : public std::enable_shared_from_this<Node> {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node();

  /// The name in the user's file.
  const std::string get_friendly_name() const;
  void set_friendly_name(const std::string& name);
  /// A name no other layer of the model has, e.g. "Convolution_12".
  const std::string get_name() const;
  /// The number in that name.
  size_t get_instance_id() const;
  /// The name of the class in terroir/ops.hpp: "Convolution", "Relu".
  const char* get_type_name() const;
  std::string description() const { return get_type_name(); }
  /// It lives as long as the process.
  virtual const DiscreteTypeInfo& get_type_info() const;
  using type_info_t = DiscreteTypeInfo;

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
  /// The layer that feeds input `index`.
  std::shared_ptr<Node> get_input_node_shared_ptr(size_t index) const;
  Node* get_input_node_ptr(size_t index) const { return get_input_node_shared_ptr(index).get(); }

  /// Inputs that read output `index`, and the layers that read any output, each once (`check_is_used`: but those that
  /// no output of the model needs).
  std::set<Input<Node>> get_output_target_inputs(size_t index) const;
  std::vector<std::shared_ptr<Node>> get_users(bool check_is_used = false) const;
  /// The only output; throws Exception (invalid_argument) if there are several.
  Output<Node> get_default_output();
  Output<const Node> get_default_output() const;

  /// The tensor of an output; the object lives as long as that of the layer.
  descriptor::Tensor& get_output_tensor(size_t index) const;
  /// The same of what input `index` reads.
  descriptor::Tensor& get_input_tensor(size_t index) const;
  const element::Type get_output_element_type(size_t index) const;
  const PartialShape get_output_partial_shape(size_t index) const;
  /// Throws Exception (invalid_argument) if the shape is dynamic.
  const Shape get_output_shape(size_t index) const;
  const element::Type get_input_element_type(size_t index) const;
  const PartialShape get_input_partial_shape(size_t index) const;
  const Shape get_input_shape(size_t index) const;
  /// Whether the shape of an output is not known.
  bool is_dynamic() const;
  /// Of the only output; throws Exception (invalid_argument) if there are several.
  const element::Type get_element_type() const;
  const Shape get_shape() const;

  /// Infers types and shapes of the outputs anew, from attributes and inputs as they are now, and those of all layers
  /// behind, as far as they can be inferred. Throws Exception with the layer's name for what the layer itself refuses.
  virtual void validate_and_infer_types();
  void revalidate_and_infer_types() { validate_and_infer_types(); }
  /// Computes the outputs of these inputs with the slow reference, in the calling thread; tensors among `outputs` are
  /// written to, those that are missing made. False if there is nothing to compute: for a Parameter. Throws what the
  /// operation refuses.
  virtual bool evaluate(TensorVector& outputs, const TensorVector& inputs) const;
  /// The same, told what the inference is for: nothing here.
  virtual bool evaluate(TensorVector& outputs, const TensorVector& inputs, const EvaluationContext&) const {
    return evaluate(outputs, inputs);
  }
  virtual bool has_evaluate() const;
  /// The outputs as Constants, if all of `inputs` are Constants and the layer can be computed; else false, and
  /// `outputs` are as before.
  inline bool constant_fold(OutputVector& outputs, const OutputVector& inputs);  // terroir/op/constant.hpp

  /// Shows the attributes, by their names in IR files, to a visitor, which may change them: numbers as int64_t and
  /// double, enumerations, element types, shapes and lists of texts as texts. True. Throws Exception for a value that
  /// the operation has not.
  virtual bool visit_attributes(AttributeVisitor& visitor);
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
  /// Input::replace_source_output(); the next index adds an input, and where there are no outputs yet, any index does.
  void set_argument(size_t index, const Output<Node>& source);
  /// It reads these, and no others. Types and shapes are those of before until they are inferred; a layer that was made
  /// without inputs has no outputs until then. Throws Exception as Input::replace_source_output().
  void set_arguments(const OutputVector& sources);
  void set_arguments(const NodeVector& sources);
  /// Layers that this one was said to come after, and so are its copies. Models have them, in orders of layers before
  /// this one. Nothing is computed another way, but that an Assign of them stores: layers have no other effects.
  void add_control_dependency(std::shared_ptr<Node> layer);
  void remove_control_dependency(const std::shared_ptr<Node>& layer);
  void clear_control_dependencies();
  const NodeVector& get_control_dependencies() const;
  /// Layers that were said to come after this one.
  const std::vector<Node*> get_control_dependents() const;
  void clear_control_dependents();
  /// It comes after what `layer` comes after; what comes after `layer` comes after it, too, or, in the place of this
  /// one, after `replacement`.
  void add_node_control_dependencies(const std::shared_ptr<const Node>& layer);
  void add_node_control_dependents(const std::shared_ptr<const Node>& layer);
  void transfer_control_dependents(const std::shared_ptr<Node>& replacement);
  /// Whether the outputs have the same types and shapes.
  bool has_same_type(const std::shared_ptr<const Node>& other) const;

  bool operator==(const Node& other) const;
  bool operator!=(const Node& other) const { return !(*this == other); }

 protected:
  explicit Node(const detail::NodeHandle& handle);
  /// Whether an object whose class is the program's has other attributes than the model knows. They go to `instead`;
  /// if that is null, to the model.
  virtual bool tell_attributes(AnyMap* instead) { return static_cast<void>(instead), false; }

 private:
  friend struct detail::NodeAccess;
  detail::NodeBelongings& belongings() const;

  std::shared_ptr<detail::GraphState> state_;
  int32_t id_;
  mutable std::unique_ptr<detail::NodeBelongings> belongings_;  // see runtime/api/graph_objects.hpp
};

/// Pointers to objects of the same layer are equal, of whatever class they are.
inline bool operator==(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) {
  return a.get() == b.get() || (a.get() != nullptr && b.get() != nullptr && *a == *b);
}
inline bool operator!=(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) { return !(a == b); }
namespace detail {
inline bool is_named(const Node& layer, const char* type) { return std::strcmp(layer.get_type_name(), type) == 0; }
template <typename T>
using IfLayer = std::enable_if_t<std::is_convertible_v<T*, const Node*> && !std::is_same_v<Node, T>, bool>;
}  // namespace detail
template <typename T>
detail::IfLayer<T> operator==(const std::shared_ptr<T>& a, const std::shared_ptr<Node>& b) {
  return a.get() == b.get() || (a.get() != nullptr && b.get() != nullptr && *a == *b);
}
template <typename T>
detail::IfLayer<T> operator==(const std::shared_ptr<Node>& a, const std::shared_ptr<T>& b) {
  return b == a;
}
template <typename T>
detail::IfLayer<T> operator!=(const std::shared_ptr<T>& a, const std::shared_ptr<Node>& b) {
  return !(a == b);
}
template <typename T>
detail::IfLayer<T> operator!=(const std::shared_ptr<Node>& a, const std::shared_ptr<T>& b) {
  return !(b == a);
}

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
  const element::Type get_element_type() const;
  const PartialShape get_partial_shape() const;
  /// Throws Exception (invalid_argument) if the shape is dynamic.
  const Shape get_shape() const;
  /// The names of the tensor; for a model's output, those of the tensor it takes.
  const std::unordered_set<std::string> get_names() const;
  /// The first name in alphabetical order. Throws Exception (not_found) if there is none.
  const std::string get_any_name() const;
  /// The tensor by itself: its names are the port's. It lives as long as the layer's object.
  descriptor::Tensor& get_tensor() const;
  /// Of the tensor, as Node::get_rt_info().
  const RTMap& get_rt_info() const;
  /// Inputs that read it.
  std::set<Input<Node>> get_target_inputs() const;

  /// No port any more.
  void reset() { *this = Output(); }
  /// The same output of another layer.
  Output for_node(const std::shared_ptr<const Node>& node) const { return {node, index_}; }

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
  const element::Type get_element_type() const { return Output<const Node>(*this).get_element_type(); }
  const PartialShape get_partial_shape() const { return Output<const Node>(*this).get_partial_shape(); }
  const Shape get_shape() const { return Output<const Node>(*this).get_shape(); }
  const std::unordered_set<std::string> get_names() const { return Output<const Node>(*this).get_names(); }
  const std::string get_any_name() const { return Output<const Node>(*this).get_any_name(); }
  RTMap& get_rt_info();
  const RTMap& get_rt_info() const { return Output<const Node>(*this).get_rt_info(); }
  std::set<Input<Node>> get_target_inputs() const;
  /// What reads this output reads `replacement` instead, and tensor names move there. Throws Exception as
  /// Input::replace_source_output().
  void replace(const Output<Node>& replacement);
  descriptor::Tensor& get_tensor() const { return Output<const Node>(*this).get_tensor(); }
  std::shared_ptr<descriptor::Tensor> get_tensor_ptr() const;
  /// Replace or extend the names of the tensor.
  void set_names(const std::unordered_set<std::string>& names);
  void add_names(const std::unordered_set<std::string>& names);

  /// No port any more.
  void reset() { *this = Output(); }
  /// The same output of another layer.
  Output for_node(const std::shared_ptr<Node>& node) const { return {node, index_}; }

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
  const element::Type get_element_type() const { return node_->get_output_element_type(index_); }
  const PartialShape get_partial_shape() const { return node_->get_output_partial_shape(index_); }
  const Shape get_shape() const { return node_->get_output_shape(index_); }
  const std::unordered_set<std::string> get_names() const { return port().get_names(); }
  const std::string get_any_name() const { return port().get_any_name(); }
  void set_names(const std::unordered_set<std::string>& names) { port().set_names(names); }
  void add_names(const std::unordered_set<std::string>& names) { port().add_names(names); }
  RTMap& get_rt_info() { return port().get_rt_info(); }
  const RTMap& get_rt_info() const { return std::as_const(*node_).output(index_).get_rt_info(); }
  /// Bytes of the elements. Throws Exception (invalid_argument) if the shape is dynamic.
  size_t size() const { return (shape_size(get_shape()) * get_element_type().bitwidth() + 7) / 8; }

  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

 private:
  friend struct terroir::detail::NodeBelongings;
  Tensor(Node* node, size_t index) : node_(node), index_(index) {}
  Output<Node> port() const { return node_->output(index_); }

  Node* node_;  // whose it is
  size_t index_;
};

}  // namespace descriptor

inline std::shared_ptr<descriptor::Tensor> Output<Node>::get_tensor_ptr() const { return {node_, &get_tensor()}; }

/// "Convolution 'conv1'[0]:f32[1,64,112,112]".
TERROIR_API std::ostream& operator<<(std::ostream& out, const Output<const Node>& port);
TERROIR_API std::ostream& operator<<(std::ostream& out, const Output<Node>& port);
/// "Convolution 'conv1'".
TERROIR_API std::ostream& operator<<(std::ostream& out, const Node& node);
/// The same; "no layer" if null.
TERROIR_API std::ostream& operator<<(std::ostream& out, const Node* node);

}  // namespace terroir

#include "terroir/node_input.hpp"
