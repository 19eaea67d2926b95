// A value of any type, for properties and runtime information.
//
// What: holds one copyable value. as<T>() gives it back, converting where the meaning is plain: a text is parsed,
//       numbers convert to each other if the value fits, and as<std::string>() prints whatever is held.
// Text: booleans read "YES", "NO", "TRUE", "FALSE", "ON", "OFF", "1", "0" in any case and print "YES", "NO"; lists read
//       items separated by commas or blanks (and may stand in brackets) and print them separated by blanks.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "terroir/exception.hpp"
#include "terroir/export.hpp"

namespace terroir {

class Any;
/// Named values: the properties of a device, the runtime information of a layer.
using AnyMap = std::map<std::string, Any>;

namespace detail {

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
struct IsTuple : std::false_type {};
template <typename... Ts>
struct IsTuple<std::tuple<Ts...>> : std::true_type {};
template <typename T, typename = void>
struct IsEqualityComparable : std::false_type {};
template <typename T>
struct IsEqualityComparable<T, std::void_t<decltype(bool(std::declval<const T&>() == std::declval<const T&>()))>>
    : std::true_type {};

// Exceptions with the texts of the whole library; out of line, to keep this header light.
[[noreturn]] TERROIR_API void any_is_empty();
[[noreturn]] TERROIR_API void any_cannot_convert(const std::type_info& from, const std::string& text,
                                                 const std::type_info& to);
[[noreturn]] TERROIR_API void any_cannot_parse(const std::string& text, const char* expected);
TERROIR_API bool parse_bool(const std::string& text);
TERROIR_API int64_t parse_integer(const std::string& text);
TERROIR_API uint64_t parse_unsigned(const std::string& text);
TERROIR_API double parse_real(const std::string& text);
TERROIR_API std::vector<std::string> split_items(const std::string& text);
TERROIR_API std::string print_real(double value);

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
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "YES" : "NO";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return print_real(static_cast<double>(value));
  } else if constexpr (IsTuple<T>::value) {
    return print_tuple(value, std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (IsPrintable<T>::value) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else if constexpr (IsVector<T>::value) {
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
  if constexpr (std::is_same_v<T, bool>) {
    return parse_bool(text);
  } else if constexpr (std::is_same_v<T, std::string>) {
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

/// The value as T if both are numbers and it fits without loss of its integer part's meaning.
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
    if (!(from < limit && from >= (std::is_signed_v<T> ? -limit : 0))) return false;
    to = static_cast<T>(from);
    return static_cast<From>(to) == from;
  } else {
    to = static_cast<T>(from);
    return true;
  }
}

}  // namespace detail

class TERROIR_API Any {
 public:
  Any() = default;
  template <typename T, typename D = std::decay_t<T>,
            typename = std::enable_if_t<!std::is_same_v<D, Any> && !std::is_same_v<D, const char*> &&
                                        !std::is_same_v<D, char*> && std::is_copy_constructible_v<D>>>
  Any(T&& value) : holder_(std::make_shared<Holder<D>>(std::forward<T>(value))) {}  // NOLINT: implicit, as in OpenVINO
  Any(const char* text) : Any(std::string(text)) {}                                 // NOLINT: a text, not a pointer
  /// A list: Any{1, 2} holds std::vector<int64_t>; texts and numbers with a fraction work alike.
  Any(std::initializer_list<int> items) : Any(std::vector<int64_t>(items.begin(), items.end())) {}
  Any(std::initializer_list<int64_t> items) : Any(std::vector<int64_t>(items)) {}
  Any(std::initializer_list<double> items) : Any(std::vector<double>(items)) {}
  Any(std::initializer_list<const char*> items) : Any(std::vector<std::string>(items.begin(), items.end())) {}

  bool empty() const noexcept { return holder_ == nullptr; }
  /// Whether exactly a T is held.
  template <typename T>
  bool is() const noexcept {
    return holder_ != nullptr && holder_->type() == typeid(std::decay_t<T>);
  }
  /// The type held; typeid(void) if empty.
  const std::type_info& type_info() const noexcept { return holder_ != nullptr ? holder_->type() : typeid(void); }

  /// The value as a T, converted if it is a text or a number. Throws Exception: invalid_argument if nothing is held or
  /// the types do not convert, parse_error if a text is not a T.
  template <typename T>
  T as() const {
    using U = std::decay_t<T>;
    if (holder_ == nullptr) detail::any_is_empty();
    if (const auto* exact = get_if<U>()) return *exact;
    if constexpr (std::is_same_v<U, std::string>) {
      return holder_->print();
    } else if constexpr (std::is_arithmetic_v<U>) {
      U number{};
      if (holder_->template number<U>(number)) return number;
    }
    if constexpr (detail::IsVector<U>::value) {
      if constexpr (std::is_arithmetic_v<typename U::value_type>) {
        U numbers;
        if (convert_numbers(numbers)) return numbers;
      }
    }
    if (const auto* text = get_if<std::string>()) return detail::parse_value<U>(*text);
    detail::any_cannot_convert(holder_->type(), holder_->print(), typeid(U));
  }

  /// The held T, or null.
  template <typename T>
  const T* get_if() const noexcept {
    return is<T>() ? &static_cast<const Holder<T>&>(*holder_).value : nullptr;
  }

  void print(std::ostream& out) const { out << (holder_ != nullptr ? holder_->print() : std::string()); }
  /// Both empty, or equal values of one type.
  bool operator==(const Any& other) const {
    if (holder_ == nullptr || other.holder_ == nullptr) return holder_ == other.holder_;
    return holder_->type() == other.holder_->type() && holder_->equals(*other.holder_);
  }
  bool operator!=(const Any& other) const { return !(*this == other); }
  // A friend defined here is found for an Any only, not for everything that converts to one.
  friend std::ostream& operator<<(std::ostream& out, const Any& value) {
    value.print(out);
    return out;
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual const std::type_info& type() const noexcept = 0;
    virtual std::string print() const = 0;
    virtual bool equals(const Base& other) const = 0;
    // A number as the widest of its kind: 0 none, 1 bool, 2 signed, 3 unsigned, 4 real.
    virtual int number_kind(int64_t& i, uint64_t& u, double& r) const = 0;
    template <typename U>
    bool number(U& to) const {
      int64_t i = 0;
      uint64_t u = 0;
      double r = 0;
      switch (number_kind(i, u, r)) {
        case 1:
          return detail::convert_number(i != 0, to);
        case 2:
          return detail::convert_number(i, to);
        case 3:
          return detail::convert_number(u, to);
        case 4:
          return detail::convert_number(r, to);
        default:
          return false;
      }
    }
  };
  template <typename T>
  struct Holder final : Base {
    template <typename V>
    explicit Holder(V&& v) : value(std::forward<V>(v)) {}
    const std::type_info& type() const noexcept override { return typeid(T); }
    std::string print() const override { return detail::print_value(value); }
    bool equals(const Base& other) const override {
      if constexpr (detail::IsEqualityComparable<T>::value) {
        return value == static_cast<const Holder&>(other).value;
      } else {
        return this == &other;
      }
    }
    int number_kind(int64_t& i, uint64_t& u, double& r) const override {
      static_cast<void>(i), static_cast<void>(u), static_cast<void>(r);
      if constexpr (std::is_same_v<T, bool>) {
        i = value ? 1 : 0;
        return 1;
      } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
        i = value;
        return 2;
      } else if constexpr (std::is_integral_v<T>) {
        u = value;
        return 3;
      } else if constexpr (std::is_floating_point_v<T>) {
        r = static_cast<double>(value);
        return 4;
      } else if constexpr (std::is_class_v<T> && std::is_convertible_v<const T&, int32_t> &&
                           !std::numeric_limits<T>::is_specialized) {
        i = static_cast<int32_t>(value);  // a named whole number: streams::Num
        return 2;
      } else {
        return 0;
      }
    }
    T value;
  };

  template <typename U>
  bool convert_numbers(U& to) const {
    return convert_from<int64_t>(to) || convert_from<int>(to) || convert_from<size_t>(to) || convert_from<float>(to) ||
           convert_from<double>(to);
  }
  template <typename From, typename U>
  bool convert_from(U& to) const {
    const auto* from = get_if<std::vector<From>>();
    if (from == nullptr) return false;
    to.clear();
    for (const From item : *from) {
      typename U::value_type converted{};
      if (!detail::convert_number(item, converted)) return false;
      to.push_back(converted);
    }
    return true;
  }

  std::shared_ptr<const Base> holder_;  // values are immutable, so copies share them
};

/// "{key:value,key:value}".
TERROIR_API std::ostream& operator<<(std::ostream& out, const AnyMap& map);

}  // namespace terroir
