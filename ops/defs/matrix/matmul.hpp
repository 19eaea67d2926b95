#pragma once
// What: attributes and shape of MatMul. Source: operation page MatMul-1.
#include <terroir/partial_shape.hpp>

#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct MatMulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;

  template <class V>
  void visit(V& v) {
    v("transpose_a", transpose_a);
    v("transpose_b", transpose_b);
  }
};

/// The shape of the product; Exception when the operands do not fit.
PartialShape matmul_shape(const PartialShape& a, const PartialShape& b, const MatMulAttrs& attrs);

}  // namespace terroir::ops
