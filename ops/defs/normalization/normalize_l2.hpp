#pragma once
// What: NormalizeL2-1 and GRN-1: divides by the Euclidean norm along axes.
// Formula: NormalizeL2: y = x / sqrt(sum(x^2) + eps) or x / sqrt(max(sum(x^2), eps)); GRN: the former over channels.
// Shapes: any; axes 0-D or 1-D -> shape of data. Edge cases: without axes each element is divided by itself:
// 1, and 0 where it is 0, whatever its sign and eps.
// Source: operation pages NormalizeL2-1, GRN-1.
#include "ir/schema/attributes.hpp"
#include "ops/reference/normalization/normalization.hpp"

namespace terroir::ops {

struct NormalizeL2Attrs {
  double eps = 0;
  reference::EpsMode eps_mode = reference::EpsMode::add;

  template <class V>
  void visit(V& v) {
    v("eps", eps, ir::Presence::required);
    v("eps_mode", eps_mode, ir::Presence::required);
  }
};

struct GrnAttrs {
  double bias = 0;

  template <class V>
  void visit(V& v) {
    v("bias", bias, ir::Presence::required);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::EpsMode> {
  static constexpr std::string_view names[] = {"add", "max"};
};
