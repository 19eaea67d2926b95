#pragma once
// What: Squeeze: removes axes of extent 1. Inputs: data, axes (optional; scalar or 1-D; missing or empty: all such
// axes). Shapes: a listed axis whose extent may be 1 is removed; one that cannot be 1 stays. With allow_axis_skip, or
// without axes, an extent that may or may not be 1 makes the rank unknown. Source: operation pages Squeeze-1,
// Squeeze-15.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

/// Squeeze-15; Squeeze-1 has none.
struct SqueezeAttrs {
  bool allow_axis_skip = false;

  template <class V>
  void visit(V& v) {
    v("allow_axis_skip", allow_axis_skip);
  }
};

}  // namespace terroir::ops
