#pragma once
// What: inverse (or adjugate: inverse times determinant) of each matrix of a batch, by LU decomposition with partial
// pivoting in f64. Edge cases: a singular matrix gives infinities or NaN.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

void inverse(const ir::TensorView& src, const ir::MutableTensorView& dst, bool adjugate);

}  // namespace terroir::ops::reference
