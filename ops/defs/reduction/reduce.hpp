#pragma once
// What: attributes of all Reduce* ops. Source: operation pages ReduceSum-1 and the like.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct ReduceAttrs {
  bool keep_dims = false;

  template <class V>
  void visit(V& v) {
    v("keep_dims", keep_dims);
  }
};

}  // namespace terroir::ops
