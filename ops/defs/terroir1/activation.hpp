#pragma once
// What: `activation` and `activation_params` of the ops of the set terroir1: spellings, parameters and their defaults.
#include <span>
#include <string_view>
#include <vector>

#include "ir/schema/attributes.hpp"
#include "ops/reference/terroir1/activation.hpp"

namespace terroir::ops {

/// The activation with its parameters: those given, or all defaults when none is. Exception for another number of them
/// or one out of its range.
reference::Activation bind_activation(FusedActivation kind, const std::vector<double>& params);

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::FusedActivation> {
  static constexpr std::string_view names[] = {
      "Identity",   "Relu",     "LeakyRelu", "Clip",  "HardSigmoid",    "Sigmoid", "Tanh",
      "Elu",        "Selu",     "Celu",      "Gelu",  "HardSwish",      "Linear",  "ParametricSoftplus",
      "ScaledTanh", "Softplus", "Softsign",  "Swish", "ThresholdedRelu"};
};
