#include "ops/defs/terroir1/activation.hpp"

#include <cmath>
#include <limits>

#include "ir/base/error.hpp"

namespace terroir::ops {
namespace {

struct Parameter {
  std::string_view name;
  double fallback;
};

/// In the order of activation_params; defaults are those of the ONNX operator of the same name, where there is one.
std::vector<Parameter> parameters_of(FusedActivation kind) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  switch (kind) {
    case FusedActivation::leaky_relu:
      return {{"alpha", 0.01}};
    case FusedActivation::clip:
      return {{"min", -kLargest}, {"max", kLargest}};
    case FusedActivation::hard_sigmoid:
      return {{"alpha", 0.2}, {"beta", 0.5}};
    case FusedActivation::elu:
    case FusedActivation::celu:
    case FusedActivation::thresholded_relu:
      return {{"alpha", 1}};
    case FusedActivation::selu:
      return {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}};
    case FusedActivation::hard_swish:
      return {{"alpha", 1.0 / 6}, {"beta", 0.5}};
    case FusedActivation::linear:
      return {{"alpha", 1}, {"beta", 0}};
    case FusedActivation::parametric_softplus:
    case FusedActivation::scaled_tanh:
      return {{"alpha", 1}, {"beta", 1}};
    case FusedActivation::softplus:
      return {{"steepness", 1}};
    case FusedActivation::swish:
      return {{"beta", 1}};
    case FusedActivation::identity:
    case FusedActivation::relu:
    case FusedActivation::sigmoid:
    case FusedActivation::tanh:
    case FusedActivation::gelu:
    case FusedActivation::softsign:
      return {};
  }
  return {};
}

}  // namespace

reference::Activation bind_activation(FusedActivation kind, const std::vector<double>& params) {
  const std::vector<Parameter> known = parameters_of(kind);
  const std::string_view name = ir::EnumSpellings<FusedActivation>::names[static_cast<size_t>(kind)];
  if (!params.empty() && params.size() != known.size()) {
    std::string list;
    for (const Parameter& parameter : known) list += (list.empty() ? ": " : ", ") + std::string(parameter.name);
    throw_error(ErrorCode::invalid_argument, "activation ", name, " takes ", known.size(), " activation_params", list,
                "; got ", params.size());
  }
  double values[2] = {0, 0};
  for (size_t i = 0; i < known.size(); ++i) {
    values[i] = params.empty() ? known[i].fallback : params[i];
    if (std::isnan(values[i]))
      throw_error(ErrorCode::invalid_argument, "activation_params[", i, "] (", known[i].name, ") is not a number");
  }
  if (kind == FusedActivation::clip && values[0] > values[1])
    throw_error(ErrorCode::invalid_argument, "activation Clip: min ", values[0], " must not be above max ", values[1]);
  if (kind == FusedActivation::celu && !(values[0] > 0))
    throw_error(ErrorCode::invalid_argument, "activation Celu: alpha must be positive, got ", values[0]);
  if (kind == FusedActivation::softplus && values[0] == 0)
    throw_error(ErrorCode::invalid_argument, "activation Softplus: steepness must not be 0");
  return {kind, values[0], values[1]};
}

}  // namespace terroir::ops
