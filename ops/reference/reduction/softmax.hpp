#pragma once
// What: e^(x - max) / sum, or x - max - log(sum), over one axis; floating-point types, computed in f64.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

void softmax(const ir::TensorView& src, const ir::MutableTensorView& dst, int64_t axis, bool logarithm);

}  // namespace terroir::ops::reference
