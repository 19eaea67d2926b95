#include "ops/reference/quantization/fake_convert.hpp"

#include <algorithm>
#include <cmath>

#include "ir/base/small_float.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/shape/broadcast.hpp"

namespace terroir::ops::reference {

void fake_convert(const ir::TensorView& src, const ir::TensorView& scale, const ir::TensorView* shift, element::Type to,
                  const ir::MutableTensorView& dst) {
  const float* values = ir::small_float_values(to);
  const float most = to == element::f8e5m2 ? 57344.0f : 448.0f;
  dispatch_type<TERROIR_FLOATS>(src.type, "FakeConvert", [&](auto tag) {
    using T = decltype(tag);
    using C = compute_t<T>;
    BroadcastWalk walk(src.dims, {scale.dims, shift ? shift->dims : ir::Dims()});
    for (; walk.more(); walk.next())
      for (int64_t i = 0; i < walk.run(); ++i) {
        const int64_t at = walk.position() + i;
        const C factor = static_cast<C>(scale.as<T>()[walk.offset(0) + i * walk.step(0)]);
        const C offset = shift ? static_cast<C>(shift->as<T>()[walk.offset(1) + i * walk.step(1)]) : C{0};
        const C scaled = static_cast<C>(src.as<T>()[at]) * factor - offset;
        const C clamped = std::isnan(scaled) ? scaled : std::clamp(scaled, static_cast<C>(-most), static_cast<C>(most));
        const C rounded = static_cast<C>(values[ir::encode_small_float(to, static_cast<double>(clamped))]);
        dst.as<T>()[at] = static_cast<T>((rounded + offset) / factor);
      }
  });
}

}  // namespace terroir::ops::reference
