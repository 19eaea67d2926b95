#pragma once
// What: convolution of 8-bit integers, whose zero points are subtracted first, with a 32-bit bias, requantised to 8
// bits.
// Formula: sum[o] = bias[o] + sum over c, k of (x - x_zero_point) * (w - w_zero_point[o]), exact;
//          m[o] = f32(f32(x_scale * w_scale[o]) / y_scale);
//          y = saturate(round_half_even(f32(f32(sum) * m)) + y_zero_point).
// Why so: x_scale * w_scale is the scale that the operator gives to its bias, hence to the sum; scales are f32, and so
//         is what is computed with them, each step rounded once, as deployed runtimes do.
// Shapes: see ops/shape/conv_geometry.hpp, forward; wei [G*O, I, kernel] is the same memory.
// Edge cases: padding counts as x_zero_point, that is, as nothing. Without input channels the sum is the bias.
// Source: ONNX operator page QLinearConv-10.
#include <vector>

#include "ir/base/tensor_view.hpp"
#include "ops/shape/conv_geometry.hpp"

namespace terroir::ops::reference {

struct QLinearConvInputs {
  ir::TensorView x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point;
  const ir::TensorView* bias = nullptr;
};

/// m of the formula, for each of `channels` output channels. Exception unless every scale is positive and finite, and
/// every m finite.
std::vector<float> qlinear_multipliers(const ir::TensorView& x_scale, const ir::TensorView& w_scale,
                                       const ir::TensorView& y_scale, int64_t channels);

/// The elements of an 8-bit zero point, signed or not, as numbers, one for each of `channels`.
std::vector<int32_t> qlinear_zero_points(const ir::TensorView& zero_point, int64_t channels);

void qlinear_conv(const ConvGeometry& geometry, const QLinearConvInputs& inputs, const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
