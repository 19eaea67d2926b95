// Patterns: what parts of a model look like, and where they are.
//
// Use: auto x = pattern::any_input();
//      auto relu = pattern::wrap_type<opset8::Relu>({x}, pattern::consumers_count(1));
//      auto root = pattern::wrap_type<opset8::Relu>({relu});
//      pattern::Matcher matcher(root);
//      if (matcher.match(node)) matcher.get_pattern_value_map().at(x) ...
// What: a pattern is a layer that stands for layers. Real operations can be patterns, too: they stand for any layer of
//       their kind, whatever its attributes. Where a pattern is met twice, it has to be the same value.
// Formula: a layer matches if its kind does, the predicate says so, and its inputs match those of the pattern, in any
//          order where the operation does not care; patterns without inputs take any. Alternatives are tried in turn,
//          and what a failed one has matched is forgotten.
// Limits: a pattern has one output: what stands for a layer with several matches whichever of them is asked for.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "terroir/op/constant.hpp"
#include "terroir/op/ends.hpp"
#include "terroir/op/layer.hpp"
#include "terroir/pass/pattern_predicate.hpp"

namespace terroir {
namespace pass {
namespace pattern {

/// The inputs of a pattern: one or several layers or outputs.
class PatternOps : public OutputVector {
 public:
  PatternOps() = default;
  PatternOps(const OutputVector& values) : OutputVector(values) {}                      // NOLINT: implicit
  PatternOps(const NodeVector& layers) : OutputVector(layers.begin(), layers.end()) {}  // NOLINT: implicit
  PatternOps(std::initializer_list<Output<Node>> values) : OutputVector(values) {}      // NOLINT: implicit
  PatternOps(const Output<Node>& value) : OutputVector{value} {}                        // NOLINT: implicit
  template <typename T, typename = std::enable_if_t<std::is_convertible_v<T*, Node*>>>
  PatternOps(const std::shared_ptr<T>& layer) : OutputVector{Output<Node>(layer)} {}  // NOLINT: implicit
};

namespace detail {

enum class Kind { any, layer, optional_layer, alternatives };

struct Pattern {
  Kind kind;
  std::vector<DiscreteTypeInfo> types;
  OutputVector inputs;
  op::Predicate predicate;
};

constexpr const char* kPattern = "pattern";

/// A pattern as a layer of a draft, which is what inputs of real operations can be.
class PatternLayer : public terroir::op::v0::Parameter {
 public:
  explicit PatternLayer(Pattern pattern, const element::Type& type = element::dynamic,
                        const PartialShape& shape = PartialShape::dynamic())
      : Parameter(type, shape) {
    get_rt_info()[kPattern] = std::make_shared<const Pattern>(std::move(pattern));
  }
};

/// Null for a real operation.
inline std::shared_ptr<const Pattern> pattern_of(const Node& layer) {
  const RTMap& info = layer.get_rt_info();
  const auto found = info.find(kPattern);
  return found != info.end() ? found->second.as<std::shared_ptr<const Pattern>>() : nullptr;
}

/// Handles of one layer are the same key.
struct ByLayer {
  bool operator()(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) const {
    return Output<const Node>(a, 0) < Output<const Node>(b, 0);
  }
};

/// Whether an attribute is this value, which may be a text, a number, a truth or a list of numbers.
inline bool same_value(const std::string& text, const Any& value) {
  if (value.is<std::string>()) return text == value.as<std::string>();
  if (text.empty()) return value.as<std::string>().empty();
  // Files put commas between numbers, an Any blanks.
  const auto spaced = [](std::string list) {
    std::replace(list.begin(), list.end(), ',', ' ');
    const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
    list.erase(std::unique(list.begin(), list.end(), both_blank), list.end());
    return list;
  };
  const bool is_truth = text == "true" || text == "false";
  try {
    if (value.is<int>() && is_truth) return (text == "true") == (value.as<int>() != 0);
    if (value.is<bool>()) return Any(text).as<bool>() == value.as<bool>();
    if (value.is<int>() || value.is<int64_t>() || value.is<size_t>())
      return Any(text).as<int64_t>() == value.as<int64_t>();
    if (value.is<float>() || value.is<double>()) return Any(text).as<double>() == value.as<double>();
  } catch (const Exception&) {
    return false;  // it is of another kind
  }
  return spaced(text) == spaced(value.as<std::string>());
}

/// How many inputs read the value, `most` at most, of layers that a result or a variable needs: what was replaced still
/// reads its inputs, and does not count.
TERROIR_API size_t count_readers(const Output<Node>& value, size_t most);

inline bool order_of_inputs_matters(const std::string& type) {
  static constexpr const char* kSame[] = {"Add",        "Multiply",   "Maximum",    "Minimum",
                                          "Equal",      "NotEqual",   "LogicalAnd", "LogicalOr",
                                          "LogicalXor", "BitwiseAnd", "BitwiseOr",  "BitwiseXor"};
  return std::none_of(std::begin(kSame), std::end(kSame), [&](const char* name) { return type == name; });
}

}  // namespace detail

namespace op {

/// Any value for which the predicate holds; with an input, one that this matches.
class Label : public detail::PatternLayer {
 public:
  /// Of the type and shape of `value`, for what is inferred behind it in the pattern.
  explicit Label(const Output<Node>& value, const Predicate& predicate = {}, const PatternOps& inputs = {})
      : PatternLayer({inputs.empty() ? detail::Kind::any : detail::Kind::alternatives, {}, inputs, predicate},
                     value.get_element_type(), value.get_partial_shape()) {}
  template <typename T, typename = std::enable_if_t<std::is_convertible_v<T*, Node*>>>
  explicit Label(const std::shared_ptr<T>& value, const Predicate& predicate = {}, const PatternOps& inputs = {})
      : Label(Output<Node>(value), predicate, inputs) {}
  explicit Label(const element::Type& type = element::dynamic, const PartialShape& shape = PartialShape::dynamic(),
                 const Predicate& predicate = {})
      : PatternLayer({detail::Kind::any, {}, {}, predicate}, type, shape) {}
};

/// The first of several patterns that matches.
class Or : public detail::PatternLayer {
 public:
  explicit Or(const OutputVector& patterns) : PatternLayer({detail::Kind::alternatives, {}, patterns, {}}) {}
};

}  // namespace op

inline std::shared_ptr<Node> any_input(const op::Predicate& predicate = {}) {
  return std::make_shared<op::Label>(element::dynamic, PartialShape::dynamic(), predicate);
}

/// A layer of one of these classes, or of one that is derived from them.
template <typename... Types>
std::shared_ptr<Node> wrap_type(const PatternOps& inputs = {}, const op::Predicate& predicate = {}) {
  return std::make_shared<detail::PatternLayer>(
      detail::Pattern{detail::Kind::layer, {Types::get_type_info_static()...}, inputs, predicate});
}
template <typename... Types>
std::shared_ptr<Node> wrap_type(const op::Predicate& predicate) {
  return wrap_type<Types...>(PatternOps(), predicate);
}

/// The first of both that matches.
inline std::shared_ptr<Node> operator|(const Output<Node>& one, const Output<Node>& other) {
  return std::make_shared<op::Or>(OutputVector{one, other});
}

/// The attributes of a layer, by their names in files, are these.
inline op::Predicate attrs_match(const AnyMap& attributes) {
  return [attributes](const Output<Node>& value) {
    const std::map<std::string, std::string> its = value.get_node()->get_attributes();
    return std::all_of(attributes.begin(), attributes.end(), [&](const AnyMap::value_type& wanted) {
      const auto found = its.find(wanted.first);
      return found != its.end() && detail::same_value(found->second, wanted.second);
    });
  };
}
inline op::Predicate::Predicate(std::initializer_list<AnyMap::value_type> attributes)
    : Predicate(attrs_match(AnyMap(attributes))) {}
inline std::shared_ptr<Node> wrap_const() { return wrap_type<terroir::op::v0::Constant>(); }

/// Such a layer, or what its first input is.
template <typename... Types>
std::shared_ptr<Node> optional(const PatternOps& inputs = {}, const op::Predicate& predicate = {}) {
  return std::make_shared<detail::PatternLayer>(
      detail::Pattern{detail::Kind::optional_layer, {Types::get_type_info_static()...}, inputs, predicate});
}

/// How many layers of the model read the value.
inline op::Predicate consumers_count(size_t count) {
  return [count](const Output<Node>& value) { return detail::count_readers(value, count + 1) == count; };
}
inline op::Predicate consumers_more_than(size_t count) {
  return [count](const Output<Node>& value) { return detail::count_readers(value, count + 1) > count; };
}
inline op::Predicate has_static_shape() {
  return [](const Output<Node>& value) { return value.get_partial_shape().is_static(); };
}
inline op::Predicate has_static_rank() {
  return [](const Output<Node>& value) { return value.get_partial_shape().rank().is_static(); };
}
inline op::Predicate has_static_dims(const std::vector<size_t>& axes) {
  return [axes](const Output<Node>& value) {
    const PartialShape shape = value.get_partial_shape();
    return shape.rank().is_static() && std::all_of(axes.begin(), axes.end(), [&](size_t axis) {
             return axis < shape.size() && shape[static_cast<std::ptrdiff_t>(axis)].is_static();
           });
  };
}
inline op::Predicate has_static_dim(size_t axis) { return has_static_dims({axis}); }
inline op::Predicate rank_equals(const Dimension& rank) {
  return [rank](const Output<Node>& value) { return value.get_partial_shape().rank() == rank; };
}
inline op::Predicate rank_more_than(const Dimension& rank) {
  return [least = rank.get_length()](const Output<Node>& value) {
    const Rank its = value.get_partial_shape().rank();
    return its.is_static() && its.get_length() > least;
  };
}
inline op::Predicate type_matches_any(const std::vector<element::Type>& types) {
  return [types](const Output<Node>& value) {
    return std::find(types.begin(), types.end(), value.get_element_type()) != types.end();
  };
}
inline op::Predicate type_matches(const element::Type& type) { return type_matches_any({type}); }
/// The layer is of this class, or of one that is derived from it.
template <typename T>
std::function<bool(std::shared_ptr<Node>)> has_class() {
  return [](const std::shared_ptr<Node>& layer) { return is_type<T>(layer); };
}
/// The layer is of another class.
template <typename T>
op::Predicate class_other_than() {
  return [](const Output<Node>& value) {
    return !value.get_node()->get_type_info().is_castable(T::get_type_info_static());
  };
}
inline op::Predicate all_of(const std::vector<std::function<bool(Output<Node>)>>& predicates) {
  return [predicates](const Output<Node>& value) {
    return std::all_of(predicates.begin(), predicates.end(), [&](const auto& holds) { return holds(value); });
  };
}

/// What stands for a pattern in the model.
using PatternValueMap = std::map<std::shared_ptr<Node>, Output<Node>, detail::ByLayer>;
using PatternMap = std::map<std::shared_ptr<Node>, std::shared_ptr<Node>, detail::ByLayer>;

class Matcher {
 public:
  using PatternMap = pattern::PatternMap;
  using PatternValueMap = pattern::PatternValueMap;

  explicit Matcher(const Output<Node>& pattern, std::string name = {}) : pattern_(pattern), name_(std::move(name)) {}
  template <typename T, typename = std::enable_if_t<std::is_convertible_v<T*, Node*>>>
  explicit Matcher(const std::shared_ptr<T>& pattern, std::string name = {})
      : Matcher(Output<Node>(pattern), std::move(name)) {}

  /// Whether the pattern is met at this value (of a layer: at its first output); what was matched before is forgotten.
  bool match(const Output<Node>& value) {
    found_ = {};
    return match_value(pattern_, value);
  }

  /// The same where it is known already what stands for some patterns.
  bool match(const Output<Node>& value, const PatternValueMap& known) {
    found_ = {{}, known, {}};
    return match_value(pattern_, value);
  }
  bool match(const Output<Node>& value, const PatternMap& known) {
    PatternValueMap values;
    for (const auto& [pattern, layer] : known) values.emplace(pattern, layer);
    return match(value, values);
  }

  const std::string& get_name() const { return name_; }
  std::shared_ptr<Node> get_pattern() const { return pattern_.get_node_shared_ptr(); }
  Output<Node> get_pattern_value() const { return pattern_; }
  /// The last match: where it stands, all of it from there on, and what stands for which pattern.
  Output<Node> get_match_value() const { return found_.values.empty() ? Output<Node>() : found_.values.front(); }
  std::shared_ptr<Node> get_match_root() const { return get_match_value().get_node_shared_ptr(); }
  const OutputVector& get_matched_values() const { return found_.values; }
  NodeVector get_matched_nodes() const {
    NodeVector layers;
    for (const Output<Node>& value : found_.values) layers.push_back(value.get_node_shared_ptr());
    return layers;
  }
  const PatternValueMap& get_pattern_value_map() const { return found_.by_pattern; }
  PatternMap get_pattern_map() const {
    PatternMap layers;
    for (const auto& [pattern, value] : found_.by_pattern) layers.emplace(pattern, value.get_node_shared_ptr());
    return layers;
  }
  /// What the names in notations of predicates stand for.
  const PatternSymbolMap& get_symbols() const { return found_.symbols; }
  void clear_state() { found_ = {}; }

 private:
  struct Found {
    OutputVector values;
    PatternValueMap by_pattern;
    PatternSymbolMap symbols;
  };

  /// Takes back what `attempt` has found if it fails.
  template <typename F>
  bool attempt(const F& attempted) {
    Found before = found_;
    if (attempted()) return true;
    found_ = std::move(before);
    return false;
  }

  bool match_value(const Output<Node>& pattern, const Output<Node>& value) {
    const std::shared_ptr<Node> layer = pattern.get_node_shared_ptr();
    const auto known = found_.by_pattern.find(layer);
    if (known != found_.by_pattern.end()) return known->second == value;
    const auto data = detail::pattern_of(*layer);
    if (data != nullptr && data->kind == detail::Kind::alternatives) {
      return std::any_of(data->inputs.begin(), data->inputs.end(), [&](const Output<Node>& alternative) {
        return attempt([&] {
          found_.by_pattern.emplace(layer, value);
          return match_value(alternative, value) && data->predicate(found_.symbols, value);
        });
      });
    }
    const auto match_layer = [&] {
      found_.by_pattern.emplace(layer, value);
      found_.values.push_back(value);
      if (data == nullptr) return match_operation(pattern, value);
      const DiscreteTypeInfo& real = value.get_node()->get_type_info();
      const auto is_real = [&](const DiscreteTypeInfo& wanted) { return real.is_castable(wanted); };
      const bool any = data->kind == detail::Kind::any;
      // Predicates count on the kind.
      return (any || std::any_of(data->types.begin(), data->types.end(), is_real)) &&
             data->predicate(found_.symbols, value) && (any || match_inputs(data->inputs, value));
    };
    if (attempt(match_layer)) return true;
    return data != nullptr && data->kind == detail::Kind::optional_layer && !data->inputs.empty() &&
           attempt([&] { return match_value(data->inputs.front(), value); });
  }

  bool match_operation(const Output<Node>& pattern, const Output<Node>& value) {
    return pattern.get_index() == value.get_index() &&
           pattern.get_node()->get_type_info() == value.get_node()->get_type_info() &&
           match_inputs(pattern.get_node()->input_values(), value);
  }

  bool match_inputs(const OutputVector& patterns, const Output<Node>& value) {
    if (patterns.empty()) return true;
    const OutputVector inputs = value.get_node()->input_values();
    if (patterns.size() != inputs.size()) return false;
    std::vector<size_t> order(inputs.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const bool fixed = detail::order_of_inputs_matters(value.get_node()->get_type_name());
    do {
      const auto in_this_order = [&] {
        for (size_t i = 0; i < order.size(); ++i) {
          if (!match_value(patterns[order[i]], inputs[i])) return false;
        }
        return true;
      };
      if (attempt(in_this_order)) return true;
    } while (!fixed && std::next_permutation(order.begin(), order.end()));
    return false;
  }

  Output<Node> pattern_;
  std::string name_;
  Found found_;
};

}  // namespace pattern
}  // namespace pass
}  // namespace terroir
