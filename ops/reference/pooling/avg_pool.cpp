#include "ops/reference/pooling/avg_pool.hpp"

#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/pooling/mean.hpp"

namespace terroir::ops::reference {
namespace {

template <class T>
void pool(const PoolGeometry& geometry, bool count_padding, const T* src, T* dst) {
  const auto [az, ay, ax] = three_axes(geometry.axes);
  const int64_t plane = az.input * ay.input * ax.input;
  // As a double, for the product of three kernel attributes may not fit an integer.
  const double volume =
      static_cast<double>(az.kernel) * static_cast<double>(ay.kernel) * static_cast<double>(ax.kernel);
  for (int64_t image = 0; image < geometry.batch * geometry.channels; ++image, src += plane)
    for (int64_t z = 0; z < az.output; ++z)
      for (int64_t y = 0; y < ay.output; ++y)
        for (int64_t x = 0; x < ax.output; ++x) {
          const auto kz = az.inside(z), ky = ay.inside(y), kx = ax.inside(x);
          sum_t<T> sum = 0;
          int64_t inside = 0;
          for (int64_t i = kz.first; i < kz.last; ++i)
            for (int64_t j = ky.first; j < ky.last; ++j)
              for (int64_t k = kx.first; k < kx.last; ++k, ++inside) {
                const int64_t iz = az.origin(z) + i * az.dilation;
                const int64_t iy = ay.origin(y) + j * ay.dilation;
                sum += to_sum(src[(iz * ay.input + iy) * ax.input + ax.origin(x) + k * ax.dilation]);
              }
          const double count = count_padding ? volume : static_cast<double>(inside);
          *dst++ = inside > 0 ? mean<T>(sum, count) : T{};
        }
}

}  // namespace

void avg_pool(const PoolGeometry& geometry, bool exclude_pad, const ir::TensorView& src,
              const ir::MutableTensorView& dst) {
  if (dst.count() == 0) return;
  dispatch_type<TERROIR_NUMBERS>(src.type, "AvgPool", [&](auto tag) {
    using T = decltype(tag);
    pool(geometry, !exclude_pad && geometry.padded(), src.as<T>(), dst.as<T>());
  });
}

}  // namespace terroir::ops::reference
