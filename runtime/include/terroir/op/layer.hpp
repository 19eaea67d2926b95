// What the classes of terroir/ops.hpp are made of.
//
// What: constructing one makes a layer: type and shape are inferred at once, so a port tells its shape and an error
//       comes from the line that made it. The layer belongs to no model yet, or to the model of its inputs.
// Threads: layers that are to become one model are made by one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/export.hpp"
#include "terroir/node.hpp"
#include "terroir/tensor.hpp"

namespace terroir {

namespace detail {

/// A layer as the set `opset` defines it; attributes as in ModelBuilder::op(). Throws Exception: invalid_argument for
/// inputs of different models, and what the operation refuses.
TERROIR_API NodeHandle make_layer(const char* type, const char* opset, const OutputVector& inputs,
                                  const AnyMap& attributes);
/// A layer that is still being put together: inputs, attributes, bodies come one by one; it has no outputs until it is
/// inferred.
TERROIR_API NodeHandle make_open_layer(const char* type, const char* opset, const OutputVector& inputs);
/// A constant; the tensor's memory is shared if it is continuous and not the user's.
TERROIR_API NodeHandle make_constant(const Tensor& value);
/// Type and shape of a Parameter, whose readers are not inferred yet.
TERROIR_API void set_parameter(const Node& parameter, const element::Type& type, const PartialShape& shape);
/// Changes attributes, named as in make_layer(). What follows from them is not inferred yet. Throws Exception as
/// make_layer() for names and values.
TERROIR_API void set_attributes(const Node& layer, const AnyMap& values);
/// An object of the class that `make` makes, for the same layer. The first call makes it, and it lives as long as
/// `node`; of a layer of a model, as long as that. If the layer's object has a class of its own: that object.
TERROIR_API std::shared_ptr<Node> object_of_class(const Node& node, std::shared_ptr<Node> (*make)(const NodeHandle&));
/// The elements of a Constant, not to be written to.
TERROIR_API Tensor constant_value(const Node& constant);
/// Whether all elements have the same bits; texts, the same characters.
TERROIR_API bool has_one_value(const Tensor& value);
TERROIR_API NodeHandle handle_of(const Node& node);
/// From now on the object is one of the layer `handle` stands for.
TERROIR_API void stand_for(Node& object, const NodeHandle& handle);

template <typename Class, typename = void>
struct HasTypeInfo : std::false_type {};
template <typename Class>
struct HasTypeInfo<Class, std::void_t<decltype(Class::get_type_info_static())>> : std::true_type {};
/// Null for a class that does not say what it is.
template <typename Class>
constexpr const DiscreteTypeInfo* type_info_of() {
  if constexpr (HasTypeInfo<Class>::value) {
    return &Class::get_type_info_static();
  } else {
    return nullptr;
  }
}

}  // namespace detail

/// What a class is, and what it is derived from.
#define TERROIR_TYPE_INFO(Base, Name, version)                                                                     \
 private:                                                                                                          \
  static constexpr ::terroir::DiscreteTypeInfo kTypeInfo{#Name, version, ::terroir::detail::type_info_of<Base>()}; \
                                                                                                                   \
 public:                                                                                                           \
  static constexpr const ::terroir::DiscreteTypeInfo& get_type_info_static() { return kTypeInfo; }
/// Members of every class of terroir/ops.hpp: what it is, a layer that gets its inputs later (Node::set_arguments()),
/// and the form that takes attributes by their names in IR files. `Name` as OpenVINO calls it, `type` as IR files spell
/// it.
#define TERROIR_LAYER(Name, type, opset) TERROIR_LAYER_OF(::terroir::Node, Name, type, opset)
/// The same of a class that shares functions with others in `Base`.
#define TERROIR_LAYER_OF(Base, Name, type, opset)                                                \
  TERROIR_TYPE_INFO(Base, Name, opset)                                                           \
  Name() : Base(::terroir::detail::make_open_layer(type, opset, {})) {}                          \
  explicit Name(const ::terroir::detail::NodeHandle& handle) : Base(handle) {}                   \
  explicit Name(const ::terroir::OutputVector& inputs, const ::terroir::AnyMap& attributes = {}) \
      : Base(::terroir::detail::make_layer(type, opset, inputs, attributes)) {}
/// Members of classes that others are derived from.
#define TERROIR_LAYER_BASE(Base, Name)  \
  TERROIR_TYPE_INFO(Base, Name, "util") \
  explicit Name(const ::terroir::detail::NodeHandle& handle) : Base(handle) {}

/// Whether the layer is of this class, or of one that is derived from it.
template <typename T>
bool is_type(const Node* node) {
  return node != nullptr && node->get_type_info().is_castable(T::get_type_info_static());
}
/// The same of passes, attributes and whatever else has type information.
template <typename T, typename Value>
auto is_type(const Value* value) -> std::enable_if_t<!std::is_base_of_v<Node, Value>, bool> {
  return value != nullptr && value->get_type_info().is_castable(T::get_type_info_static());
}
template <typename T, typename NodeT>
bool is_type(const std::shared_ptr<NodeT>& node) {
  return is_type<T>(node.get());
}
template <typename T, typename NodeT>
bool is_type(const Output<NodeT>& port) {
  return is_type<T>(port.get_node());
}
/// Whether it is of one of these classes.
template <typename... Types, typename LayerT>
bool is_type_any_of(const LayerT& layer) {
  return (is_type<Types>(layer) || ...);
}

namespace detail {

/// Makes objects of class T for layers that exist; terroir/op/op.hpp does for classes of the program's own.
template <typename T, typename = void>
struct ObjectMaker {
  static std::shared_ptr<Node> make(const NodeHandle& handle) { return std::make_shared<T>(handle); }
};
/// An object of class T, which the layer is of; null if its object has another class.
template <typename T>
std::shared_ptr<T> object_as(const Node& node) {
  return std::dynamic_pointer_cast<T>(object_of_class(node, ObjectMaker<T>::make));
}

}  // namespace detail

/// The layer as this class, or null: `node` itself if it is an object of it, or another object of the same layer, which
/// lives as long as `node`.
template <typename T, typename NodeT>
std::enable_if_t<std::is_base_of_v<Node, NodeT>, std::shared_ptr<T>> as_type_ptr(const std::shared_ptr<NodeT>& node) {
  using Class = std::remove_const_t<T>;
  if (!is_type<Class>(node.get())) return nullptr;
  if constexpr (!std::is_const_v<NodeT> || std::is_const_v<T>) {
    if (auto same = std::dynamic_pointer_cast<T>(node)) return same;
  }
  if (auto made = detail::object_as<Class>(*node)) return made;
  return std::dynamic_pointer_cast<Class>(detail::ObjectMaker<Class>::make(detail::handle_of(*node)));
}

template <typename T, typename Value>
std::enable_if_t<!std::is_base_of_v<Node, Value>, std::shared_ptr<T>> as_type_ptr(const std::shared_ptr<Value>& value) {
  return is_type<std::remove_const_t<T>>(value.get()) ? std::dynamic_pointer_cast<T>(value) : nullptr;
}

/// The same as a plain pointer, which lives as long as the object `node` points to.
template <typename T, typename NodeT>
auto as_type(NodeT* node) -> std::enable_if_t<std::is_base_of_v<Node, NodeT>, decltype(static_cast<T*>(node))> {
  using Class = std::remove_const_t<T>;
  if (!is_type<Class>(node)) return nullptr;
  if (T* same = dynamic_cast<T*>(node)) return same;
  return detail::object_as<Class>(*node).get();
}
template <typename T, typename Value>
auto as_type(Value* value) -> std::enable_if_t<!std::is_base_of_v<Node, Value>, decltype(static_cast<T*>(value))> {
  return is_type<std::remove_const_t<T>>(value) ? dynamic_cast<T*>(value) : nullptr;
}

}  // namespace terroir
