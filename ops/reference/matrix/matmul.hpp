#pragma once
// What: dst[batch, m, n] = sum_k a[batch, m, k] * b[batch, k, n]; floating point is summed in f64, integers wrap.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

/// Operands of rank 1 and more, with the broadcasting and the rank-1 rules of MatMul-1.
void matmul(const ir::TensorView& a, const ir::TensorView& b, bool transpose_a, bool transpose_b,
            const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
