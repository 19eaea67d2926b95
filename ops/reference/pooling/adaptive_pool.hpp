#pragma once
// What: pooling over cells that divide each spatial axis of the input into as many parts as the output has.
// Formula: cell o of an axis covers [floor(o * in / out), ceil((o + 1) * in / out)).
// Shapes: src [N, C, spatial] -> dst [N, C, spatial']. Edge cases: as max_pool and avg_pool have them; an empty axis
// gives 0 (avg) or the lowest value (max). Source: operation pages AdaptiveAvgPool-8, AdaptiveMaxPool-8.
#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

void adaptive_avg_pool(const ir::TensorView& src, const ir::MutableTensorView& dst);

/// `indices` (i32 or i64) are positions within the flattened spatial axes.
void adaptive_max_pool(const ir::TensorView& src, const ir::MutableTensorView& dst,
                       const ir::MutableTensorView& indices);

}  // namespace terroir::ops::reference
