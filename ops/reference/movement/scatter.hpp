#pragma once
// What: the references of the Scatter family: a copy of data into which updates are written, or combined, at computed
// places. Edge cases: an index out of range is an Exception; updates of one place are applied in their order.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

/// How an update meets what is there. For boolean: sum is or, prod is and, sub is exclusive or.
enum class ScatterReduction { none, sum, prod, min, max, mean, sub };

/// Inputs: data, indices, updates, axis. Whole slices along the axis.
void scatter_update(const ir::EvalContext& ctx);
/// Inputs: data, indices, updates, axis. Single elements; without `use_init_val` what data has there does not count.
void scatter_elements_update(const ir::EvalContext& ctx, ScatterReduction reduction, bool use_init_val);
/// Inputs: data, indices, updates. The last axis of indices is a position in the first axes of data.
void scatter_nd_update(const ir::EvalContext& ctx, ScatterReduction reduction);

/// `index`, counted from the front; Exception when it is out of [-extent, extent-1].
int64_t checked_index(int64_t index, int64_t extent, const char* op);

}  // namespace terroir::ops::reference
