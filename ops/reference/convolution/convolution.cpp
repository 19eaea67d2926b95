#include "ops/reference/convolution/convolution.hpp"

#include <algorithm>

#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"

namespace terroir::ops::reference {
namespace {

template <class T>
void convolve(const ConvGeometry& geometry, const T* src, const T* wei, T* dst) {
  const auto [az, ay, ax] = three_axes(geometry.axes);
  const int64_t image_size = geometry.in_channels * az.input * ay.input * ax.input;
  const int64_t filter_size = geometry.in_channels * az.kernel * ay.kernel * ax.kernel;

  // One output element.
  const auto dot = [&, az = az, ay = ay, ax = ax](const T* image, const T* filter, int64_t z, int64_t y, int64_t x) {
    const auto kz = az.inside(z), ky = ay.inside(y), kx = ax.inside(x);
    sum_t<T> sum = 0;
    for (int64_t c = 0; c < geometry.in_channels; ++c)
      for (int64_t i = kz.first; i < kz.last; ++i)
        for (int64_t j = ky.first; j < ky.last; ++j) {
          const int64_t iz = az.origin(z) + i * az.dilation, iy = ay.origin(y) + j * ay.dilation;
          const T* row = image + ((c * az.input + iz) * ay.input + iy) * ax.input;
          const T* weights = filter + ((c * az.kernel + i) * ay.kernel + j) * ax.kernel;
          for (int64_t k = kx.first; k < kx.last; ++k)
            sum += to_sum(row[ax.origin(x) + k * ax.dilation]) * to_sum(weights[k]);
        }
    return from_sum<T>(sum);
  };

  for (int64_t n = 0; n < geometry.batch; ++n)
    for (int64_t g = 0; g < geometry.groups; ++g)
      for (int64_t o = 0; o < geometry.out_channels; ++o) {
        const T* image = src + (n * geometry.groups + g) * image_size;
        const T* filter = wei + (g * geometry.out_channels + o) * filter_size;
        for (int64_t z = 0; z < az.output; ++z)
          for (int64_t y = 0; y < ay.output; ++y)
            for (int64_t x = 0; x < ax.output; ++x) *dst++ = dot(image, filter, z, y, x);
      }
}

}  // namespace

void convolution(const ConvGeometry& geometry, const ir::TensorView& src, const ir::TensorView& wei,
                 const ir::MutableTensorView& dst) {
  dispatch_type<TERROIR_NUMBERS>(src.type, "Convolution", [&](auto tag) {
    using T = decltype(tag);
    if (src.count() == 0 || wei.count() == 0) {  // extents beside an empty one may be too large to multiply
      std::fill_n(dst.as<T>(), dst.count(), T{});
      return;
    }
    convolve(geometry, src.as<T>(), wei.as<T>(), dst.as<T>());
  });
}

}  // namespace terroir::ops::reference
