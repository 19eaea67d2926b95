#pragma once
// What: the `axes` input of normalisations: checked as far as it is known, and read at run time.
#include "ir/schema/infer_context.hpp"

namespace terroir::ops {

/// Type and shape (0-D or 1-D) of the input, and its value where it is known: within the rank of data and unique.
void check_axes_input(ir::InferContext& ctx, int input);

/// The axes counted from the front; Exception for one out of range.
std::vector<int64_t> read_axes(const ir::TensorView& axes, size_t rank);

}  // namespace terroir::ops
