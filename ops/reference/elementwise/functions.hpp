#pragma once
// What: the formulas of the activations on one real number (float or double), numerically stable.
#include <cmath>

namespace terroir::ops::reference {

/// Stays exact for large |x|: exp only sees non-positive numbers.
template <class T>
T sigmoid(T x) {
  const T e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/// log(1 + e^x) without overflow.
template <class T>
T softplus(T x) {
  if (x != x) return x;
  return (x > 0 ? x : T{0}) + std::log1p(std::exp(-std::abs(x)));
}

/// min(max(x + 3, 0), 6) / 6; NaN stays NaN.
template <class T>
T hsigmoid(T x) {
  const T shifted = x + 3;
  return (shifted < 0 ? T{0} : shifted > 6 ? T{6} : shifted) / 6;
}

template <class T>
T elu(T x, T alpha) {
  return x < 0 ? alpha * std::expm1(x) : x;
}

template <class T>
T gelu_erf(T x) {
  return x * T(0.5) * (1 + std::erf(x * T(0.70710678118654752440)));
}

template <class T>
T gelu_tanh(T x) {
  return x * T(0.5) * (1 + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
}

}  // namespace terroir::ops::reference
