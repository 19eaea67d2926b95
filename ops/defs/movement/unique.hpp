#pragma once
// What: Unique: the different elements of data, or its different slices along an axis. Inputs: data, axis (optional,
// one integer; without it data is one list). Shapes: values [1..n] (along an axis: as data, with 1..n there), first
// places [1..n], for each element its value [n], occurrences [1..n]. How many there are depends on data. Edge cases:
// not sorted means in the order of the first places; NaN is equal to NaN, and last. Source: operation page Unique-10.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct UniqueAttrs {
  bool sorted = true;
  element::Type index_element_type = element::i64;
  element::Type count_element_type = element::i64;

  template <class V>
  void visit(V& v) {
    v("sorted", sorted);
    v("index_element_type", index_element_type);
    v("count_element_type", count_element_type);
  }
};

}  // namespace terroir::ops
