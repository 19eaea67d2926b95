#pragma once
// What: rounds scaled elements to the values of an 8-bit floating-point type and scales them back.
// Formula: q = the value of `to` nearest to x * scale - shift; dst = (q + shift) / scale.
// Edge cases: what is beyond the largest number of `to`, infinite or not, becomes that number (also of f8e5m2, which
// has an infinity: one outlier would spoil all that reads it); NaN stays. Source: operation page FakeConvert-13.
#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

/// `scale` and `shift` (null: 0) broadcast to src by numpy's rule.
void fake_convert(const ir::TensorView& src, const ir::TensorView& scale, const ir::TensorView* shift, element::Type to,
                  const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
