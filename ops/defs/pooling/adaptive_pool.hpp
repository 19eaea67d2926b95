#pragma once
// What: AdaptiveAvgPool-8 and AdaptiveMaxPool-8: pooling to a given output size.
// Shapes: data [N, C, spatial], output_shape [spatial rank] -> [N, C, output_shape], for max also indices of that
// shape. Source: operation pages AdaptiveAvgPool-8, AdaptiveMaxPool-8.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct AdaptiveMaxPoolAttrs {
  element::Type index_element_type = element::i64;

  template <class V>
  void visit(V& v) {
    v("index_element_type", index_element_type);
  }
};

}  // namespace terroir::ops
