#include "ops/reference/quantization/fake_quantize.hpp"

#include <algorithm>
#include <cmath>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"

namespace terroir::ops::reference {
namespace {

template <class C>
C quantize(C x, C input_low, C input_high, C output_low, C output_high, C steps) {
  if (x <= std::min(input_low, input_high)) return output_low;
  if (x > std::max(input_low, input_high)) return output_high;
  const C level = std::nearbyint((x - input_low) / (input_high - input_low) * steps);
  return level / steps * (output_high - output_low) + output_low;
}

}  // namespace

void fake_quantize(const ir::TensorView& src, const std::array<ir::TensorView, 4>& limits,
                   const std::array<ir::Dims, 4>& limit_dims, int64_t levels, const ir::MutableTensorView& dst) {
  std::array<ir::Dims, 4> steps;
  for (size_t l = 0; l < 4; ++l) {
    steps[l] = ir::row_major(limit_dims[l]);
    for (size_t axis = 0; axis < src.dims.size(); ++axis)
      if (limit_dims[l][axis] == 1) steps[l][axis] = 0;
  }
  dispatch_type<TERROIR_FLOATS>(src.type, "FakeQuantize", [&](auto tag) {
    using T = decltype(tag);
    using C = compute_t<T>;
    const T* from = src.as<T>();
    T* to = dst.as<T>();
    int64_t i = 0;
    for_each_position(src.dims, [&](const ir::Dims& position) {
      std::array<C, 4> limit;
      for (size_t l = 0; l < 4; ++l) {
        int64_t at = 0;
        for (size_t axis = 0; axis < position.size(); ++axis) at += position[axis] * steps[l][axis];
        limit[l] = static_cast<C>(limits[l].as<T>()[at]);
      }
      to[i] = static_cast<T>(
          quantize<C>(static_cast<C>(from[i]), limit[0], limit[1], limit[2], limit[3], static_cast<C>(levels - 1)));
      ++i;
    });
  });
}

}  // namespace terroir::ops::reference
