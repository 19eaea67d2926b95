// Constants of models made in code.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "terroir/any_text.hpp"
#include "terroir/element_type.hpp"
#include "terroir/exception.hpp"
#include "terroir/export.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/layer.hpp"
#include "terroir/shape.hpp"
#include "terroir/tensor.hpp"

namespace terroir {

namespace detail {

/// Over elements that are not copied; without an owner, the program's.
TERROIR_API Tensor tensor_over(const element::Type& type, const Shape& shape, const void* data,
                               std::shared_ptr<void> owner);

/// Types whose elements no C++ type stores: those narrower than a byte, and floats of a byte.
inline bool is_narrow(const element::Type& type) {
  return type.bitwidth() < 8 ? type.is_static() : type.bitwidth() == 8 && type.is_real();
}
/// An element of such a type. Of nf4 it may be the code instead, 0 to 15, which stands for one of its 16 values.
TERROIR_API double narrow_element(const element::Type& type, const void* elements, size_t index, bool is_code);
/// The nearest value of a floating-point type; integers are cut, and u1 is 0 or 1. Throws Exception (invalid_argument)
/// for one that does not fit.
TERROIR_API void set_narrow_element(const element::Type& type, void* elements, size_t index, double value,
                                    bool is_code);

/// Numbers, also those of 8 and 16 bits that are classes.
template <typename T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || (std::is_class_v<T> && std::is_convertible_v<T, float>);

/// Calls visit(T()) with the C++ type that stores elements of `type`. Throws Exception (unsupported) for narrow types
/// and those that hold no numbers.
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

/// Whether To has the value, rounded at most; infinities and NaN if it has such.
template <typename To, typename From>
bool fits(From value) {
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_same_v<To, From> || std::is_same_v<From, bool>) {
    return true;
  } else if constexpr (!std::is_integral_v<To>) {
    const double number = convert_element<double>(value), most = convert_element<double>(Limits::max());
    return !(number < -most || number > most) || std::isinf(number);
  } else if constexpr (std::is_integral_v<From>) {
    if (value < From(0))
      return std::is_signed_v<To> && static_cast<int64_t>(value) >= static_cast<int64_t>(Limits::min());
    return static_cast<uint64_t>(value) <= static_cast<uint64_t>(Limits::max());
  } else {
    const double number = convert_element<double>(value);
    return number >= static_cast<double>(Limits::min()) && number < std::ldexp(1.0, Limits::digits);
  }
}

template <typename Number>
std::string text_of(Number value) {
  if constexpr (std::is_integral_v<Number>) {
    return std::to_string(value);
  } else {
    return print_real(convert_element<double>(value));
  }
}

/// The number that holds every T.
template <typename T>
using Widest =
    std::conditional_t<!std::is_integral_v<T>, double, std::conditional_t<std::is_unsigned_v<T>, uint64_t, int64_t>>;

/// Throws Exception: parse_error for a text that is no number, invalid_argument for one that does not fit.
template <typename T>
T parse_element(const std::string& text) {
  const auto number = Any(text).as<Widest<T>>();
  if constexpr (std::is_integral_v<T>) {
    if (number < static_cast<Widest<T>>(std::numeric_limits<T>::min()) ||
        number > static_cast<Widest<T>>(std::numeric_limits<T>::max()))
      throw Exception(ErrorCode::invalid_argument, "'" + text + "' does not fit the type of the constant");
  }
  return convert_element<T>(number);
}

}  // namespace detail

namespace op {
namespace v0 {

class TERROIR_API Constant : public Node {
  TERROIR_TYPE_INFO(Node, Constant, "opset1")
  explicit Constant(const detail::NodeHandle& handle) : Node(handle) {}

  /// Without elements.
  Constant() : Constant(Tensor(element::f32, Shape{0})) {}
  /// The memory of a continuous tensor is shared unless it is the user's.
  explicit Constant(const Tensor& value) : Node(detail::make_constant(value)) {}
  /// A copy of dense elements.
  Constant(const element::Type& type, const Shape& shape, const void* data) : Constant(copied(type, shape, data)) {}
  /// These dense elements, not copied: the layer and what is made of it keep `owner`. Without one the program keeps the
  /// elements, and leaves them as they are, as long as there is a model or a compiled model with this layer.
  Constant(const element::Type& type, const Shape& shape, const void* data, const std::shared_ptr<void>& owner)
      : Constant(detail::tensor_over(type, shape, data, owner)) {}
  /// Elements converted to `type`; one element fills the whole shape. Integers for nf4 are codes, other numbers values.
  /// Throws Exception (invalid_argument) for another number of elements, for one of them that does not fit a type
  /// narrower than a byte, and for a single one that does not fit the type; others of a list are cut as by static_cast.
  template <typename T, typename = std::enable_if_t<detail::is_number<T>>>
  Constant(const element::Type& type, const Shape& shape, const std::vector<T>& values)
      : Constant(converted(type, shape, values.size(), [&values](size_t i) { return static_cast<T>(values[i]); })) {}
  template <typename T, typename = std::enable_if_t<detail::is_number<T>>>
  Constant(const element::Type& type, const Shape& shape, T value)
      : Constant(converted(type, shape, 1, [value](size_t) { return value; })) {}
  /// Zeros.
  Constant(const element::Type& type, const Shape& shape) : Constant(Tensor(type, shape)) {}
  /// Texts; for other types than element::string, numbers.
  Constant(const element::Type& type, const Shape& shape, const std::vector<std::string>& values)
      : Constant(parsed(type, shape, values)) {}
  /// Another layer with the same elements, and with as many in another shape.
  Constant(const Constant& other) : Constant(detail::constant_value(other)) {}
  Constant(const Constant& other, const Shape& new_shape)
      : Constant(reshaped(detail::constant_value(other), new_shape)) {}

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
  /// Of any type as bytes. Throws Exception (type_mismatch) if another T does not store the element type.
  template <typename T>
  const T* get_data_ptr() const {
    if constexpr (std::is_integral_v<T> && sizeof(T) == 1) {
      return static_cast<const T*>(get_data_ptr());
    } else {
      return detail::constant_value(*this).template data<T>();
    }
  }
  template <element::Type_t T>
  const fundamental_type_for<T>* get_data_ptr() const {
    if (get_output_element_type(0) != T)
      throw Exception(ErrorCode::type_mismatch, "the constant is " + get_output_element_type(0).get_type_name() +
                                                    ", not " + element::Type(T).get_type_name());
    return static_cast<const fundamental_type_for<T>*>(get_data_ptr());
  }
  size_t get_byte_size() const { return detail::constant_value(*this).get_byte_size(); }
  /// The elements; those narrower than a byte as bytes, one each.
  template <typename T>
  const std::vector<T> get_vector() const {
    const Tensor value = detail::constant_value(*this);
    if constexpr (std::is_integral_v<T> && sizeof(T) == 1) {
      if (value.get_element_type().bitwidth() < 8) return cast_vector<T>();
    }
    const T* const elements = value.data<T>();
    return {elements, elements + value.get_size()};
  }
  /// The elements, or the first of them, converted to T; of nf4 codes for an integer T, else values.
  template <typename T>
  std::vector<T> cast_vector(int64_t num_elements = -1) const {
    const Tensor value = detail::constant_value(*this);
    std::vector<T> result(num_elements < 0 ? value.get_size()
                                           : std::min(value.get_size(), static_cast<size_t>(num_elements)));
    if (const element::Type type = value.get_element_type(); detail::is_narrow(type)) {
      for (size_t i = 0; i < result.size(); ++i)
        result[i] = detail::convert_element<T>(
            detail::narrow_element(type, value.data(), i, std::is_integral_v<T> && type == element::nf4));
      return result;
    }
    detail::visit_element_type(value.get_element_type(), [&](auto element) {
      const auto* const elements = value.data<decltype(element)>();
      for (size_t i = 0; i < result.size(); ++i) result[i] = detail::convert_element<T>(elements[i]);
    });
    return result;
  }

  /// The elements as such lists; negative ones as 0, but for differences.
  Shape get_shape_val() const { return Shape(not_negative()); }
  Strides get_strides_val() const { return Strides(not_negative()); }
  Coordinate get_coordinate_val() const { return Coordinate(not_negative()); }
  CoordinateDiff get_coordinate_diff_val() const { return cast_vector<std::ptrdiff_t>(); }
  AxisVector get_axis_vector_val() const { return not_negative(); }
  AxisSet get_axis_set_val() const { return not_negative(); }
  /// One element as a text, and all of them.
  std::string convert_value_to_string(size_t index) const { return get_value_strings().at(index); }
  std::vector<std::string> get_value_strings() const {
    const Tensor value = detail::constant_value(*this);
    const element::Type type = value.get_element_type();
    if (type == element::string) return get_vector<std::string>();
    std::vector<std::string> texts;
    if (detail::is_narrow(type)) {
      for (const double number : cast_vector<double>()) texts.push_back(Any(number).as<std::string>());
      return texts;
    }
    detail::visit_element_type(value.get_element_type(), [&](auto element) {
      using T = decltype(element);
      const auto* const elements = value.data<T>();
      for (size_t i = 0; i < value.get_size(); ++i) {
        texts.push_back(Any(detail::convert_element<detail::Widest<T>>(elements[i])).template as<std::string>());
      }
    });
    return texts;
  }
  bool get_all_data_elements_bitwise_identical() const { return detail::has_one_value(detail::constant_value(*this)); }
  const Strides get_strides() const { return detail::constant_value(*this).get_strides(); }
  const Tensor get_tensor_view() const { return detail::constant_value(*this); }

 private:
  std::vector<size_t> not_negative() const {
    std::vector<size_t> result;
    for (const int64_t element : cast_vector<int64_t>())
      result.push_back(element < 0 ? 0 : static_cast<size_t>(element));
    return result;
  }
  static Tensor parsed(const element::Type& type, const Shape& shape, const std::vector<std::string>& values) {
    Tensor value(type, shape);
    if (values.size() != value.get_size() && values.size() != 1) throw_count(shape, value.get_size(), values.size());
    const auto at = [&](size_t i) -> const std::string& { return values[values.size() == 1 ? 0 : i]; };
    if (type == element::string) {
      auto* const texts = static_cast<std::string*>(value.data());
      for (size_t i = 0; i < value.get_size(); ++i) texts[i] = at(i);
      return value;
    }
    if (detail::is_narrow(type)) {
      for (size_t i = 0; i < value.get_size(); ++i)
        detail::set_narrow_element(type, value.data(), i, detail::parse_element<double>(at(i)), false);
      return value;
    }
    detail::visit_element_type(type, [&](auto element) {
      using T = decltype(element);
      auto* const elements = static_cast<T*>(value.data());
      for (size_t i = 0; i < value.get_size(); ++i) elements[i] = detail::parse_element<T>(at(i));
    });
    return value;
  }
  static Tensor reshaped(Tensor value, const Shape& shape) {
    if (shape_size(shape) != value.get_size()) throw_count(shape, shape_size(shape), value.get_size());
    return copied(value.get_element_type(), shape, value.data());
  }
  [[noreturn]] static void throw_count(const Shape& shape, size_t expected, size_t given) {
    throw Exception(ErrorCode::invalid_argument, "a constant of shape " + shape.to_string() + " takes " +
                                                     std::to_string(expected) + " elements or one, got " +
                                                     std::to_string(given));
  }
  [[noreturn]] static void throw_unfit(const element::Type& type, const std::string& value) {
    throw Exception(ErrorCode::invalid_argument,
                    "the value " + value + " does not fit the type " + type.get_type_name() + " of the constant");
  }
  static Tensor copied(const element::Type& type, const Shape& shape, const void* data) {
    Tensor value(type, shape);
    if (type == element::string) {
      std::copy_n(static_cast<const std::string*>(data), value.get_size(), static_cast<std::string*>(value.data()));
    } else if (value.get_byte_size() != 0) {
      std::memcpy(value.data(), data, value.get_byte_size());
    }
    return value;
  }
  template <typename ValueAt>
  static Tensor converted(const element::Type& type, const Shape& shape, size_t given, const ValueAt& value_at) {
    Tensor value(type, shape);
    const size_t count = value.get_size();
    if (given != count && given != 1) throw_count(shape, count, given);
    if (detail::is_narrow(type)) {
      const bool is_code = std::is_integral_v<decltype(value_at(0))> && type == element::nf4;
      for (size_t i = 0; i < count; ++i)
        detail::set_narrow_element(type, value.data(), i, detail::convert_element<double>(value_at(given == 1 ? 0 : i)),
                                   is_code);
      return value;
    }
    detail::visit_element_type(type, [&](auto element) {
      using T = decltype(element);
      if (given == 1 && !detail::fits<T>(value_at(0))) throw_unfit(type, detail::text_of(value_at(0)));
      auto* const elements = static_cast<T*>(value.data());
      for (size_t i = 0; i < count; ++i) elements[i] = detail::convert_element<T>(value_at(given == 1 ? 0 : i));
    });
    return value;
  }
};

}  // namespace v0
}  // namespace op

/// Whether both are Constants of the same type, shape and elements; floating-point ones bit by bit.
inline bool compare_constants(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) {
  if (!is_type<op::v0::Constant>(a) || !is_type<op::v0::Constant>(b)) return false;
  const Tensor x = detail::constant_value(*a), y = detail::constant_value(*b);
  if (x.get_element_type() != y.get_element_type() || x.get_shape() != y.get_shape()) return false;
  if (x.get_element_type() == element::string)
    return std::equal(x.data<std::string>(), x.data<std::string>() + x.get_size(), y.data<std::string>());
  return x.get_byte_size() == 0 || std::memcmp(x.data(), y.data(), x.get_byte_size()) == 0;
}

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

inline bool Node::constant_fold(OutputVector& outputs, const OutputVector& inputs) {
  TensorVector known;
  for (const Output<Node>& input : inputs) {
    if (!is_type<op::v0::Constant>(input)) return false;
    known.push_back(detail::constant_value(*input.get_node()));
  }
  if (inputs.empty() || !has_evaluate()) return false;
  // Classes of the program's write to tensors that are there.
  TensorVector made;
  for (const Output<Node>& port : this->outputs())
    made.push_back(port.get_element_type() == element::dynamic ? Tensor() : Tensor(port));
  if (!evaluate(made, known, EvaluationContext())) return false;
  outputs.clear();
  for (const Tensor& output : made) outputs.push_back(std::make_shared<op::v0::Constant>(output));
  return true;
}

}  // namespace terroir
