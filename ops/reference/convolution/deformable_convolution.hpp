#pragma once
// What: 2-D convolution whose every sample is displaced by an offset, interpolated, and may be scaled by a mask.
// Formula: dst[o, y, x] = sum over c, k of wei[o, c, k] * mask[g, k, y, x] *
//          src(c, position of k at (y, x) + offsets[g, k, y, x]), where g is the deformable group of channel c.
// Shapes: see ops/shape/conv_geometry.hpp with wei [G*O, I, KY, KX]; offsets [N, D * KY * KX * 2, Y', X'] with y before
//         x; mask [N, D * KY * KX, Y', X'] or null.
// Edge cases: a sample outside the input counts as zero, whatever its mask. Up to one pixel outside, `padded`
//             interpolates with zeros; else everything outside [0, extent) is out, and beyond the last pixel its value
//             goes on. Coordinates of floats are rounded to f32, those of f64 and of integers to f64. A pixel without
//             a share does not count, even if it is infinite or NaN.
// Source: operation pages DeformableConvolution-1, DeformableConvolution-8.
#include "ir/base/tensor_view.hpp"
#include "ops/shape/conv_geometry.hpp"

namespace terroir::ops::reference {

struct DeformableInputs {
  ir::TensorView src, offsets, wei;
  const ir::TensorView* mask = nullptr;
};

void deformable_convolution(const ConvGeometry& geometry, int64_t deformable_groups, bool padded,
                            const DeformableInputs& inputs, const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
