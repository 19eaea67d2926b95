#pragma once
// What: GatherElements: output[.. i ..] = data[.. indices[.. i ..] ..] along `axis`. Inputs: data, indices.
// Shapes: as indices, which agree with data but for `axis`. Edge cases: negative indices count from the end; out of
// range is an error at run time. Source: operation page GatherElements-6.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct GatherElementsAttrs {
  int64_t axis = 0;

  template <class V>
  void visit(V& v) {
    v("axis", axis, ir::Presence::required);
  }
};

}  // namespace terroir::ops
