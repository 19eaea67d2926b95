#pragma once
// What: the bucket each element falls into.
// Formula: with_right_bound: the i with b[i-1] < x <= b[i], else with b[i-1] <= x < b[i]; 0 below, n above all n
// bounds. Shapes: data: any; buckets: a vector, ascending; the output has the data's shape. Types: numeric; i32 or i64.
// Edge cases: NaN goes to 0 with_right_bound, else to n; bounds out of order give some index in 0..n.
// Source: operation page Bucketize-3.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct BucketizeAttrs {
  element::Type output_type = element::i64;
  bool with_right_bound = true;

  template <class V>
  void visit(V& v) {
    v("output_type", output_type);
    v("with_right_bound", with_right_bound);
  }
};

}  // namespace terroir::ops
