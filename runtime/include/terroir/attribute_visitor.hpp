// Attributes of layers that are classes (terroir/op/op.hpp): a class names them to a visitor.
//
// What: AttributeVisitor::on_attribute("name", member) for members that are bool, integers, floating-point numbers,
//       texts, element types, shapes, lists of numbers or texts, or enumerations that have EnumNames.
// A visitor of a program's own overrides on_adapter() for the kinds of values it wants to see, or the one for all.
// Names of an enumeration: one specialization, template <> EnumNames<Mode>& EnumNames<Mode>::get(), which returns a
//       static EnumNames<Mode>("Mode", {{"first", Mode::first}, ...}); files have these texts.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "terroir/element_type.hpp"
#include "terroir/exception.hpp"
#include "terroir/node.hpp"
#include "terroir/partial_shape.hpp"

namespace terroir {

/// The texts of an enumeration in files.
template <typename Enum>
class EnumNames {
 public:
  EnumNames(std::string name, std::vector<std::pair<std::string, Enum>> names)
      : name_(std::move(name)), names_(std::move(names)) {}
  /// Whoever has the enumeration defines it.
  static EnumNames& get();

  /// Upper or lower case, as in OpenVINO. Throws Exception (invalid_argument) for a text that is none of them.
  static Enum as_enum(const std::string& text) {
    for (const auto& [name, value] : get().names_)
      if (equal(name, text)) return value;
    throw Exception(ErrorCode::invalid_argument, "'" + text + "' is no " + get().name_ + "; there are " + list(", "));
  }
  static const std::string& as_string(Enum value) {
    for (const auto& [name, known] : get().names_)
      if (known == value) return name;
    throw Exception(ErrorCode::invalid_argument, "a value of " + get().name_ + " has no name");
  }
  /// All of them.
  static std::string list(const char* between) {
    std::string text;
    for (const auto& entry : get().names_) text += (text.empty() ? "" : between) + entry.first;
    return text;
  }

 private:
  static bool equal(const std::string& a, const std::string& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (std::tolower(static_cast<unsigned char>(a[i])) != std::tolower(static_cast<unsigned char>(b[i])))
        return false;
    return true;
  }

  std::string name_;
  std::vector<std::pair<std::string, Enum>> names_;
};

template <typename Enum>
std::enable_if_t<std::is_enum_v<Enum>, Enum> as_enum(const std::string& text) {
  return EnumNames<Enum>::as_enum(text);
}
template <typename Enum>
std::enable_if_t<std::is_enum_v<Enum>, const std::string&> as_string(Enum value) {
  return EnumNames<Enum>::as_string(value);
}

class AttributeVisitor;
class Model;

/// How a T is read and written as something else: a program's specialization derives it from one of the next classes
/// and constructs it with a T&.
template <typename T>
class AttributeAdapter;
/// As a Value, which is a number, a text or a list of these.
template <typename Value>
class ValueAccessor;
/// What they have in common: as_type<AttributeAdapter<bool>>(&accessor) tells them apart.
template <>
class ValueAccessor<void> {
 public:
  virtual ~ValueAccessor() = default;
  virtual const DiscreteTypeInfo& get_type_info() const = 0;
};
template <typename Value>
class ValueAccessor : public ValueAccessor<void> {
 public:
  virtual const Value& get() = 0;
  virtual void set(const Value& value) = 0;
};
/// As it is.
template <typename T>
class DirectValueAccessor : public ValueAccessor<T> {
 public:
  explicit DirectValueAccessor(T& value) : m_ref(value) {}
  const T& get() override { return m_ref; }
  void set(const T& value) override { m_ref = value; }

 protected:
  T& m_ref;
};
/// As a structure: its members are attributes.
class VisitorAdapter : public ValueAccessor<void> {
 public:
  virtual bool visit_attributes(AttributeVisitor& visitor) = 0;
};

/// What all attributes come down to; enumerations, types, shapes and lists of texts are texts.
using AttributeValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

namespace detail {

/// Of what attributes come down to; a program's own adapters are none of these.
class PlainAdapter {};
template <typename T>
class PlainAdapterOf : public DirectValueAccessor<T>, public PlainAdapter {
 public:
  using DirectValueAccessor<T>::DirectValueAccessor;
  const DiscreteTypeInfo& get_type_info() const override { return AttributeAdapter<T>::get_type_info_static(); }
};

}  // namespace detail

#define TERROIR_PLAIN_ADAPTER(...)                                                      \
  template <>                                                                           \
  class AttributeAdapter<__VA_ARGS__> : public detail::PlainAdapterOf<__VA_ARGS__> {    \
   public:                                                                              \
    using PlainAdapterOf::PlainAdapterOf;                                               \
    static const DiscreteTypeInfo& get_type_info_static() {                             \
      static const DiscreteTypeInfo info{"AttributeAdapter<" #__VA_ARGS__ ">", "util"}; \
      return info;                                                                      \
    }                                                                                   \
  }
TERROIR_PLAIN_ADAPTER(bool);
TERROIR_PLAIN_ADAPTER(int64_t);
TERROIR_PLAIN_ADAPTER(double);
TERROIR_PLAIN_ADAPTER(std::string);
TERROIR_PLAIN_ADAPTER(std::vector<int64_t>);
TERROIR_PLAIN_ADAPTER(std::vector<double>);
#undef TERROIR_PLAIN_ADAPTER

namespace detail {

template <typename T, typename = void>
struct ItemOf {
  using type = void;
};
template <typename T>
struct ItemOf<T, std::void_t<typename T::value_type, decltype(std::declval<T>().begin())>> {
  using type = typename T::value_type;
};

template <typename T, typename Number>
T narrowed(Number number) {
  const T result = static_cast<T>(number);
  if constexpr (std::is_integral_v<T>) {
    if (static_cast<Number>(result) != number || (std::is_unsigned_v<T> && number < 0))
      throw Exception(ErrorCode::invalid_argument, std::to_string(number) + " does not fit the attribute's type");
  }
  return result;
}

inline std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find(',', begin);
    const size_t first = text.find_first_not_of(' ', begin);
    parts.push_back(first < end ? text.substr(first, end == std::string::npos ? end : end - first) : std::string());
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return parts;
}

/// Enumerations of the library's own operations have a function that names them in files.
template <typename T, typename = void>
struct HasSpellings : std::false_type {};
template <typename T>
struct HasSpellings<T, std::enable_if_t<std::is_enum_v<T>, std::void_t<decltype(spellings(T()))>>> : std::true_type {};

/// Whether the program says how a T is read: by an AttributeAdapter<T>.
template <typename T, typename = void>
struct HasAdapter : std::false_type {};
template <typename T>
struct HasAdapter<T, std::void_t<decltype(sizeof(AttributeAdapter<T>))>>
    : std::bool_constant<!std::is_base_of_v<PlainAdapter, AttributeAdapter<T>>> {};

template <typename T>
AttributeValue plain_value(const T& value) {
  using Item = typename ItemOf<T>::type;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_same_v<T, element::Type> || std::is_same_v<T, PartialShape> ||
                       std::is_same_v<T, Dimension>) {
    return value.to_string();
  } else if constexpr (HasSpellings<T>::value) {
    return std::string(spellings(value)[static_cast<size_t>(value)]);
  } else if constexpr (std::is_enum_v<T>) {
    return EnumNames<T>::as_string(value);
  } else if constexpr (std::is_integral_v<Item> && !std::is_same_v<Item, bool>) {
    return std::vector<int64_t>(value.begin(), value.end());
  } else if constexpr (std::is_floating_point_v<Item>) {
    return std::vector<double>(value.begin(), value.end());
  } else {
    static_assert(std::is_same_v<Item, std::string>, "no attribute of a layer may be of this type");
    std::string text;
    for (const std::string& item : value) text += (text.empty() ? "" : ",") + item;
    return text;
  }
}

template <typename T>
void take_value(const AttributeValue& plain, T& value) {
  using Item = typename ItemOf<T>::type;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
    value = std::get<T>(plain);
  } else if constexpr (std::is_integral_v<T>) {
    value = narrowed<T>(std::get<int64_t>(plain));
  } else if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(std::get<double>(plain));
  } else if constexpr (std::is_same_v<T, element::Type> || std::is_same_v<T, PartialShape>) {
    value = T(std::get<std::string>(plain));
  } else if constexpr (std::is_same_v<T, Dimension>) {
    value = PartialShape("[" + std::get<std::string>(plain) + "]")[0];
  } else if constexpr (HasSpellings<T>::value) {
    const auto names = spellings(value);
    const auto found = std::find(names.begin(), names.end(), std::get<std::string>(plain));
    if (found == names.end())
      throw Exception(ErrorCode::invalid_argument, "'" + std::get<std::string>(plain) + "' is none of its values");
    value = static_cast<T>(found - names.begin());
  } else if constexpr (std::is_enum_v<T>) {
    value = EnumNames<T>::as_enum(std::get<std::string>(plain));
  } else if constexpr (std::is_arithmetic_v<Item>) {
    using Number = std::conditional_t<std::is_integral_v<Item>, int64_t, double>;
    std::vector<Item> items;
    for (const Number number : std::get<std::vector<Number>>(plain)) items.push_back(narrowed<Item>(number));
    if constexpr (std::is_constructible_v<T, typename std::vector<Item>::iterator,
                                          typename std::vector<Item>::iterator>) {
      value = T(items.begin(), items.end());
    } else {
      value = T(items);
    }
  } else {
    const std::vector<std::string> items = split_at_commas(std::get<std::string>(plain));
    value = T(items.begin(), items.end());
  }
}

}  // namespace detail

class AttributeVisitor {
 public:
  virtual ~AttributeVisitor() = default;

  /// Looks at the attribute, or changes it. Throws Exception (invalid_argument) for a value that is none of the type.
  template <typename T>
  void on_attribute(const std::string& name, T& value) {
    if constexpr (detail::HasAdapter<T>::value) {
      AttributeAdapter<T> adapter(value);
      if constexpr (std::is_base_of_v<VisitorAdapter, AttributeAdapter<T>>) {
        start_structure(name);
        adapter.visit_attributes(*this);
        finish_structure();
      } else {
        using Read = std::decay_t<decltype(adapter.get())>;
        Read read = of_attribute(whole_name(name), [&]() -> Read { return adapter.get(); });
        look_at(name, read, [&](const AttributeValue& plain) {
          detail::take_value(plain, read);
          adapter.set(read);
        });
      }
    } else {
      look_at(name, value, [&](const AttributeValue& plain) { detail::take_value(plain, value); });
    }
  }
  /// What a program's own visitor overrides: it is called for each attribute with what the attribute comes down to, and
  /// what it sets is the attribute's value. By default all come to the first of them, which looks at nothing.
  virtual void on_adapter(const std::string&, ValueAccessor<void>&) {}
  virtual void on_adapter(const std::string& name, ValueAccessor<bool>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<int64_t>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<double>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::string>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::vector<int64_t>>& adapter) {
    on_any(name, adapter);
  }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::vector<double>>& adapter) {
    on_any(name, adapter);
  }
  /// Nothing comes down to these: they are there so that visitors may override them.
  virtual void on_adapter(const std::string& name, ValueAccessor<int8_t>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<int16_t>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<int32_t>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<uint8_t>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<uint16_t>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<uint32_t>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<uint64_t>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<float>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::vector<int8_t>>& adapter) {
    on_any(name, adapter);
  }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::vector<int16_t>>& adapter) {
    on_any(name, adapter);
  }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::vector<int32_t>>& adapter) {
    on_any(name, adapter);
  }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::vector<uint8_t>>& adapter) {
    on_any(name, adapter);
  }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::vector<uint16_t>>& adapter) {
    on_any(name, adapter);
  }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::vector<uint32_t>>& adapter) {
    on_any(name, adapter);
  }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::vector<uint64_t>>& adapter) {
    on_any(name, adapter);
  }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::vector<float>>& adapter) {
    on_any(name, adapter);
  }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::vector<std::string>>& adapter) {
    on_any(name, adapter);
  }
  virtual void on_adapter(const std::string& name, ValueAccessor<void*>& adapter) { on_any(name, adapter); }
  virtual void on_adapter(const std::string& name, ValueAccessor<std::shared_ptr<Model>>& adapter) {
    on_any(name, adapter);
  }

  /// Names of what is visited in between are "structure.name".
  virtual void start_structure(const std::string& name) { structures_.push_back(name); }
  virtual std::string finish_structure() {
    const std::string name = structures_.back();
    structures_.pop_back();
    return name;
  }

 private:
  friend class Node;

  void on_any(const std::string& name, ValueAccessor<void>& adapter) { on_adapter(name, adapter); }

  template <typename T, typename Take>
  void look_at(const std::string& name, const T& value, const Take& take) {
    const std::string whole = whole_name(name);
    AttributeValue plain = of_attribute(whole, [&] { return detail::plain_value(value); });
    if (on_value(whole, plain)) of_attribute(whole, [&] { take(plain); });
  }

  std::string whole_name(const std::string& name) const {
    std::string whole;
    for (const std::string& structure : structures_) whole += structure + '.';
    return whole + name;
  }

  /// Errors name the attribute; those of adapters become Exceptions.
  template <typename Function>
  static auto of_attribute(const std::string& name, const Function& function) {
    try {
      return function();
    } catch (Exception& error) {
      error.add_context("attribute '" + name + "'");
      throw;
    } catch (const std::exception& error) {
      throw Exception(ErrorCode::invalid_argument, "attribute '" + name + "': " + error.what());
    }
  }

  std::vector<std::string> structures_;

 protected:
  /// Whether `value` was changed, which keeps its kind.
  virtual bool on_value(const std::string& name, AttributeValue& value) {
    return std::visit(
        [&](auto& plain) {
          using Plain = std::decay_t<decltype(plain)>;
          const Plain before = plain;
          AttributeAdapter<Plain> adapter(plain);
          on_adapter(name, static_cast<ValueAccessor<Plain>&>(adapter));
          return plain != before;
        },
        value);
  }
};

/// The enumerator as its text, for adapters of enumerations that have EnumNames.
template <typename Enum>
class EnumAttributeAdapterBase : public ValueAccessor<std::string> {
 public:
  explicit EnumAttributeAdapterBase(Enum& value) : m_ref(value) {}
  const std::string& get() override { return as_string(m_ref); }
  void set(const std::string& text) override { m_ref = as_enum<Enum>(text); }
  operator Enum&() { return m_ref; }  // NOLINT: implicit, as in OpenVINO

 protected:
  Enum& m_ref;  // OpenVINO's name, which classes of programs use
};

}  // namespace terroir
