#pragma once
// What: EmbeddingBagOffsets(Sum), EmbeddingBagPacked(Sum), EmbeddingSegmentsSum: sums (or means) of rows of a table,
// bag by bag; SparseFillEmptyRows: a default value for each row of a sparse matrix that has none. Inputs: table [rows,
// ...], then: indices [n], offsets [bags]; or indices [bags, n]; or indices [n], segment_ids [n], num_segments; then
// optionally (not Packed) default_index, and weights as indices. SparseFillEmptyRows: values [n], dense_shape [2],
// indices [n, 2], default_value. Shapes: [bags] + table[1:]. SparseFillEmptyRows: indices [n..n + rows, 2], values
// [n..n + rows], empty rows [rows]. Edge cases: empty bags take the row default_index, or zeros (-1 or not given);
// integers wrap around; indices out of range and offsets or segments that do not ascend are errors at run time. Source:
// operation pages EmbeddingBagOffsetsSum-3, EmbeddingBagOffsets-15, EmbeddingBagPackedSum-3, EmbeddingBagPacked-15,
// EmbeddingSegmentsSum-3, SparseFillEmptyRows-16.
#include "ir/schema/attributes.hpp"
#include "ops/reference/sparse/embedding.hpp"

namespace terroir::ops {

/// The versions of opset 15; the others only sum.
struct EmbeddingBagAttrs {
  reference::BagReduction reduction = reference::BagReduction::sum;

  template <class V>
  void visit(V& v) {
    v("reduction", reduction);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::BagReduction> {
  static constexpr std::string_view names[] = {"sum", "mean"};
};
