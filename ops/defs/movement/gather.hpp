#pragma once
// What: Gather: slices of data along `axis`, chosen by indices. Inputs: data, indices, axis (one integer).
// Formula: output[b.., o.., i.., k..] = data[b.., o.., indices[b.., i..], k..].
// Shapes: data[:axis] + indices[batch_dims:] + data[axis+1:]; the first batch_dims extents of data and indices agree.
// Edge cases: negative indices count from the end; an index out of range gives zeros. The pages of Gather-1 and
// Gather-7 leave both open, OpenVINO's reference is the same for all three (its CPU device gives zeros for negative
// ones of -1 and -7). Source: operation pages Gather-1, Gather-7, Gather-8.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

/// Gather-7 and Gather-8; Gather-1 has none.
struct GatherAttrs {
  int64_t batch_dims = 0;  // negative: from the rank of indices

  template <class V>
  void visit(V& v) {
    v("batch_dims", batch_dims);
  }
};

}  // namespace terroir::ops
