// How the values of an Any become texts, texts values, and numbers other numbers.
//
// Text: booleans read "YES", "NO", "TRUE", "FALSE", "ON", "OFF", "1", "0" in any case and print "YES", "NO"; lists and
//       sets read items separated by commas or blanks (and may stand in brackets) and print them separated by blanks,
//       and so do pairs and tuples;
//       maps read and print "{key:value,key:value}", whose values may be lists or maps in brackets. Other types are
//       read with operator>> or a constructor from a text, and printed with operator<<.
#pragma once

#include <cstdint>
#include <istream>
#include <iterator>
#include <limits>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "terroir/export.hpp"

namespace terroir {

class Any;

namespace detail {

/// Of what reads and prints values as this header says.
struct AsHere {};

}  // namespace detail

namespace util {

/// Reads a T from all of a stream, and writes one. A program specializes them for types of its own, which Any then
/// reads and prints so.
template <typename T, typename = void>
struct Read : detail::AsHere {
  void operator()(std::istream& in, T& value) const;
};
template <typename T, typename = void>
struct Write : detail::AsHere {
  void operator()(std::ostream& out, const T& value) const;
};

}  // namespace util

namespace detail {

template <typename T>
inline constexpr bool is_program_s = !std::is_base_of_v<AsHere, T>;

template <typename T, typename = void>
struct IsPrintable : std::false_type {};
template <typename T>
struct IsPrintable<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>>
    : std::true_type {};
template <typename T, typename = void>
struct IsReadable : std::false_type {};
template <typename T>
struct IsReadable<T, std::void_t<decltype(std::declval<std::istream&>() >> std::declval<T&>())>> : std::true_type {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T, typename A>
struct IsVector<std::vector<T, A>> : std::true_type {};
template <typename T>
struct IsSet : std::false_type {};
template <typename... Ts>
struct IsSet<std::set<Ts...>> : std::true_type {};
template <typename T>
struct IsMap : std::false_type {};
template <typename... Ts>
struct IsMap<std::map<Ts...>> : std::true_type {};
template <typename T>
struct IsTuple : std::false_type {};
template <typename... Ts>
struct IsTuple<std::tuple<Ts...>> : std::true_type {};
template <typename A, typename B>
struct IsTuple<std::pair<A, B>> : std::true_type {};
template <typename T, typename = void>
struct HasEquality : std::false_type {};
template <typename T>
struct HasEquality<T, std::void_t<decltype(bool(std::declval<const T&>() == std::declval<const T&>()))>>
    : std::true_type {};
// The operators of containers are there whatever their items are.
template <typename T>
struct IsEqualityComparable : HasEquality<T> {};
template <typename T, typename A>
struct IsEqualityComparable<std::vector<T, A>> : IsEqualityComparable<T> {};
template <typename K, typename T, typename... Rest>
struct IsEqualityComparable<std::map<K, T, Rest...>> : IsEqualityComparable<T> {};
template <typename A, typename B>
struct IsEqualityComparable<std::pair<A, B>>
    : std::bool_constant<IsEqualityComparable<A>::value && IsEqualityComparable<B>::value> {};
template <typename... Ts>
struct IsEqualityComparable<std::tuple<Ts...>> : std::bool_constant<(IsEqualityComparable<Ts>::value && ...)> {};

// Exceptions with the texts of the whole library; out of line, to keep this header light.
[[noreturn]] TERROIR_API void any_is_empty();
[[noreturn]] TERROIR_API void any_cannot_convert(const std::type_info& from, const std::string& text,
                                                 const std::type_info& to);
[[noreturn]] TERROIR_API void any_cannot_parse(const std::string& text, const char* expected);
[[noreturn]] TERROIR_API void any_cannot_compare(const std::type_info& type);
TERROIR_API bool parse_bool(const std::string& text);
TERROIR_API int64_t parse_integer(const std::string& text);
TERROIR_API uint64_t parse_unsigned(const std::string& text);
TERROIR_API double parse_real(const std::string& text);
TERROIR_API std::vector<std::string> split_items(const std::string& text);
/// "{a:1,b:{c:2}}" -> {"a", "1"}, {"b", "{c:2}"}.
TERROIR_API std::vector<std::pair<std::string, std::string>> split_entries(const std::string& text);
/// The shortest text that reads back as the same number of the type.
TERROIR_API std::string print_real(double value);
TERROIR_API std::string print_real(float value);

template <typename T>
std::string print_value(const T& value);
template <typename T>
T parse_value(const std::string& text);

template <typename Tuple, size_t... I>
std::string print_tuple(const Tuple& value, std::index_sequence<I...>) {
  std::string text;
  ((text += (I == 0 ? "" : " ") + print_value(std::get<I>(value))), ...);
  return text;
}

template <typename Tuple, size_t... I>
Tuple parse_tuple(const std::string& text, std::index_sequence<I...>) {
  const std::vector<std::string> items = split_items(text);
  if (items.size() != sizeof...(I)) any_cannot_parse(text, "a list of another length");
  return Tuple{parse_value<std::tuple_element_t<I, Tuple>>(items[I])...};
}

template <typename T>
std::string print_value(const T& value) {
  if constexpr (is_program_s<util::Write<T>>) {
    std::ostringstream out;
    util::Write<T>()(out, value);
    return out.str();
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "YES" : "NO";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return print_real(static_cast<std::conditional_t<std::is_same_v<T, float>, float, double>>(value));
  } else if constexpr (IsTuple<T>::value) {
    return print_tuple(value, std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (IsMap<T>::value) {
    std::string text = "{";
    for (const auto& [key, item] : value) {
      if (text.size() > 1) text += ',';
      text += print_value(key) + ':' + print_value(item);
    }
    return text + '}';
  } else if constexpr (IsPrintable<T>::value) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else if constexpr (IsVector<T>::value || IsSet<T>::value) {
    std::string text;
    for (const auto& item : value) {
      if (!text.empty()) text += ' ';
      text += print_value<typename T::value_type>(item);
    }
    return text;
  } else {
    return std::string("<") + typeid(T).name() + ">";
  }
}

template <typename T>
T parse_value(const std::string& text) {
  if constexpr (is_program_s<util::Read<T>>) {
    std::istringstream in(text);
    T value{};
    util::Read<T>()(in, value);
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return parse_bool(text);
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Any>) {
    return text;
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    const int64_t value = parse_integer(text);
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
      any_cannot_parse(text, "a number that fits the type");
    }
    return static_cast<T>(value);
  } else if constexpr (std::is_integral_v<T>) {
    const uint64_t value = parse_unsigned(text);
    if (value > std::numeric_limits<T>::max()) any_cannot_parse(text, "a number that fits the type");
    return static_cast<T>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(parse_real(text));
  } else if constexpr (IsVector<T>::value) {
    T items;
    for (const std::string& item : split_items(text)) items.push_back(parse_value<typename T::value_type>(item));
    return items;
  } else if constexpr (IsSet<T>::value) {
    T items;
    for (const std::string& item : split_items(text)) items.insert(parse_value<typename T::value_type>(item));
    return items;
  } else if constexpr (IsMap<T>::value) {
    T map;
    for (const auto& [key, item] : split_entries(text)) {
      map.emplace(parse_value<typename T::key_type>(key), parse_value<typename T::mapped_type>(item));
    }
    return map;
  } else if constexpr (IsTuple<T>::value) {
    return parse_tuple<T>(text, std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (std::is_constructible_v<T, const std::string&> &&
                       !std::is_convertible_v<const std::string&, T>) {
    return T(text);  // value types that read themselves: Shape, Dimension, element::Type
  } else if constexpr (std::is_convertible_v<const std::string&, T>) {
    return text;
  } else if constexpr (IsReadable<T>::value) {
    std::istringstream in(text);
    T value{};
    in >> value;
    if (in.fail()) any_cannot_parse(text, typeid(T).name());
    return value;
  } else {
    any_cannot_convert(typeid(std::string), text, typeid(T));
  }
}

/// The value as T if both are numbers and it fits. Integers take what is before the point.
template <typename T, typename From>
bool convert_number(const From& from, T& to) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<From, bool>) {
    if (from != From(0) && from != From(1)) return false;
    to = static_cast<T>(from);
    return true;
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<From>) {
    to = static_cast<T>(from);
    return static_cast<From>(to) == from && (to < T(0)) == (from < From(0));
  } else if constexpr (std::is_integral_v<T>) {
    // The bounds are powers of two, exact in floating point.
    const auto limit = static_cast<double>(std::numeric_limits<T>::max() / 2 + 1) * 2;
    if (!(from < limit && (std::is_signed_v<T> ? from >= -limit : from > -1))) return false;
    to = static_cast<T>(from);
    return true;
  } else {
    to = static_cast<T>(from);
    return true;
  }
}

}  // namespace detail

template <typename T, typename Unused>
void util::Read<T, Unused>::operator()(std::istream& in, T& value) const {
  value = detail::parse_value<T>(std::string(std::istreambuf_iterator<char>(in), {}));
}
template <typename T, typename Unused>
void util::Write<T, Unused>::operator()(std::ostream& out, const T& value) const {
  out << detail::print_value(value);
}

}  // namespace terroir
