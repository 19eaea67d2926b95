#pragma once
// What: Reshape: the same elements under another shape. Inputs: data, shape (1-D integers: extents; one -1 is computed
// from the number of elements; 0 means the extent of the same axis of data if special_zero, else an empty axis).
// Shapes: unknown extents of data and of a computed target are carried through where they can be.
// Edge cases: an empty target makes a scalar. Source: operation page Reshape-1.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct ReshapeAttrs {
  bool special_zero = false;

  template <class V>
  void visit(V& v) {
    v("special_zero", special_zero, ir::Presence::required);
  }
};

}  // namespace terroir::ops
