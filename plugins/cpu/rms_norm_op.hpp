#pragma once
// What: RmsNorm of the set "cpu": rows divided by the root of their mean square, made by the pass fuse_rms_norm.
// Formula: y = x / sqrt(mean(x^2) + eps), or / (sqrt(mean(x^2)) + eps), over the last axis; then * scale.
// Shapes: any of at least one axis; the optional input 1, scale, has one value per element of a row. Types: f32.
// Source: B. Zhang and R. Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019.
#include "ir/schema/attributes.hpp"
#include "ir/schema/op_schema.hpp"

namespace terroir::cpu {

inline constexpr std::string_view kRmsNormType = "RmsNorm";

struct RmsNormAttrs {
  double eps = 0;
  bool eps_outside_sqrt = false;

  template <class V>
  void visit(V& v) {
    v("eps", eps);
    v("eps_outside_sqrt", eps_outside_sqrt);
  }
};

ir::OpSchema rms_norm_schema();

}  // namespace terroir::cpu
