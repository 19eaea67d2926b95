#pragma once
// What: Unique: the different elements (or slices along an axis) of a tensor, where they were first, which one each
// element is, and how often each occurs. Element types: numbers, boolean, strings.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

void unique(const ir::EvalContext& ctx, bool sorted);

}  // namespace terroir::ops::reference
