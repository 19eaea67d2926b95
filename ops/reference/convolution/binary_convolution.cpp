#include "ops/reference/convolution/binary_convolution.hpp"

#include <algorithm>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/numeric.hpp"

namespace terroir::ops::reference {
namespace {

template <class T>
T converted(double value) {
  if constexpr (std::is_integral_v<T>) {
    return saturate<T>(value);
  } else {
    return static_cast<T>(static_cast<float>(value));
  }
}

template <class T>
void convolve(const ConvGeometry& geometry, T pad, const T* src, const ir::TensorView& wei, T* dst) {
  const auto* packed = wei.type == element::u1 ? static_cast<const uint8_t*>(wei.data) : nullptr;
  const auto* widened = packed ? nullptr : wei.as<int32_t>();
  const auto [az, ay, ax] = three_axes(geometry.axes);
  const int64_t plane = ay.input * ax.input;
  const int64_t bits = geometry.in_channels * ay.kernel * ax.kernel;  // of one filter
  const T zero{}, one = converted<T>(1.0);
  for (int64_t n = 0; n < geometry.batch; ++n)
    for (int64_t o = 0; o < geometry.out_channels; ++o)
      for (int64_t y = 0; y < ay.output; ++y)
        for (int64_t x = 0; x < ax.output; ++x) {
          int64_t agreeing = 0;
          int64_t bit = o * bits;
          for (int64_t c = 0; c < geometry.in_channels; ++c)
            for (int64_t i = 0; i < ay.kernel; ++i)
              for (int64_t j = 0; j < ax.kernel; ++j, ++bit) {
                const int64_t iy = ay.origin(y) + i * ay.dilation, ix = ax.origin(x) + j * ax.dilation;
                const bool inside = iy >= 0 && iy < ay.input && ix >= 0 && ix < ax.input;
                const T value = inside ? src[(n * geometry.in_channels + c) * plane + iy * ax.input + ix] : pad;
                const bool weight = packed ? (packed[bit / 8] >> (7 - bit % 8)) & 1 : widened[bit] != 0;
                if (value == (weight ? one : zero)) ++agreeing;
              }
          *dst++ = converted<T>(static_cast<double>(2 * agreeing - bits));
        }
}

}  // namespace

void binary_convolution(const ConvGeometry& geometry, double pad_value, const ir::TensorView& src,
                        const ir::TensorView& wei, const ir::MutableTensorView& dst) {
  dispatch_type<TERROIR_NUMBERS>(src.type, "BinaryConvolution", [&](auto tag) {
    using T = decltype(tag);
    // Extents beside an empty one may be too large to multiply.
    if (src.count() == 0 || wei.count() == 0) return std::fill_n(dst.as<T>(), dst.count(), T{}), void();
    convolve(geometry, converted<T>(pad_value), src.as<T>(), wei, dst.as<T>());
  });
}

}  // namespace terroir::ops::reference
