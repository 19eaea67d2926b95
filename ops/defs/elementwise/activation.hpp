#pragma once
// What: attributes of the activations. ReLU, Sigmoid, Tanh, Exp, HSwish, HSigmoid, Mish, SoftPlus, SoftSign, Gelu-2,
// Swish, PReLU, HardSigmoid and Selu have none (the last four take scalars as inputs).
#include <string_view>

#include "ir/schema/attributes.hpp"

namespace terroir::ops {

/// Source: operation page Clamp-1.
struct ClampAttrs {
  double min = 0;
  double max = 0;

  template <class V>
  void visit(V& v) {
    v("min", min, ir::Presence::required);
    v("max", max, ir::Presence::required);
  }
};

/// Source: operation page Elu-1.
struct EluAttrs {
  double alpha = 1;

  template <class V>
  void visit(V& v) {
    v("alpha", alpha, ir::Presence::required);
  }
};

enum class GeluMode { erf, tanh };

/// Source: operation page Gelu-7. Gelu-2 has no attributes and means erf.
struct GeluAttrs {
  GeluMode approximation_mode = GeluMode::erf;

  template <class V>
  void visit(V& v) {
    v("approximation_mode", approximation_mode);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::GeluMode> {
  static constexpr std::string_view names[] = {"ERF", "TANH"};
};
