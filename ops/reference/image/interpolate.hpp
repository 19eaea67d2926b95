#pragma once
// What: resizes a tensor axis by axis, each with its own table of input positions and weights (ops/shape/resample.hpp).
// Formula: dst[o0, o1 ...] = sum over taps of all axes of src[i0, i1 ...] * w0 * w1 ...
// Element types: nearest: any; others: numeric. Edge cases: neither tensor is empty; sums are kept in double; integer
// results saturate and are rounded as told. Cost: passes shrink axes before they stretch others, so no intermediate is
// larger than src or dst. Source: operation pages Interpolate-1, Interpolate-4, Interpolate-11.
#include <vector>

#include "ir/base/tensor_view.hpp"
#include "ops/shape/resample.hpp"

namespace terroir::ops::reference {

struct ResampledAxis {
  size_t axis;
  ResampleTable table;
};

enum class IntegerResult {
  truncate,
  round,            // halves away from zero
  round_each_pass,  // after every axis, in the order given
};

/// Tables of at most one tap of weight 1 each; without a tap the result is zero.
void resize_nearest(const ir::TensorView& src, const std::vector<ResampledAxis>& axes,
                    const ir::MutableTensorView& dst);

void resize(const ir::TensorView& src, std::vector<ResampledAxis> axes, IntegerResult integers,
            const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
