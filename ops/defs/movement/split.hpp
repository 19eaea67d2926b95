#pragma once
// What: Split: num_splits equal pieces of data along an axis. Inputs: data, axis (one integer).
// Shapes: the extent must divide. Source: operation page Split-1.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct SplitAttrs {
  int64_t num_splits = 1;

  template <class V>
  void visit(V& v) {
    v("num_splits", num_splits, ir::Presence::required);
  }
};

}  // namespace terroir::ops
