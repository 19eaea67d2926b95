#pragma once
// What: ShapeOf: the extents of the input as a 1-D tensor; nothing of the input's elements is read.
// Edge cases: a scalar gives an empty tensor; an extent that does not fit i32 is an error at run time.
// Source: operation pages ShapeOf-1 (always i64), ShapeOf-3.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct ShapeOfAttrs {
  element::Type output_type = element::i64;

  template <class V>
  void visit(V& v) {
    v("output_type", output_type);
  }
};

}  // namespace terroir::ops
