#include "ops/rewrites/normalization_pattern.hpp"

#include <algorithm>

#include "ir/schema/registry.hpp"
#include "ops/defs/reduction/reduce.hpp"

namespace terroir::ops {
namespace {

/// One attempt: what it looked through so far.
class Matcher {
 public:
  explicit Matcher(const ir::Graph& graph) : graph_(graph) {}

  std::optional<Normalization> match(const ir::Node& last) {
    if (last.outputs.size() != 1 || last.outputs[0].type != element::f32) return std::nullopt;
    found_.nodes = {last.id};
    ir::Value numerator{}, mean_of_squares{};
    if (last.is("Divide")) {
      numerator = last.inputs[0];
      if (!deviation(last.inputs[1], mean_of_squares)) return std::nullopt;
    } else if (last.is("Multiply")) {
      const bool right = reciprocal(last.inputs[1], mean_of_squares);
      if (!right && !reciprocal(last.inputs[0], mean_of_squares)) return std::nullopt;
      numerator = last.inputs[right ? 0 : 1];
    } else {
      return std::nullopt;
    }
    if (!squares_of(mean_of_squares, numerator) || found_.eps <= 0) return std::nullopt;
    if (graph_.port(found_.x).shape != last.outputs[0].shape || !read_here_only()) return std::nullopt;
    return found_;
  }

 private:
  const ir::Node* node_of(ir::Value value, const char* type) const {
    const ir::Node& node = graph_.node(value.node);
    return node.is(type) && ir::opset_number(node.schema->opset) > 0 ? &node : nullptr;
  }
  void note(const ir::Node& node) {
    if (std::find(found_.nodes.begin(), found_.nodes.end(), node.id) == found_.nodes.end())
      found_.nodes.push_back(node.id);
  }

  /// value = inner + eps.
  bool with_eps(ir::Value value, ir::Value& inner) {
    const ir::Node* add = node_of(value, "Add");
    if (!add) return false;
    for (size_t side = 0; side < 2; ++side)
      if (const auto eps = scalar_constant(graph_, add->inputs[1 - side])) {
        found_.eps = *eps;
        inner = add->inputs[side];
        note(*add);
        return true;
      }
    return false;
  }

  /// value = inner^exponent.
  bool power(ir::Value value, double exponent, ir::Value& inner) {
    const ir::Node* node = node_of(value, "Power");
    if (!node || scalar_constant(graph_, node->inputs[1]) != exponent) return false;
    inner = node->inputs[0];
    note(*node);
    return true;
  }

  bool root(ir::Value value, ir::Value& inner) {
    if (const ir::Node* node = node_of(value, "Sqrt")) {
      inner = node->inputs[0];
      note(*node);
      return true;
    }
    return power(value, 0.5, inner);
  }

  /// value = sqrt(mean + eps) or sqrt(mean) + eps.
  bool deviation(ir::Value value, ir::Value& mean) {
    ir::Value inner{};
    if (root(value, inner)) return with_eps(inner, mean);
    found_.eps_outside_sqrt = true;
    return with_eps(value, inner) && root(inner, mean);
  }

  bool reciprocal(ir::Value value, ir::Value& mean) {
    const std::vector<ir::NodeId> before = found_.nodes;
    ir::Value inner{};
    if (power(value, -0.5, inner) && with_eps(inner, mean)) return true;
    found_.nodes = before;
    const ir::Node* divide = node_of(value, "Divide");
    if (!divide || scalar_constant(graph_, divide->inputs[0]) != 1.0) return false;
    note(*divide);
    if (deviation(divide->inputs[1], mean)) return true;
    found_.nodes = before;
    found_.eps_outside_sqrt = false;
    return false;
  }

  /// value = mean(inner) over found_.axes, or over axes that become those.
  bool mean(ir::Value value, ir::Value& inner) {
    const ir::Node* node = node_of(value, "ReduceMean");
    if (!node || !node->attrs<ReduceAttrs>().keep_dims) return false;
    auto axes = ir::constant_integers(graph_, node->inputs[1]);
    const Rank rank = graph_.port(node->inputs[0]).shape.rank();
    if (!axes || axes->empty() || rank.is_dynamic()) return false;
    for (int64_t& axis : *axes) axis += axis < 0 ? rank.get_length() : 0;
    std::sort(axes->begin(), axes->end());
    if (!found_.axes.empty() && found_.axes != *axes) return false;
    found_.axes = std::move(*axes);
    inner = node->inputs[0];
    note(*node);
    return true;
  }

  /// value = x - mean(x).
  bool centered(ir::Value value, ir::Value& x) {
    const ir::Node* subtract = node_of(value, "Subtract");
    ir::Value of{};
    if (!subtract || !mean(subtract->inputs[1], of) || of != subtract->inputs[0]) return false;
    x = of;
    note(*subtract);
    return true;
  }

  /// value = mean(d^2), where the numerator is d, perhaps computed a second time.
  bool squares_of(ir::Value value, ir::Value numerator) {
    ir::Value squares{}, base{};
    if (!mean(value, squares)) return false;
    if (const ir::Node* difference = node_of(squares, "SquaredDifference")) {
      ir::Value of{};
      const bool right = mean(difference->inputs[1], of) && of == difference->inputs[0];
      if (!right && !(mean(difference->inputs[0], of) && of == difference->inputs[1])) return false;
      note(*difference);
      found_.centered = true;
      return centered(numerator, found_.x) && found_.x == of;
    }
    if (const ir::Node* product = node_of(squares, "Multiply"); product && product->inputs[0] == product->inputs[1]) {
      base = product->inputs[0];
      note(*product);
    } else if (!power(squares, 2.0, base)) {
      return false;
    }
    ir::Value x{};
    found_.centered = centered(numerator, found_.x);
    if (found_.centered) return centered(base, x) && x == found_.x;
    found_.x = numerator;
    return base == numerator;
  }

  bool read_here_only() const {
    const auto inside = [&](ir::NodeId id) {
      return std::find(found_.nodes.begin(), found_.nodes.end(), id) != found_.nodes.end();
    };
    for (size_t i = 1; i < found_.nodes.size(); ++i)
      for (const ir::Use& use : graph_.uses({found_.nodes[i], 0}))
        if (!inside(use.node)) return false;
    return true;
  }

  const ir::Graph& graph_;
  Normalization found_;
};

}  // namespace

std::optional<Normalization> match_normalization(const ir::Graph& graph, const ir::Node& node) {
  return Matcher(graph).match(node);
}

std::optional<double> scalar_constant(const ir::Graph& graph, ir::Value value) {
  const ir::Constant* constant = ir::constant_of(graph, value);
  if (!constant || constant->view.type != element::f32 || constant->view.count() != 1) return std::nullopt;
  return static_cast<double>(*constant->view.as<float>());
}

}  // namespace terroir::ops
