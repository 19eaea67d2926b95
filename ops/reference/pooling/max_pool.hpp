#pragma once
// What: maximum under a sliding window, and where it was found.
// Shapes: see ops/shape/pool_geometry.hpp. Edge cases: the first of equal maxima counts; NaN is never a maximum; a
// window wholly inside the padding, or over nothing but NaN or -inf, gives the lowest finite number of the type, which
// a layer behind it may multiply by 0, and the index of its first element inside the input, or 0. Source: operation
// page MaxPool-14.
#include "ir/base/tensor_view.hpp"
#include "ops/shape/pool_geometry.hpp"

namespace terroir::ops::reference {

/// `indices` (i32 or i64) may be null. An index counts elements of src from `axis` on: it is the position in the
/// flattened src, modulo the number of elements of axes `axis` and later.
void max_pool(const PoolGeometry& geometry, int64_t axis, const ir::TensorView& src, const ir::MutableTensorView& dst,
              const ir::MutableTensorView* indices);

}  // namespace terroir::ops::reference
