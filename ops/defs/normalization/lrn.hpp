#pragma once
// What: LRN-1: divides by a power of the sum of squares around the element.
// Formula: y = x / (bias + alpha / size^len(axes) * sum(x^2 in the region))^beta.
// Shapes: data of any shape, axes 0-D or 1-D -> shape of data. Edge cases: the region reaches (size - 1) / 2 elements
// to both sides, so an even size sums over size - 1 of them but divides by size, as every device of OpenVINO does (the
// page's formula would reach size / 2, over size + 1); it is cut at the borders.
// Source: operation page LRN-1.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct LrnAttrs {
  double alpha = 0;
  double beta = 0;
  double bias = 0;
  int64_t size = 0;

  template <class V>
  void visit(V& v) {
    v("alpha", alpha, ir::Presence::required);
    v("beta", beta, ir::Presence::required);
    v("bias", bias, ir::Presence::required);
    v("size", size, ir::Presence::required);
  }
};

}  // namespace terroir::ops
