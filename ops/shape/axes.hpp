#pragma once
// What: axis numbers of attributes and inputs: counted from the end when negative, checked, and what reducing over
// them makes of a shape.
#include <cstdint>
#include <optional>
#include <string_view>
#include <terroir/partial_shape.hpp>
#include <vector>

#include "ir/base/tensor_view.hpp"
#include "ir/schema/infer_context.hpp"

namespace terroir::ops {

/// `axis` in 0..rank-1; Exception "<what> must be in [-rank, rank-1], got ...".
int64_t normalize_axis(int64_t axis, int64_t rank, std::string_view what = "axis");

/// Axes normalised, sorted, without doubles.
std::vector<int64_t> normalize_axes(const std::vector<int64_t>& axes, int64_t rank, std::string_view what = "axes");

/// `dims` with 1 at the (normalised) axes.
ir::Dims with_ones(const ir::Dims& dims, const std::vector<int64_t>& axes);

/// The shape of input `data` reduced over the axes in integer input `axes` (0-D or 1-D, perhaps not known).
PartialShape reduced_shape(ir::InferContext& ctx, int data, int axes, bool keep_dims);

}  // namespace terroir::ops
