#include <array>
#include <cmath>
#include <numbers>

#include "ops/defs/elementwise/activation.hpp"
#include "ops/rewrites/normalization_pattern.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

/// Coefficients of 1, x, x^2, x^3.
using Polynomial = std::array<double, 4>;

bool is_op(const ir::Node& node, const char* type) { return node.is(type) && ir::opset_number(node.schema->opset) > 0; }

std::optional<Polynomial> product(const std::optional<Polynomial>& a, const std::optional<Polynomial>& b) {
  if (!a || !b) return std::nullopt;
  Polynomial result{};
  for (size_t i = 0; i < a->size(); ++i)
    for (size_t j = 0; j < b->size(); ++j) {
      const double term = (*a)[i] * (*b)[j];
      if (term == 0) continue;
      if (i + j >= result.size()) return std::nullopt;
      result[i + j] += term;
    }
  return result;
}

/// `value` as a polynomial in x of at most the third degree.
std::optional<Polynomial> polynomial_of(const ir::Graph& graph, ir::Value value, ir::Value x, int depth = 0) {
  constexpr int kDeepest = 8;
  if (value == x) return Polynomial{0, 1, 0, 0};
  if (const auto number = scalar_constant(graph, value)) return Polynomial{*number, 0, 0, 0};
  if (depth == kDeepest) return std::nullopt;
  const ir::Node& node = graph.node(value.node);
  const auto input = [&](size_t i) { return polynomial_of(graph, node.inputs[i], x, depth + 1); };
  if (is_op(node, "Multiply")) return product(input(0), input(1));
  if (is_op(node, "Divide")) {
    const auto divisor = scalar_constant(graph, node.inputs[1]);
    return divisor ? product(input(0), Polynomial{1 / *divisor, 0, 0, 0}) : std::nullopt;
  }
  if (is_op(node, "Power")) {
    const auto exponent = scalar_constant(graph, node.inputs[1]);
    const auto base = input(0);
    if (exponent == 2.0) return product(base, base);
    if (exponent == 3.0) return product(base, product(base, base));
    return std::nullopt;
  }
  if (is_op(node, "Add")) {
    auto sum = input(0);
    const auto other = input(1);
    if (!sum || !other) return std::nullopt;
    for (size_t i = 0; i < sum->size(); ++i) (*sum)[i] += (*other)[i];
    return sum;
  }
  return std::nullopt;
}

/// Equal up to what rounding of the numbers to half precision may have done.
bool close(const Polynomial& a, const Polynomial& b) {
  constexpr double kHalfRounding = 1.0 / 1024;
  for (size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= kHalfRounding * std::fabs(b[i]))) return false;
  return true;
}

struct GeluMatch {
  double factor = 1;
  std::vector<ir::Value> values;  // what is multiplied, besides numbers
  std::vector<ir::NodeId> nodes;
};

/// The factors of a product of products.
void collect_factors(const ir::Graph& graph, ir::Value value, GeluMatch& match, bool outermost = true) {
  const ir::Node& node = graph.node(value.node);
  constexpr size_t kEnough = 4;
  if (const auto number = scalar_constant(graph, value)) {
    match.factor *= *number;
  } else if (is_op(node, "Multiply") && (outermost || graph.uses(value).size() == 1) && match.nodes.size() < kEnough) {
    match.nodes.push_back(node.id);
    for (const ir::Value& input : node.inputs) collect_factors(graph, input, match, false);
  } else if (is_op(node, "Divide") && graph.uses(value).size() == 1 && scalar_constant(graph, node.inputs[1])) {
    match.nodes.push_back(node.id);
    match.factor /= *scalar_constant(graph, node.inputs[1]);
    collect_factors(graph, node.inputs[0], match, false);
  } else {
    match.values.push_back(value);
  }
}

/// The mode when `gate` is 1 + erf(x / sqrt(2)) or 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)).
std::optional<GeluMode> mode_of(const ir::Graph& graph, ir::Value gate, ir::Value x, GeluMatch& match) {
  const ir::Node& add = graph.node(gate.node);
  if (!is_op(add, "Add") || graph.uses(gate).size() != 1) return std::nullopt;
  for (size_t side = 0; side < 2; ++side) {
    if (scalar_constant(graph, add.inputs[1 - side]) != 1.0) continue;
    const ir::Node& function = graph.node(add.inputs[side].node);
    const bool erf = is_op(function, "Erf");
    if ((!erf && !is_op(function, "Tanh")) || graph.uses(add.inputs[side]).size() != 1) continue;
    const auto argument = polynomial_of(graph, function.inputs[0], x);
    const double root = std::sqrt(2 * std::numbers::inv_pi);
    const Polynomial wanted =
        erf ? Polynomial{0, 1 / std::numbers::sqrt2, 0, 0} : Polynomial{0, root, 0, root * 0.044715};
    if (!argument || !close(*argument, wanted)) continue;
    match.nodes.push_back(add.id);
    match.nodes.push_back(function.id);
    return erf ? GeluMode::erf : GeluMode::tanh;
  }
  return std::nullopt;
}

}  // namespace

ir::Pass collapse_gelu(const ir::OpRegistry& registry) {
  const ir::OpSchema& gelu = registry.get("Gelu", "opset7");
  return {"collapse_gelu", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (!is_op(node, "Multiply") || node.outputs[0].type != element::f32) continue;
              GeluMatch match;
              collect_factors(graph, {id, 0}, match);
              if (match.values.size() != 2 || match.factor != 0.5) continue;
              for (size_t side = 0; side < 2; ++side) {
                const ir::Value x = match.values[side];
                if (graph.port(x).type != element::f32 || graph.port(x).shape != node.outputs[0].shape) continue;
                const auto mode = mode_of(graph, match.values[1 - side], x, match);
                if (!mode) continue;
                patch.replace({id, 0}, patch.add(gelu, ir::make_attributes_of(GeluAttrs{*mode}), {x}, match.nodes));
                break;
              }
            }
          }};
}

}  // namespace terroir::ops
