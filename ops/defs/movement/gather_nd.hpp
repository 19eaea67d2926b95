#pragma once
// What: GatherND: slices of data at coordinates. Inputs: data, indices, whose last axis is a coordinate of the axes of
// data after the first batch_dims.
// Shapes: batch + indices[batch_dims:-1] + data[batch_dims + indices[-1]:]; GatherND-5 makes one axis of the batch.
// Edge cases: negative coordinates count from the end; out of range is an error at run time.
// Source: operation pages GatherND-5, GatherND-8.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct GatherNdAttrs {
  int64_t batch_dims = 0;

  template <class V>
  void visit(V& v) {
    v("batch_dims", batch_dims);
  }
};

}  // namespace terroir::ops
