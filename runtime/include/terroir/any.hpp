// A value of any type, for properties and runtime information.
//
// What: holds one copyable value; copying an Any copies the value. as<T>() gives it back, converting where the meaning
//       is plain: a text is parsed, numbers convert to each other if the value fits, and as<std::string>() prints
//       whatever is held. any_text.hpp says how.
// Threads: as a std::map: many may read, one may change; as<T>() of an Any that is not const counts as a change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "terroir/any_text.hpp"
#include "terroir/exception.hpp"
#include "terroir/export.hpp"

namespace terroir {

class Any;
class RuntimeAttribute;
/// Named values: the properties of a device, the runtime information of a layer.
using AnyMap = std::map<std::string, Any>;
using RTMap = AnyMap;
using AnyVector = std::vector<Any>;

class TERROIR_API Any {
  template <typename T>
  static constexpr bool is_holdable =
      !std::is_same_v<T, Any> && !std::is_same_v<T, const char*> && !std::is_same_v<T, char*> &&
      !std::is_same_v<T, std::nullptr_t> && std::is_copy_constructible_v<T>;

 public:
  Any() = default;
  Any(std::nullptr_t) {}  // NOLINT: implicit, as in OpenVINO
  Any(const Any& other) : holder_(other.holder_ != nullptr ? other.holder_->copy() : nullptr) {}
  Any(Any&& other) noexcept = default;
  Any& operator=(const Any& other) {
    if (this != &other) *this = Any(other);
    return *this;
  }
  Any& operator=(Any&& other) noexcept = default;
  ~Any() = default;
  template <typename T, typename D = std::decay_t<T>, typename = std::enable_if_t<is_holdable<D>>>
  Any(T&& value) : holder_(std::make_unique<Holder<D>>(std::forward<T>(value))) {}  // NOLINT: implicit, as in OpenVINO
  Any(const char* text) : Any(std::string(text)) {}                                 // NOLINT: a text, not a pointer
  /// A list: Any{1, 2} holds std::vector<int64_t>; texts and numbers with a fraction work alike. A single item in
  /// braces is that item, as in OpenVINO: Any{3} holds an int.
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T> || std::is_same_v<T, const char*>>>
  Any(std::initializer_list<T> items) {
    using Item = std::conditional_t<!std::is_arithmetic_v<T>, std::string,
                                    std::conditional_t<std::is_integral_v<T>, int64_t, double>>;
    *this = items.size() == 1 ? Any(*items.begin()) : Any(std::vector<Item>(items.begin(), items.end()));
  }
  /// Any::make<T>(arguments of T's constructor...).
  template <typename T, typename... Args>
  static Any make(Args&&... args) {
    Any any;
    any.holder_ = std::make_unique<Holder<std::decay_t<T>>>(std::in_place, std::forward<Args>(args)...);
    return any;
  }

  bool empty() const noexcept { return holder_ == nullptr; }
  /// Whether exactly a T is held.
  template <typename T>
  bool is() const noexcept {
    return holder_ != nullptr && holder_->type() == typeid(std::decay_t<T>);
  }
  /// The type held; typeid(void) if empty.
  const std::type_info& type_info() const noexcept { return holder_ != nullptr ? holder_->type() : typeid(void); }

  /// The value as a T, converted if it is a text or a number; an empty Any is the text "". Of numbers with a fraction
  /// integers are what is before the point; the empty text is the number 0. Throws Exception: invalid_argument if
  /// nothing is held or the types do not convert, parse_error if a text is not a T.
  template <typename T>
  T as() const& {
    using U = std::decay_t<T>;
    if (const auto* exact = get_if<U>()) return *exact;
    return convert<U>();
  }
  template <typename T>
  T as() && {
    return std::as_const(*this).template as<T>();
  }
  /// The same in place: the held T itself, which may be changed; or, where it had to be converted, a T that lives until
  /// the next call or the end of this Any.
  template <typename T>
  std::decay_t<T>& as() & {
    using U = std::decay_t<T>;
    if (is<U>()) return static_cast<Holder<U>&>(*holder_).value;
    auto converted = std::make_unique<Holder<U>>(convert<U>());
    U& value = converted->value;
    converted_ = std::move(converted);
    return value;
  }

  /// The held T, or null.
  template <typename T>
  const T* get_if() const noexcept {
    return is<T>() ? &static_cast<const Holder<T>&>(*holder_).value : nullptr;
  }
  /// Where the value is; null if empty.
  void* addressof() noexcept { return holder_ != nullptr ? holder_->address() : nullptr; }
  const void* addressof() const noexcept { return holder_ != nullptr ? holder_->address() : nullptr; }

  /// The held value as what it is derived from (terroir/runtime_attribute.hpp); null for values of other types.
  const RuntimeAttribute* runtime_attribute() const noexcept {
    return holder_ != nullptr ? holder_->runtime_attribute() : nullptr;
  }

  /// Nothing is printed if empty.
  void print(std::ostream& out) const { out << (holder_ != nullptr ? holder_->print() : std::string()); }
  /// Gives the held value that of the text until the end of the stream; an empty Any stays empty. Throws Exception as
  /// as<T>() of that text.
  void read(std::istream& in) {
    if (holder_ != nullptr) holder_->read(std::string(std::istreambuf_iterator<char>(in), {}));
  }
  /// Both empty, or equal values of one type. Throws Exception (unsupported) for a type without operator==.
  bool operator==(const Any& other) const {
    if (holder_ == nullptr || other.holder_ == nullptr) return holder_ == other.holder_;
    return holder_->type() == other.holder_->type() && holder_->equals(*other.holder_);
  }
  bool operator!=(const Any& other) const { return !(*this == other); }
  bool operator==(std::nullptr_t) const noexcept { return empty(); }
  bool operator!=(std::nullptr_t) const noexcept { return !empty(); }
  // A friend defined here is found for an Any only, not for everything that converts to one.
  friend std::ostream& operator<<(std::ostream& out, const Any& value) {
    value.print(out);
    return out;
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual std::unique_ptr<Base> copy() const = 0;
    virtual const std::type_info& type() const noexcept = 0;
    virtual void* address() const noexcept = 0;
    virtual std::string print() const = 0;
    virtual void read(const std::string& text) = 0;
    virtual bool equals(const Base& other) const = 0;
    virtual const RuntimeAttribute* runtime_attribute() const noexcept { return nullptr; }
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
    template <typename... Args>
    explicit Holder(std::in_place_t, Args&&... args) : value(std::forward<Args>(args)...) {}
    std::unique_ptr<Base> copy() const override { return std::make_unique<Holder>(std::in_place, value); }
    const std::type_info& type() const noexcept override { return typeid(T); }
    void* address() const noexcept override { return const_cast<std::remove_const_t<T>*>(std::addressof(value)); }
    std::string print() const override { return detail::print_value(value); }
    void read(const std::string& text) override {
      if constexpr (std::is_copy_assignable_v<T>) {
        value = detail::parse_value<T>(text);
      } else {
        detail::any_cannot_convert(typeid(std::string), text, typeid(T));
      }
    }
    bool equals(const Base& other) const override {
      if constexpr (detail::IsEqualityComparable<T>::value) {
        return value == static_cast<const Holder&>(other).value;
      } else {
        detail::any_cannot_compare(typeid(T));
      }
    }
    const RuntimeAttribute* runtime_attribute() const noexcept override {
      if constexpr (std::is_class_v<T> && std::is_convertible_v<const T*, const RuntimeAttribute*>) {
        return std::addressof(value);
      } else {
        return nullptr;
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
  U convert() const {
    if constexpr (std::is_same_v<U, std::string>) {
      return holder_ != nullptr ? holder_->print() : std::string();
    } else {
      if (holder_ == nullptr) detail::any_is_empty();
      if constexpr (std::is_arithmetic_v<U>) {
        U number{};
        if (holder_->template number<U>(number)) return number;
      }
      if constexpr (detail::IsVector<U>::value) {
        if constexpr (std::is_arithmetic_v<typename U::value_type>) {
          U numbers;
          if (convert_numbers(numbers)) return numbers;
        }
      }
      if (const auto* text = get_if<std::string>()) {
        if constexpr (std::is_arithmetic_v<U>) {
          if (text->empty()) return U{};
        }
        return detail::parse_value<U>(*text);
      }
      detail::any_cannot_convert(holder_->type(), holder_->print(), typeid(U));
    }
  }

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

  std::unique_ptr<Base> holder_;
  std::unique_ptr<Base> converted_;  // what the last as<T>() in place had to convert
};

/// "{key:value,key:value}".
TERROIR_API std::ostream& operator<<(std::ostream& out, const AnyMap& map);

}  // namespace terroir
