#include "ops/reference/convolution/convolution_backprop_data.hpp"

#include <algorithm>

#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"

namespace terroir::ops::reference {
namespace {

/// The input position that kernel element `k` carries to output `o`; -1 if there is none.
int64_t source_of(const WindowAxis& axis, int64_t o, int64_t k) {
  const int64_t scaled = o + axis.pad_begin - k * axis.dilation;
  if (scaled < 0 || scaled % axis.stride != 0 || scaled / axis.stride >= axis.input) return -1;
  return scaled / axis.stride;
}

template <class T>
void convolve_transposed(const ConvGeometry& geometry, const T* src, const T* wei, T* dst) {
  const auto [az, ay, ax] = three_axes(geometry.axes);
  const int64_t plane = az.input * ay.input * ax.input;
  const int64_t kernel = az.kernel * ay.kernel * ax.kernel;

  // One output element; `filter` is [I, O, kernel] offset to the output channel.
  const auto dot = [&, az = az, ay = ay, ax = ax](const T* image, const T* filter, int64_t z, int64_t y, int64_t x) {
    sum_t<T> sum = 0;
    for (int64_t c = 0; c < geometry.in_channels; ++c)
      for (int64_t i = 0; i < az.kernel; ++i) {
        const int64_t iz = source_of(az, z, i);
        if (iz < 0) continue;
        for (int64_t j = 0; j < ay.kernel; ++j) {
          const int64_t iy = source_of(ay, y, j);
          if (iy < 0) continue;
          const T* row = image + c * plane + (iz * ay.input + iy) * ax.input;
          const T* weights = filter + c * geometry.out_channels * kernel + (i * ay.kernel + j) * ax.kernel;
          for (int64_t k = 0; k < ax.kernel; ++k) {
            const int64_t ix = source_of(ax, x, k);
            if (ix >= 0) sum += to_sum(row[ix]) * to_sum(weights[k]);
          }
        }
      }
    return from_sum<T>(sum);
  };

  for (int64_t n = 0; n < geometry.batch; ++n)
    for (int64_t g = 0; g < geometry.groups; ++g)
      for (int64_t o = 0; o < geometry.out_channels; ++o) {
        const T* image = src + (n * geometry.groups + g) * geometry.in_channels * plane;
        const T* filter = wei + (g * geometry.in_channels * geometry.out_channels + o) * kernel;
        for (int64_t z = 0; z < az.output; ++z)
          for (int64_t y = 0; y < ay.output; ++y)
            for (int64_t x = 0; x < ax.output; ++x) *dst++ = dot(image, filter, z, y, x);
      }
}

}  // namespace

void convolution_backprop_data(const ConvGeometry& geometry, const ir::TensorView& src, const ir::TensorView& wei,
                               const ir::MutableTensorView& dst) {
  dispatch_type<TERROIR_NUMBERS>(src.type, "ConvolutionBackpropData", [&](auto tag) {
    using T = decltype(tag);
    if (src.count() == 0 || wei.count() == 0) {  // extents beside an empty one may be too large to multiply
      std::fill_n(dst.as<T>(), dst.count(), T{});
      return;
    }
    convolve_transposed(geometry, src.as<T>(), wei.as<T>(), dst.as<T>());
  });
}

}  // namespace terroir::ops::reference
