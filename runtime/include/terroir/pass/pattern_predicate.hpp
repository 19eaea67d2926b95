// Conditions on values of a model, and what they learn on the way.
//
// What: a predicate says whether a value is wanted; one that takes a PatternSymbolMap also gives names to numbers that
//       it meets, and wants the same numbers where it meets a name again, all over one match.
// Source: shape_matches() and value_matches() of OpenVINO.
// Formula: a notation lists numbers, names, "?" for any number, and at most one "..." for any row of numbers, also of
//          none, which may be named too: "[Batch, 3, Sizes...]". Brackets and blanks are as one likes. Extents that are
//          not known are met by "?" and "..." alone.
#pragma once

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/exception.hpp"
#include "terroir/op/constant.hpp"

namespace terroir {
namespace pass {
namespace pattern {

/// What a name stands for: a number, or a row of them.
class PatternSymbolValue {
 public:
  PatternSymbolValue() = default;
  PatternSymbolValue(int64_t number) : value_(number) {}                                   // NOLINT: implicit
  PatternSymbolValue(double number) : value_(number) {}                                    // NOLINT: implicit
  PatternSymbolValue(std::vector<PatternSymbolValue> group) : value_(std::move(group)) {}  // NOLINT: implicit

  bool is_integer() const { return std::holds_alternative<int64_t>(value_); }
  bool is_double() const { return std::holds_alternative<double>(value_); }
  bool is_group() const { return std::holds_alternative<std::vector<PatternSymbolValue>>(value_); }
  bool is_static() const { return is_integer() || is_double(); }
  /// These throw std::bad_variant_access for a value of another kind.
  int64_t i() const { return std::get<int64_t>(value_); }
  double d() const { return std::get<double>(value_); }
  const std::vector<PatternSymbolValue>& g() const { return std::get<std::vector<PatternSymbolValue>>(value_); }

  /// 1 and 1.0 are different, as they are in constants of integers and of other numbers.
  bool operator==(const PatternSymbolValue& other) const { return value_ == other.value_; }
  bool operator!=(const PatternSymbolValue& other) const { return !(*this == other); }

 private:
  std::variant<std::monostate, int64_t, double, std::vector<PatternSymbolValue>> value_;
};

using PatternSymbolMap = std::unordered_map<std::string, PatternSymbolValue>;

namespace op {

/// A condition on a value; none: true.
class Predicate {
  template <typename F, typename... Arguments>
  static constexpr bool takes = std::is_invocable_r_v<bool, const F&, Arguments...>;

 public:
  Predicate() = default;
  Predicate(std::nullptr_t) {}  // NOLINT: implicit, as in OpenVINO
  template <typename F, std::enable_if_t<takes<F, const Output<Node>&>, bool> = true>
  Predicate(F holds)  // NOLINT: implicit
      : holds_([holds = std::move(holds)](PatternSymbolMap&, const Output<Node>& value) { return holds(value); }) {}
  template <typename F, std::enable_if_t<takes<F, PatternSymbolMap&, const Output<Node>&>, bool> = true>
  Predicate(F holds) : holds_(std::move(holds)) {}  // NOLINT: implicit
  template <typename F,
            std::enable_if_t<takes<F, const std::shared_ptr<Node>&> && !takes<F, const Output<Node>&>, int> = 0>
  Predicate(F holds)  // NOLINT: implicit
      : Predicate(
            [holds = std::move(holds)](const Output<Node>& value) { return holds(value.get_node_shared_ptr()); }) {}
  /// With a name for whoever reads the program.
  template <typename F>
  Predicate(F holds, const std::string&) : Predicate(std::move(holds)) {}
  /// That attributes have these values: wrap_type<Softmax>({input}, {{"axis", 1}}).
  Predicate(std::initializer_list<AnyMap::value_type> attributes);  // NOLINT: implicit, as in OpenVINO

  /// `symbols` get the names that are new, if it holds.
  bool operator()(PatternSymbolMap& symbols, const Output<Node>& value) const {
    return !holds_ || holds_(symbols, value);
  }
  bool operator()(const Output<Node>& value) const {
    PatternSymbolMap symbols;
    return (*this)(symbols, value);
  }

 private:
  std::function<bool(PatternSymbolMap&, const Output<Node>&)> holds_;
};

inline Predicate operator&&(const Predicate& a, const Predicate& b) {
  return [a, b](PatternSymbolMap& symbols, const Output<Node>& value) {
    PatternSymbolMap both = symbols;
    if (!a(both, value) || !b(both, value)) return false;
    symbols = std::move(both);
    return true;
  };
}
inline Predicate operator||(const Predicate& a, const Predicate& b) {
  return
      [a, b](PatternSymbolMap& symbols, const Output<Node>& value) { return a(symbols, value) || b(symbols, value); };
}
inline Predicate operator!(const Predicate& a) {
  return [a](const Output<Node>& value) { return !a(value); };
}

}  // namespace op

namespace detail {

/// Numbers of a shape or a constant; nothing where one is not known.
using Numbers = std::vector<std::optional<PatternSymbolValue>>;

class Notation {
 public:
  /// `fractions`: whether "0.5" is a number; else it is a name. Throws Exception (invalid_argument) for a text with
  /// several "..." or with something behind them.
  Notation(const std::string& text, bool fractions) : fractions_(fractions) {
    std::string plain;
    for (const char c : text) {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) plain += c;
    }
    is_empty_ = plain.empty() || plain == "[]" || plain == "()";
    is_anything_unknown_ = plain == "?" || plain == "...";
    if (is_empty_ || is_anything_unknown_) return;
    plain.erase(std::remove_if(plain.begin(), plain.end(), [](char c) { return std::strchr("[]()", c) != nullptr; }),
                plain.end());
    for (size_t begin = 0; begin <= plain.size();) {
      const size_t end = std::min(plain.find(',', begin), plain.size());
      add(plain.substr(begin, end - begin), text);
      begin = end + 1;
    }
  }

  /// "[]": of no numbers.
  bool is_empty() const { return is_empty_; }
  /// "?" or "..." without brackets: of nobody knows how many.
  bool is_anything_unknown() const { return is_anything_unknown_; }

  /// Whether the numbers are those of a list, where names of `symbols` stand for what they stand for there; then
  /// `symbols` has all its names. `tolerance`: how much of itself a fraction may be off, since not every number can be
  /// written. Throws Exception (invalid_argument) for a name of a number and a row.
  bool is_met(const Numbers& numbers, PatternSymbolMap& symbols, double tolerance = 0) const {
    if (has_row_ ? numbers.size() + 1 < items_.size() : numbers.size() != items_.size()) return false;
    const size_t row = has_row_ ? numbers.size() + 1 - items_.size() : 0;
    PatternSymbolMap all = symbols;
    size_t at = 0;
    for (size_t item = 0; item < items_.size(); ++item) {
      const bool is_row = has_row_ && item == row_;
      const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(at);
      const auto last = first + static_cast<std::ptrdiff_t>(is_row ? row : 1);
      at += is_row ? row : 1;
      if (items_[item] == (is_row ? "" : "?")) continue;
      if (!std::all_of(first, last, [](const auto& number) { return number.has_value(); })) return false;
      if (is_row) {
        std::vector<PatternSymbolValue> group;
        for (auto number = first; number != last; ++number) group.push_back(**number);
        if (!is_named(all, items_[item], group)) return false;
      } else if (const auto number = number_of(items_[item])) {
        if (*number != **first && !is_close(*number, **first, tolerance)) return false;
      } else if (!is_named(all, items_[item], **first)) {
        return false;
      }
    }
    symbols = std::move(all);
    return true;
  }

 private:
  void add(std::string item, const std::string& text) {
    const size_t dots = item.find("...");
    if (dots != std::string::npos) {
      if (has_row_ || dots + 3 != item.size()) {
        throw Exception(ErrorCode::invalid_argument,
                        "'" + text + "': a notation has one ... at most, at the end of a name or alone");
      }
      has_row_ = true;
      row_ = items_.size();
      item.resize(dots);
    }
    items_.push_back(std::move(item));
  }

  /// Whether `number` stands for a fraction; no fraction stands for an integer.
  static bool is_close(const PatternSymbolValue& number, const PatternSymbolValue& value, double tolerance) {
    if (!value.is_double()) return false;
    const double wanted = number.is_integer() ? static_cast<double>(number.i()) : number.d();
    return std::abs(wanted - value.d()) <= tolerance * std::abs(wanted);
  }

  static bool is_named(PatternSymbolMap& symbols, const std::string& name, const PatternSymbolValue& value) {
    const auto [known, is_new] = symbols.emplace(name, value);
    if (known->second.is_group() != value.is_group()) {
      throw Exception(ErrorCode::invalid_argument, "'" + name + "' is the name of a number and of a row of numbers");
    }
    return is_new || known->second == value;
  }

  std::optional<PatternSymbolValue> number_of(const std::string& item) const {
    char* end = nullptr;
    const long long integer = std::strtoll(item.c_str(), &end, 10);
    if (!item.empty() && *end == '\0') return PatternSymbolValue(static_cast<int64_t>(integer));
    const double number = fractions_ ? std::strtod(item.c_str(), &end) : 0;
    if (fractions_ && !item.empty() && *end == '\0') return PatternSymbolValue(number);
    return {};
  }

  std::vector<std::string> items_;  // of "...", the name before it
  bool fractions_;
  bool is_empty_ = false, is_anything_unknown_ = false;
  bool has_row_ = false;
  size_t row_ = 0;  // which item
};

}  // namespace detail

/// The extents of the shape are these: "[Batch, 3, ?]", "[Sizes..., 64]"; "[]" is a scalar, "?" a shape of unknown
/// rank. Throws Exception (invalid_argument) as Notation.
inline op::Predicate shape_matches(const std::string& notation) {
  return [wanted = detail::Notation(notation, false)](PatternSymbolMap& symbols, const Output<Node>& value) {
    const PartialShape shape = value.get_partial_shape();
    if (wanted.is_anything_unknown()) return shape.rank().is_dynamic();
    if (shape.rank().is_dynamic()) return false;
    if (wanted.is_empty()) return shape.size() == 0;
    detail::Numbers extents;
    for (const Dimension& extent : shape) {
      extents.emplace_back();
      if (extent.is_static()) extents.back() = extent.get_length();
    }
    return wanted.is_met(extents, symbols);
  };
}

/// It is a Constant of these numbers in the order of memory: "2", "[0, Heads, -1]"; "[]" has none. "0.1" is what comes
/// nearest to it in the Constant's type, and the nearest f32 in one of f64; "2" is 2.0, too, but "2.0" is no integer.
/// Throws Exception (invalid_argument) as Notation.
inline op::Predicate value_matches(const std::string& notation) {
  return [wanted = detail::Notation(notation, true)](PatternSymbolMap& symbols, const Output<Node>& value) {
    const auto constant = as_type_ptr<terroir::op::v0::Constant>(value.get_node_shared_ptr());
    if (constant == nullptr || wanted.is_anything_unknown()) return false;
    const element::Type type = constant->get_element_type();
    if (!type.is_integral() && !type.is_real()) return false;
    const size_t count = shape_size(constant->get_shape());
    if (wanted.is_empty() || count == 0) return wanted.is_empty() && count == 0;
    detail::Numbers numbers;
    if (type.is_integral()) {
      for (const int64_t number : constant->cast_vector<int64_t>()) numbers.emplace_back(number);
    } else {
      for (const double number : constant->cast_vector<double>()) numbers.emplace_back(number);
    }
    // Half the distance of two numbers beside 1.
    const double tolerance = type == element::bf16 ? 1. / (1 << 8) : type == element::f16 ? 1. / (1 << 11) : 1e-7;
    return wanted.is_met(numbers, symbols, tolerance);
  };
}

}  // namespace pattern
}  // namespace pass
}  // namespace terroir
