#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>

#include "ops/defs/elementwise/activation.hpp"
#include "ops/rewrites/new_nodes.hpp"
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

/// A factor of the result: up to rounding of f32.
bool same(double a, double b) { return std::fabs(a - b) <= 1e-7 * std::fabs(b); }

struct Product {
  double factor = 1;
  std::vector<ir::Value> values;  // what is multiplied, besides numbers
  std::vector<ir::NodeId> nodes;
};

/// The factors of a product of products.
void collect_factors(const ir::Graph& graph, ir::Value value, Product& product, bool outermost = true) {
  const ir::Node& node = graph.node(value.node);
  constexpr size_t kEnough = 4;
  const bool is_inside = outermost || graph.uses(value).size() == 1;
  if (const auto number = scalar_constant(graph, value)) {
    product.factor *= *number;
  } else if (is_op(node, "Multiply") && is_inside && product.nodes.size() < kEnough) {
    product.nodes.push_back(node.id);
    for (const ir::Value& input : node.inputs) collect_factors(graph, input, product, false);
  } else if (is_op(node, "Divide") && is_inside && scalar_constant(graph, node.inputs[1]) &&
             product.nodes.size() < kEnough) {
    product.nodes.push_back(node.id);
    product.factor /= *scalar_constant(graph, node.inputs[1]);
    collect_factors(graph, node.inputs[0], product, false);
  } else {
    product.values.push_back(value);
  }
}

/// What x times a gate is, times `factor`.
struct Activation {
  const char* type;
  double factor = 1;
  GeluMode gelu = GeluMode::erf;
  double beta = 1;  // of Swish
  std::vector<ir::NodeId> nodes = {};
};

/// Where `gate` is 1 + erf(x / sqrt(2)) or 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)).
std::optional<Activation> gelu_of(const ir::Graph& graph, const ir::Node& add, ir::Value x) {
  for (size_t side = 0; side < 2; ++side) {
    if (scalar_constant(graph, add.inputs[1 - side]) != 1.0) continue;
    const ir::Node& function = graph.node(add.inputs[side].node);
    const bool erf = is_op(function, "Erf");
    if ((!erf && !is_op(function, "Tanh")) || graph.uses(add.inputs[side]).size() != 1) continue;
    const auto argument = polynomial_of(graph, function.inputs[0], x);
    const double root = std::sqrt(2 * std::numbers::inv_pi);
    const Polynomial wanted =
        erf ? Polynomial{0, 1 / std::numbers::sqrt2, 0, 0} : Polynomial{0, root, 0, root * 0.044715};
    if (argument && close(*argument, wanted))
      return Activation{"Gelu", 0.5, erf ? GeluMode::erf : GeluMode::tanh, 1, {add.id, function.id}};
  }
  return std::nullopt;
}

std::optional<Activation> activation_of(const ir::Graph& graph, ir::Value gate, ir::Value x) {
  const ir::Node& node = graph.node(gate.node);
  if (graph.uses(gate).size() != 1) return std::nullopt;
  const std::vector<ir::NodeId> self = {node.id};
  if (is_op(node, "Add")) return gelu_of(graph, node, x);
  if (is_op(node, "Sigmoid")) {
    const auto argument = polynomial_of(graph, node.inputs[0], x);
    constexpr double kMostBeta = std::numeric_limits<float>::max();
    if (argument && *argument == Polynomial{0, (*argument)[1], 0, 0} && std::fabs((*argument)[1]) <= kMostBeta)
      return Activation{.type = "Swish", .beta = (*argument)[1], .nodes = self};
  } else if (is_op(node, "Tanh")) {
    const ir::Node& inner = graph.node(node.inputs[0].node);
    if (is_op(inner, "SoftPlus") && inner.inputs[0] == x && graph.uses(node.inputs[0]).size() == 1)
      return Activation{.type = "Mish", .nodes = {node.id, inner.id}};
  } else if (is_op(node, "HSigmoid")) {
    if (node.inputs[0] == x) return Activation{.type = "HSwish", .nodes = self};
  } else if (is_op(node, "HardSigmoid")) {
    const auto alpha = scalar_constant(graph, node.inputs[1]), beta = scalar_constant(graph, node.inputs[2]);
    if (node.inputs[0] == x && alpha && beta && same(*alpha, 1.0 / 6) && *beta == 0.5)
      return Activation{.type = "HSwish", .nodes = self};
  } else if (is_op(node, "Clamp")) {
    const auto& attrs = node.attrs<ClampAttrs>();
    const auto argument = polynomial_of(graph, node.inputs[0], x);
    if (attrs.min == 0 && attrs.max == 6 && argument && *argument == Polynomial{3, 1, 0, 0})
      return Activation{.type = "HSwish", .factor = 1.0 / 6, .nodes = self};
  }
  return std::nullopt;
}

}  // namespace

ir::Pass collapse_gates(const ir::OpRegistry& registry) {
  return {"collapse_gates", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if ((!is_op(node, "Multiply") && !is_op(node, "Divide")) || node.outputs[0].type != element::f32)
                continue;
              Product product;
              collect_factors(graph, {id, 0}, product);
              if (product.values.size() != 2) continue;
              for (size_t side = 0; side < 2; ++side) {
                const ir::Value x = product.values[side];
                const PartialShape& shape = graph.port(x).shape;
                if (graph.port(x).type != element::f32 || shape.rank().is_dynamic() || shape != node.outputs[0].shape)
                  continue;
                const auto found = activation_of(graph, product.values[1 - side], x);
                if (!found || !same(product.factor, found->factor)) continue;
                std::vector<ir::Value> inputs = {x};
                if (found->beta != 1) inputs.push_back(NewNodes(registry, patch, node).scalar(found->beta, "beta"));
                product.nodes.insert(product.nodes.end(), found->nodes.begin(), found->nodes.end());
                const bool gelu = found->type == std::string_view("Gelu");
                patch.replace({id, 0}, patch.add(registry.get(found->type, "opset16"),
                                                 gelu ? ir::make_attributes_of(GeluAttrs{found->gelu}) : nullptr,
                                                 std::move(inputs), product.nodes));
                break;
              }
            }
          }};
}

}  // namespace terroir::ops
