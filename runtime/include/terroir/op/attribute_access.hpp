// How the classes of terroir/ops.hpp read and change attributes of their layers.
//
// What: a getter returns what the layer has now, whether code or a file made it; a setter changes the layer in place,
//       and types and shapes that follow from it are those of before until the model is validated, reshaped, compiled
//       or written.
#pragma once

#include <cctype>
#include <cstddef>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/exception.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace detail {

/// Files may be spelled in capitals, or with other hyphens.
inline bool same_spelling(const std::string& a, const std::string& b) {
  const auto plain = [](char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (plain(a[i]) != plain(b[i])) return false;
  }
  return true;
}

/// Its position among `names`; their number if it is none of them.
template <size_t N>
size_t position(const Names<N>& names, const std::string& text) {
  size_t i = 0;
  while (i < N && !same_spelling(names[i], text)) ++i;
  return i;
}

template <typename E>
E enumerator(const std::string& text) {
  const auto names = spellings(E());
  const size_t index = position(names, text);
  if (index == names.size()) {
    throw Exception(ErrorCode::unsupported, "the class of the operation has no enumerator for '" + text + "'");
  }
  return static_cast<E>(index);
}

template <typename T>
inline constexpr bool is_list = false;
template <typename T>
inline constexpr bool is_list<std::vector<T>> = true;
template <>
inline constexpr bool is_list<Shape> = true;
template <>
inline constexpr bool is_list<Strides> = true;
template <>
inline constexpr bool is_list<CoordinateDiff> = true;
template <>
inline constexpr bool is_list<AxisSet> = true;

/// An attribute from its text.
template <typename T>
T value_of(const std::string& text) {
  if constexpr (std::is_enum_v<T>) {
    return enumerator<T>(text);
  } else if constexpr (is_list<T>) {
    return T(parse_value<std::vector<typename T::value_type>>(text));
  } else {
    return parse_value<T>(text);
  }
}

/// An attribute as set_attributes() takes it.
template <typename T>
Any any_of(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return spelling(value);
  } else if constexpr (is_list<T>) {
    using Item = typename T::value_type;
    if constexpr (std::is_integral_v<Item>) {
      return integers(value);
    } else if constexpr (std::is_floating_point_v<Item>) {
      return std::vector<double>(value.begin(), value.end());
    } else {
      return value;
    }
  } else {
    return value;
  }
}

/// The attribute that files call `name`.
template <typename T>
T attribute(const Node& layer, const char* name) {
  return value_of<T>(layer.get_attributes().at(name));
}
template <typename T>
void set_attribute(const Node& layer, const char* name, const T& value) {
  AnyMap values;
  values.emplace(name, any_of(value));
  set_attributes(layer, values);
}
/// For files that spell one enumerator in several ways.
template <typename E>
E enumerator_or(const Node& layer, const char* name, E other) {
  const auto names = spellings(other);
  const size_t index = position(names, layer.get_attributes().at(name));
  return index == names.size() ? other : static_cast<E>(index);
}

/// The attributes that visit() of a struct names; and these as constructors take them, with `more`.
template <typename Attributes>
Attributes attributes_of(const Node& layer) {
  const std::map<std::string, std::string> texts = layer.Node::get_attributes();
  Attributes attributes;
  attributes.visit(
      [&texts](const char* name, auto& value) { value = value_of<std::decay_t<decltype(value)>>(texts.at(name)); });
  return attributes;
}
template <typename Attributes>
AnyMap by_name(Attributes attributes, AnyMap more = {}) {
  attributes.visit([&more](const char* name, const auto& value) { more.emplace(name, any_of(value)); });
  return more;
}

/// How the operands of an elementwise layer are brought to one shape.
inline op::AutoBroadcastSpec broadcasting_of(const Node& layer) {
  const auto type = enumerator_or(layer, "auto_broadcast", op::AutoBroadcastType::NONE);
  if (type != op::AutoBroadcastType::PDPD) return type;
  return {type, attribute<int64_t>(layer, "auto_broadcast.auto_broadcast_axis")};
}

}  // namespace detail
}  // namespace terroir
