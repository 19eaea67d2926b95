// What a property is: a key with the type of its values.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <istream>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include "terroir/any.hpp"
#include "terroir/exception.hpp"

namespace terroir {

enum class PropertyMutability {
  RO,  ///< can only be read
  RW,  ///< can be set, too
  WO   ///< can only be set
};

/// The key of a property and whether it can be set.
struct PropertyName : std::string {
  PropertyName() = default;
  PropertyName(const std::string& name, PropertyMutability mutability = PropertyMutability::RW)  // NOLINT: implicit
      : std::string(name), mutability_(mutability) {}
  PropertyName(const char* name) : PropertyName(std::string(name)) {}  // NOLINT: implicit, as in OpenVINO
  bool is_mutable() const { return mutability_ != PropertyMutability::RO; }
  PropertyMutability get_mutability() const { return mutability_; }

 private:
  PropertyMutability mutability_ = PropertyMutability::RW;
};

/// A property of type T: calling it with a value gives the entry of an AnyMap. The value may be a T, a number that
/// fits, or a text that says one; else Exception as of Any::as<T>().
template <typename T, PropertyMutability mutability_ = PropertyMutability::RW>
class Property {
 public:
  using value_type = T;
  static constexpr PropertyMutability mutability = mutability_;

  constexpr Property(const char* name) : name_(name) {}  // NOLINT: implicit, as in OpenVINO
  constexpr const char* name() const { return name_; }
  template <typename V, PropertyMutability m = mutability_>
  std::enable_if_t<m != PropertyMutability::RO, std::pair<std::string, Any>> operator()(V&& value) const {
    return {name_, Any(value_of(std::forward<V>(value)))};
  }
  operator PropertyName() const { return {name_, mutability_}; }  // NOLINT: implicit, as in OpenVINO

  friend bool operator==(const Property& property, const std::string& name) { return property.name_ == name; }
  friend bool operator==(const std::string& name, const Property& property) { return property == name; }
  friend std::ostream& operator<<(std::ostream& out, const Property& property) { return out << property.name_; }

 private:
  template <typename V>
  static T value_of(V&& value) {
    using D = std::decay_t<V>;
    constexpr bool is_text = std::is_convertible_v<V&&, std::string>;
    if constexpr (std::is_same_v<T, D>) {
      return std::forward<V>(value);
    } else if constexpr (std::is_same_v<T, std::string> && is_text) {
      return std::string(std::forward<V>(value));
    } else if constexpr (is_text) {
      return detail::parse_value<T>(std::string(std::forward<V>(value)));
    } else if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
      return Any(std::forward<V>(value)).template as<T>();
    } else {
      return T(std::forward<V>(value));
    }
  }

  const char* name_;
};

/// True if every type can be an entry of an AnyMap.
template <typename... Ts>
inline constexpr bool are_properties = (std::is_convertible_v<Ts, std::pair<std::string, Any>> && ...);

namespace detail {

// Enumerations with a function enumerator_names(E) beside them, an array of pairs (value, text), print as the text and
// read it in any case.
template <typename E, typename = std::enable_if_t<std::is_enum_v<E>>>
auto operator<<(std::ostream& out, E value) -> std::enable_if_t<(enumerator_names(E()).size() > 0), std::ostream&> {
  for (const auto& [candidate, name] : enumerator_names(value)) {
    if (candidate == value) return out << name;
  }
  return out << "?";
}

inline std::string upper_case(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return word;
}

template <typename E, typename = std::enable_if_t<std::is_enum_v<E>>>
auto operator>>(std::istream& in, E& value) -> std::enable_if_t<(enumerator_names(E()).size() > 0), std::istream&> {
  std::string word;
  in >> word;
  std::string known;
  for (const auto& [candidate, name] : enumerator_names(E())) {
    if (upper_case(word) == upper_case(name)) {
      value = candidate;
      return in;
    }
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw Exception(ErrorCode::parse_error, "'" + word + "' is not one of " + known);
}

}  // namespace detail

}  // namespace terroir
