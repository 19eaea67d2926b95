// Constants of models made in code.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "terroir/element_type.hpp"
#include "terroir/exception.hpp"
#include "terroir/export.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/layer.hpp"
#include "terroir/shape.hpp"
#include "terroir/tensor.hpp"

namespace terroir {

namespace detail {

/// Calls visit(T()) with the C++ type that stores elements of `type`. Throws Exception (unsupported) for types narrower
/// than a byte and those that hold no numbers.
template <typename Visit>
void visit_element_type(const element::Type& type, const Visit& visit) {
  switch (type) {
    case element::Type_t::boolean:
      return visit(char());
    case element::Type_t::bf16:
      return visit(bfloat16());
    case element::Type_t::f16:
      return visit(float16());
    case element::Type_t::f32:
      return visit(float());
    case element::Type_t::f64:
      return visit(double());
    case element::Type_t::i8:
      return visit(int8_t());
    case element::Type_t::i16:
      return visit(int16_t());
    case element::Type_t::i32:
      return visit(int32_t());
    case element::Type_t::i64:
      return visit(int64_t());
    case element::Type_t::u8:
      return visit(uint8_t());
    case element::Type_t::u16:
      return visit(uint16_t());
    case element::Type_t::u32:
      return visit(uint32_t());
    case element::Type_t::u64:
      return visit(uint64_t());
    default:
      throw Exception(ErrorCode::unsupported, "a constant of type " + type.get_type_name() + " has no plain numbers");
  }
}

template <typename To, typename From>
To convert_element(From value) {
  constexpr bool halves = !std::is_arithmetic_v<To> || !std::is_arithmetic_v<From>;
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (halves) {
    return static_cast<To>(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace detail

namespace op {
namespace v0 {

class TERROIR_API Constant : public Node {
 public:
  static DiscreteTypeInfo get_type_info_static() { return {"Constant", "opset1"}; }
  explicit Constant(const detail::NodeHandle& handle) : Node(handle) {}

  /// The memory of a continuous tensor is shared unless it is the user's.
  explicit Constant(const Tensor& value) : Node(detail::make_constant(value)) {}
  /// A copy of dense elements.
  Constant(const element::Type& type, const Shape& shape, const void* data) : Constant(copied(type, shape, data)) {}
  /// Elements converted to `type`; one element fills the whole shape. Throws Exception (invalid_argument) for another
  /// number of elements, (unsupported) for types narrower than a byte.
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Constant(const element::Type& type, const Shape& shape, const std::vector<T>& values)
      : Constant(converted(type, shape, values.size(), [&values](size_t i) { return static_cast<T>(values[i]); })) {}
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Constant(const element::Type& type, const Shape& shape, T value)
      : Constant(converted(type, shape, 1, [value](size_t) { return value; })) {}

  template <typename T>
  static std::shared_ptr<Constant> create(const element::Type& type, const Shape& shape, const std::vector<T>& values) {
    return std::make_shared<Constant>(type, shape, values);
  }
  template <typename T>
  static std::shared_ptr<Constant> create(const element::Type& type, const Shape& shape,
                                          std::initializer_list<T> values) {
    return std::make_shared<Constant>(type, shape, std::vector<T>(values));
  }
  static std::shared_ptr<Constant> create(const element::Type& type, const Shape& shape, const void* data) {
    return std::make_shared<Constant>(type, shape, data);
  }

  const void* get_data_ptr() const { return detail::constant_value(*this).data(); }
  /// Throws Exception (type_mismatch) if T does not store the element type.
  template <typename T>
  const T* get_data_ptr() const {
    return detail::constant_value(*this).template data<T>();
  }
  size_t get_byte_size() const { return detail::constant_value(*this).get_byte_size(); }
  template <typename T>
  std::vector<T> get_vector() const {
    const Tensor value = detail::constant_value(*this);
    const T* const elements = value.data<T>();
    return {elements, elements + value.get_size()};
  }
  /// The elements converted to T.
  template <typename T>
  std::vector<T> cast_vector() const {
    const Tensor value = detail::constant_value(*this);
    std::vector<T> result(value.get_size());
    detail::visit_element_type(value.get_element_type(), [&](auto element) {
      const auto* const elements = value.data<decltype(element)>();
      for (size_t i = 0; i < result.size(); ++i) result[i] = detail::convert_element<T>(elements[i]);
    });
    return result;
  }

 private:
  static Tensor copied(const element::Type& type, const Shape& shape, const void* data) {
    Tensor value(type, shape);
    if (value.get_byte_size() != 0) std::memcpy(value.data(), data, value.get_byte_size());
    return value;
  }
  template <typename ValueAt>
  static Tensor converted(const element::Type& type, const Shape& shape, size_t given, const ValueAt& value_at) {
    Tensor value(type, shape);
    const size_t count = value.get_size();
    if (given != count && given != 1) {
      throw Exception(ErrorCode::invalid_argument, "a constant of shape " + shape.to_string() + " takes " +
                                                       std::to_string(count) + " elements or one, got " +
                                                       std::to_string(given));
    }
    detail::visit_element_type(type, [&](auto element) {
      using T = decltype(element);
      auto* const elements = static_cast<T*>(value.data());
      for (size_t i = 0; i < count; ++i) elements[i] = detail::convert_element<T>(value_at(given == 1 ? 0 : i));
    });
    return value;
  }
};

}  // namespace v0
}  // namespace op

namespace detail {

/// The elements of an input that is a Constant; else none.
template <typename T>
std::vector<T> constant_input(const Node& layer, size_t index) {
  const auto constant = as_type_ptr<op::v0::Constant>(layer.get_input_node_shared_ptr(index));
  return constant != nullptr ? constant->cast_vector<T>() : std::vector<T>();
}
template <typename T>
T constant_number(const Node& layer, size_t index, T otherwise) {
  const std::vector<T> values = constant_input<T>(layer, index);
  return values.empty() ? otherwise : values.front();
}

/// An axis of input 0, which may be negative: counted from the end.
inline size_t axis_from_front(const Node& layer, int64_t axis) {
  if (axis >= 0) return static_cast<size_t>(axis);
  const Dimension rank = layer.get_input_partial_shape(0).rank();
  if (rank.is_dynamic()) throw Exception(ErrorCode::invalid_argument, "the rank is unknown, and the axis negative");
  return static_cast<size_t>(axis + rank.get_length());
}
/// The axes that an input names; none if it is no Constant.
inline AxisSet constant_axes(const Node& layer, size_t index) {
  AxisSet axes;
  for (const int64_t axis : constant_input<int64_t>(layer, index)) axes.insert(axis_from_front(layer, axis));
  return axes;
}

}  // namespace detail
}  // namespace terroir
