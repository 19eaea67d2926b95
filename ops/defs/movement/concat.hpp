#pragma once
// What: Concat: the inputs one after the other along `axis`. Shapes: equal but for `axis`, whose extents add up.
// Source: operation page Concat-1.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct ConcatAttrs {
  int64_t axis = 0;

  template <class V>
  void visit(V& v) {
    v("axis", axis, ir::Presence::required);
  }
};

}  // namespace terroir::ops
