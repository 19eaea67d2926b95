#pragma once
// What: the activations that an op of the set terroir1 may apply to each element of its result.
// Formula: at each enumerator; a and b are the first and the second parameter.
// Edge cases: NaN stays NaN.
#include <cmath>

#include "ops/reference/elementwise/functions.hpp"

namespace terroir::ops {

enum class FusedActivation {
  identity,             // x
  relu,                 // max(x, 0)
  leaky_relu,           // x < 0 ? a * x : x
  clip,                 // min(max(x, a), b)
  hard_sigmoid,         // min(max(a * x + b, 0), 1)
  sigmoid,              // 1 / (1 + e^-x)
  tanh,                 // tanh(x)
  elu,                  // x < 0 ? a * (e^x - 1) : x
  selu,                 // b * (x < 0 ? a * (e^x - 1) : x)
  celu,                 // x < 0 ? a * (e^(x / a) - 1) : x, a > 0
  gelu,                 // x * Phi(x)
  hard_swish,           // x * min(max(a * x + b, 0), 1)
  linear,               // a * x + b
  parametric_softplus,  // a * log(1 + e^(b * x))
  scaled_tanh,          // a * tanh(b * x)
  softplus,             // log(1 + e^(a * x)) / a, a != 0
  softsign,             // x / (1 + |x|)
  swish,                // x / (1 + e^(-a * x))
  thresholded_relu      // x > a ? x : 0
};

}  // namespace terroir::ops

namespace terroir::ops::reference {

struct Activation {
  FusedActivation kind = FusedActivation::identity;
  double a = 0, b = 0;
};

inline double activate(const Activation& f, double x) {
  const auto between = [](double v, double low, double high) { return v < low ? low : v > high ? high : v; };
  switch (f.kind) {
    case FusedActivation::identity:
      return x;
    case FusedActivation::relu:
      return x < 0 ? 0 : x;
    case FusedActivation::leaky_relu:
      return x < 0 ? f.a * x : x;
    case FusedActivation::clip:
      return between(x, f.a, f.b);
    case FusedActivation::hard_sigmoid:
      return between(f.a * x + f.b, 0, 1);
    case FusedActivation::sigmoid:
      return sigmoid(x);
    case FusedActivation::tanh:
      return std::tanh(x);
    case FusedActivation::elu:
      return elu(x, f.a);
    case FusedActivation::selu:
      return f.b * elu(x, f.a);
    case FusedActivation::celu:
      return f.a * elu(x / f.a, 1.0);
    case FusedActivation::gelu:
      return gelu_erf(x);
    case FusedActivation::hard_swish:
      return x * between(f.a * x + f.b, 0, 1);
    case FusedActivation::linear:
      return f.a * x + f.b;
    case FusedActivation::parametric_softplus:
      return f.a * softplus(f.b * x);
    case FusedActivation::scaled_tanh:
      return f.a * std::tanh(f.b * x);
    case FusedActivation::softplus:
      return softplus(f.a * x) / f.a;
    case FusedActivation::softsign:
      return x / (1 + std::abs(x));
    case FusedActivation::swish:
      return x * sigmoid(f.a * x);
    case FusedActivation::thresholded_relu:
      return x <= f.a ? 0 : x;
  }
  return x;
}

}  // namespace terroir::ops::reference
