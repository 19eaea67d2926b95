#pragma once
// What: rounds each element to one of `levels` evenly spaced values of its range and maps these to another range.
// Formula: x <= min(input_low, input_high): output_low; x > max(input_low, input_high): output_high; else
//          round((x - input_low) / (input_high - input_low) * (levels - 1)) / (levels - 1) * (output_high - output_low)
//          + output_low, where round takes halves to the nearest even number.
// Edge cases: computed in float (f64 in double), step by step as written, since a last bit decides which way a half
// rounds; NaN stays NaN. Source: operation page FakeQuantize-1.
#include <array>

#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

/// Limits are input_low, input_high, output_low, output_high; `limit_dims` are their extents written with the rank of
/// src, each 1 or that of src.
void fake_quantize(const ir::TensorView& src, const std::array<ir::TensorView, 4>& limits,
                   const std::array<ir::Dims, 4>& limit_dims, int64_t levels, const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
