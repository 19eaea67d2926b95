#pragma once
// What: the axes of reductions and what reducing over them makes of a shape.
#include <cstdint>
#include <vector>

#include "ir/base/tensor_view.hpp"
#include "ir/schema/infer_context.hpp"

namespace terroir::ops {

/// Axes counted from the front, ascending, without doubles; Exception when one is outside of the rank.
std::vector<int64_t> axis_set(std::vector<int64_t> axes, int64_t rank);

/// `dims` with 1 at the (normalised) axes.
ir::Dims with_ones(const ir::Dims& dims, const std::vector<int64_t>& axes);

/// The shape of input `data` reduced over the axes in integer input `axes` (0-D or 1-D, perhaps not known).
PartialShape reduced_shape(ir::InferContext& ctx, int data, int axes, bool keep_dims);

}  // namespace terroir::ops
