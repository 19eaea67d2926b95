#pragma once
// What: mean under a sliding window.
// Formula: sum of the elements inside the input / count; count is the number of these elements, or, when padding counts
//          and there is any, all elements of the window.
// Shapes: see ops/shape/pool_geometry.hpp. Edge cases: a window over nothing gives 0; 8-bit integers round to nearest
// even, wider ones towards zero. Source: operation pages AvgPool-1, AvgPool-14, AvgPool-16.
#include "ir/base/tensor_view.hpp"
#include "ops/shape/pool_geometry.hpp"

namespace terroir::ops::reference {

void avg_pool(const PoolGeometry& geometry, bool exclude_pad, const ir::TensorView& src,
              const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
