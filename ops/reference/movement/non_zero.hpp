#pragma once
// What: where the elements are that are not 0. Formula: column i of the output holds the coordinates of the i-th of
// them in row-major order.
// Edge cases: a scalar counts as a list of one element; of real numbers the sign of 0 does not count, NaN is not 0.
// Cost: two passes over the elements, one of which counts. Threads: ranges of elements, whose places in the output
//   follow from the counts.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

void non_zero(const ir::EvalContext& ctx);
/// The number of elements that are not 0.
int64_t count_non_zero(const ir::TensorView& data);

}  // namespace terroir::ops::reference
