#pragma once
// What: where values would be inserted into sorted sequences.
// Formula: the first i with s[i] >= v; with right_mode the first i with s[i] > v.
// Shapes: sequences [..., n] and values [..., m] with equal outer axes, or one sequence [n] for all values; the output
// has the shape of the values. Types: numeric, both equal; the output is i32 or i64.
// Edge cases: NaN and sequences out of order give some index in 0..n. Source: operation page SearchSorted-15.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct SearchSortedAttrs {
  bool right_mode = false;
  element::Type output_type = element::i64;

  template <class V>
  void visit(V& v) {
    v("right_mode", right_mode);
    v("output_type", output_type);
  }
};

}  // namespace terroir::ops
