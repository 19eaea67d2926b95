#pragma once
// What: where values would be inserted into ascending sequences.
// How: binary searches side by side, each step of which adds half of the rest or nothing: without a branch to guess
//   wrong, and with several loads under way. Threads: ranges of values.
// Edge cases: NaN is before nothing, so its place is the first (of `after_equal`: behind the last). An unordered
//   sequence gives some index.
#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

/// The first index whose element is not less than the value, or, with `after_equal`, the first one whose element is
/// greater. `sequences` is one vector for all values, or has the outer axes of the values; equal types. `dst` is i32 or
/// i64 and as large as the values.
void search_sorted(const ir::TensorView& sequences, const ir::TensorView& values, bool after_equal,
                   const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
