#pragma once
// What: attributes of SoftMax-1, SoftMax-8 and LogSoftmax-5.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

/// `axis` counts from the end when negative, but not in SoftMax-1.
struct SoftMaxAttrs {
  int64_t axis = 1;

  template <class V>
  void visit(V& v) {
    v("axis", axis);
  }
};

}  // namespace terroir::ops
