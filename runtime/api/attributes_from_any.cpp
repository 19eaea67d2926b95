#include "runtime/api/attributes_from_any.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ir/base/error.hpp"
#include "terroir/op/attribute_access.hpp"

namespace terroir::detail {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// Integers are not made of numbers with a fraction, and no number of the empty text.
void require_number(const Any& any, bool whole) {
  const auto is_whole = [](double number) { return number == std::trunc(number); };
  const auto are_whole = [&](const auto* numbers) {
    return numbers == nullptr || std::all_of(numbers->begin(), numbers->end(), is_whole);
  };
  const bool is_real = any.is<float>() || any.is<double>();
  if ((any.is<std::string>() && any.as<std::string>().empty()) ||
      (whole && !((!is_real || is_whole(any.as<double>())) && are_whole(any.get_if<std::vector<float>>()) &&
                  are_whole(any.get_if<std::vector<double>>()))))
    throw_error(ErrorCode::invalid_argument, "expected a ", whole ? "whole " : "", "number, got '",
                any.as<std::string>(), "'");
}

class Filler final : public ir::AttributeVisitor {
 public:
  /// `complete`: what is required must be among the values.
  Filler(const AnyMap& values, bool complete) : values_(values), complete_(complete) {}

  const std::vector<std::string>& names() const { return names_; }

 protected:
  using Presence = ir::Presence;
  void on(const char* name, bool& value, Presence p) override { fill(name, value, p); }
  void on(const char* name, int64_t& value, Presence p) override {
    take(name, p, [&](const Any& any) { require_number(any, true), value = any.as<int64_t>(); });
  }
  void on(const char* name, double& value, Presence p) override {
    take(name, p, [&](const Any& any) { require_number(any, false), value = any.as<double>(); });
  }
  void on(const char* name, std::string& value, Presence p) override { fill(name, value, p); }
  void on(const char* name, element::Type& value, Presence p) override {
    take(name, p, [&](const Any& any) {
      value = any.is<element::Type_t>() ? element::Type(any.as<element::Type_t>()) : any.as<element::Type>();
    });
  }
  void on(const char* name, PartialShape& value, Presence p) override {
    take(name, p, [&](const Any& any) {
      if (any.is<Shape>()) {
        value = any.as<Shape>();
      } else if (any.is<std::vector<int64_t>>()) {
        value = any.as<std::vector<int64_t>>();
      } else {
        value = any.as<PartialShape>();
      }
    });
  }
  void on(const char* name, std::vector<int64_t>& value, Presence p) override {
    take(name, p, [&](const Any& any) {
      if (assign<Shape>(any, value) || assign<Strides>(any, value)) return;
      if (!any.is<std::string>()) require_number(any, true);
      value = any.as<std::vector<int64_t>>();
    });
  }
  void on(const char* name, std::vector<double>& value, Presence p) override { fill(name, value, p); }
  void on(const char* name, std::vector<std::string>& value, Presence p) override { fill(name, value, p); }
  void on_enum(const char* name, int64_t& index, std::span<const std::string_view> names, Presence p) override {
    take(name, p, [&](const Any& any) {
      const std::string text = any.as<std::string>();
      for (size_t i = 0; i < names.size(); ++i) {
        if (lower(names[i]) == lower(text)) {
          index = static_cast<int64_t>(i);
          return;
        }
      }
      std::string known;
      for (const std::string_view candidate : names) known += (known.empty() ? "" : ", ") + std::string(candidate);
      throw_error(ErrorCode::invalid_argument, "expected one of ", known, ", got '", text, "'");
    });
  }

 private:
  template <typename List>
  static bool assign(const Any& any, std::vector<int64_t>& value) {
    const List* list = any.get_if<List>();
    if (list != nullptr) value.assign(list->begin(), list->end());
    return list != nullptr;
  }

  template <typename T>
  void fill(const char* name, T& value, Presence presence) {
    take(name, presence, [&](const Any& any) { value = any.as<T>(); });
  }

  template <typename Set>
  void take(const char* name, Presence presence, Set set) {
    names_.emplace_back(name);
    const auto found = values_.find(name);
    if (found == values_.end()) {
      if (complete_ && presence == Presence::required) {
        throw_error(ErrorCode::invalid_argument, "the attribute '", name, "' is missing");
      }
      return;
    }
    with_context([&] { return concat("the attribute '", name, "'"); }, [&] { set(found->second); });
  }

  const AnyMap& values_;
  bool complete_;
  std::vector<std::string> names_;
};

void fill(const ir::OpSchema& schema, ir::Attributes& attributes, const AnyMap& values, bool complete) {
  Filler filler(values, complete);
  attributes.visit(filler);
  for (const auto& [name, value] : values) {
    const auto& known = filler.names();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw_error(ErrorCode::not_found, schema.display_name(), " has no attribute '", name, "'",
                did_you_mean(name, known));
  }
}

}  // namespace

std::unique_ptr<ir::Attributes> make_attributes(const ir::OpSchema& schema, const AnyMap& values) {
  std::unique_ptr<ir::Attributes> attributes = schema.make_attributes();
  fill(schema, *attributes, values, true);
  return attributes;
}

std::unique_ptr<ir::Attributes> changed_attributes(const ir::OpSchema& schema, const ir::Attributes& attributes,
                                                   const AnyMap& values) {
  std::unique_ptr<ir::Attributes> changed = attributes.clone();
  fill(schema, *changed, values, false);
  return changed;
}

}  // namespace terroir::detail

namespace terroir::op {
namespace {

/// `former`: another text for the first enumerator.
template <typename Type>
Type type_named(const char* text, const char* former) {
  if (text != nullptr) {
    const auto names = spellings(Type());
    const size_t index = terroir::detail::position(names, text);
    if (index < names.size()) return static_cast<Type>(index);
    if (terroir::detail::same_spelling(text, former)) return Type();
  }
  throw_error(ErrorCode::invalid_argument, "'", text != nullptr ? text : "", "' is no way to broadcast");
}

}  // namespace

AutoBroadcastSpec::AutoBroadcastSpec(const char* type)
    : AutoBroadcastSpec(type_named<AutoBroadcastType>(type, "explicit")) {}
BroadcastModeSpec::BroadcastModeSpec(const char* type) : BroadcastModeSpec(type_named<BroadcastType>(type, "none")) {}

}  // namespace terroir::op
