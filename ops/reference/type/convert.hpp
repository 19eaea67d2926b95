#pragma once
// What: converts elements between any two types but string.
// Edge cases: integer to integer is modulo 2^N; floating point to integer truncates, saturates, and NaN is 0; anything
// but 0 is true; to a narrower floating-point type rounds to nearest even; see small_float.hpp for 8 bits and less.
// Cost: one pass over blocks in i64, u64 or f64; the frequent pairs have a loop of their own.
#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

/// `dst` has as many elements as `src` and does not overlap it. Exception (unsupported) for string and dynamic.
void convert(const ir::TensorView& src, const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
