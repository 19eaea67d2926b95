#pragma once
// What: typed attributes of an operation. One `visit` per attribute struct, with the spellings of the IR file, serves
// the XML reader, the XML writer, the text dump, hashing and equality.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <terroir/element_type.hpp>
#include <terroir/partial_shape.hpp>
#include <type_traits>
#include <vector>

namespace terroir::ir {

/// Whether an IR file must spell the attribute out. An optional attribute's default is its struct's initialiser.
enum class Presence { required, optional };

/// Spellings of an enumerated attribute; the position of a spelling is the enumerator's value.
/// Specialise beside the enum:
///   template <> struct EnumSpellings<AutoPad> { static constexpr std::string_view names[] = {"explicit", ...}; };
template <class E>
struct EnumSpellings;

/// Receives every attribute of a struct, by reference, so the same walk can read or write.
class AttributeVisitor {
 public:
  virtual ~AttributeVisitor() = default;

  template <class T>
  void operator()(const char* name, T& value, Presence presence = Presence::optional) {
    if constexpr (std::is_enum_v<T>) {
      const auto before = static_cast<int64_t>(value);
      int64_t index = before;
      on_enum(name, index, EnumSpellings<T>::names, presence);
      // Attributes that are only looked at may be shared by threads.
      if (index != before) value = static_cast<T>(index);
    } else {
      on(name, value, presence);
    }
  }

 protected:
  virtual void on(const char* name, bool& value, Presence presence) = 0;
  virtual void on(const char* name, int64_t& value, Presence presence) = 0;
  virtual void on(const char* name, double& value, Presence presence) = 0;
  virtual void on(const char* name, std::string& value, Presence presence) = 0;
  virtual void on(const char* name, element::Type& value, Presence presence) = 0;
  virtual void on(const char* name, PartialShape& value, Presence presence) = 0;
  virtual void on(const char* name, std::vector<int64_t>& value, Presence presence) = 0;
  virtual void on(const char* name, std::vector<double>& value, Presence presence) = 0;
  virtual void on(const char* name, std::vector<std::string>& value, Presence presence) = 0;
  /// `index` is the enumerator's value, a position in `names` (compared case-insensitively in files).
  virtual void on_enum(const char* name, int64_t& index, std::span<const std::string_view> names,
                       Presence presence) = 0;
};

/// Owner of one attribute struct whose type only its op knows.
class Attributes {
 public:
  virtual ~Attributes() = default;
  virtual void visit(AttributeVisitor& visitor) = 0;
  virtual std::unique_ptr<Attributes> clone() const = 0;
  /// For visitors that only look: they must leave every value as it is.
  void inspect(AttributeVisitor& visitor) const { const_cast<Attributes*>(this)->visit(visitor); }
};

/// Attributes of ops that have none.
struct NoAttrs {
  template <class V>
  void visit(V&) {}
};

template <class T>
class AttributesOf final : public Attributes {
 public:
  AttributesOf() = default;
  explicit AttributesOf(T attrs) : value(std::move(attrs)) {}
  void visit(AttributeVisitor& visitor) override { value.visit(visitor); }
  std::unique_ptr<Attributes> clone() const override { return std::make_unique<AttributesOf<T>>(value); }
  T value{};
};

template <class T>
std::unique_ptr<Attributes> make_attributes() {
  return std::make_unique<AttributesOf<T>>();
}
template <class T>
std::unique_ptr<Attributes> make_attributes_of(T value) {
  return std::make_unique<AttributesOf<T>>(std::move(value));
}

/// The struct inside; the caller names the type its schema was made with (checked).
template <class T>
const T& attributes_as(const Attributes& attributes) {
  return dynamic_cast<const AttributesOf<T>&>(attributes).value;
}

/// One attribute as text, in the spelling of an IR file ("1, 1", "same_upper", "true", "f32").
struct AttributeText {
  std::string name;
  std::string value;
  Presence presence;
  bool empty_list;  // a list without elements: left out of files when optional
};
std::vector<AttributeText> to_text(const Attributes& attributes);

/// The value of the boolean or numeric attribute `name`; of an enumerated one, its position. Exception (not_found) when
/// there is no such attribute: for code that handles many ops by rows of names.
double number_attribute(const Attributes& attributes, std::string_view name);

/// Equal when every attribute's canonical text is (floating-point values print exactly).
bool equal(const Attributes& a, const Attributes& b);

}  // namespace terroir::ir
