#pragma once
// What: NonZero: the coordinates of the elements that are not 0, in row-major order, one column each.
// Shapes: [rank, 0..elements]; a scalar counts as a list of one. The number of columns depends on data.
// Source: operation page NonZero-3.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct NonZeroAttrs {
  element::Type output_type = element::i64;

  template <class V>
  void visit(V& v) {
    v("output_type", output_type);
  }
};

}  // namespace terroir::ops
