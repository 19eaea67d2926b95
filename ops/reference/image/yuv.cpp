#include "ops/reference/image/yuv.hpp"

#include <cmath>

#include "ops/reference/dispatch.hpp"

namespace terroir::ops::reference {
namespace {

template <class T>
T channel(float value) {
  if (!(value > 0.0F)) value = 0.0F;
  if (value > 255.0F) value = 255.0F;
  if constexpr (std::is_integral_v<T>) return static_cast<T>(std::round(value));
  return static_cast<T>(value);
}

/// Where the samples of one image are.
template <class T>
struct Samples {
  const T *y, *u, *v;
  int64_t step;  // between neighbours in u, and in v
};

template <class T>
Samples<T> samples_of(std::span<const ir::TensorView> planes, YuvLayout layout, int64_t image, int64_t pixels) {
  const int64_t quarter = pixels / 4;
  const bool nv12 = layout == YuvLayout::nv12;
  const int64_t step = nv12 ? 2 : 1;
  const T* first = planes[0].as<T>();
  if (planes.size() == 1) {
    const T* y = first + image * (pixels + 2 * quarter);
    return {y, y + pixels, y + pixels + (nv12 ? 1 : quarter), step};
  }
  const T* u = planes[1].as<T>() + image * quarter * step;
  return {first + image * pixels, u, nv12 ? u + 1 : planes[2].as<T>() + image * quarter, step};
}

}  // namespace

void yuv_to_color(std::span<const ir::TensorView> planes, YuvLayout layout, ColorOrder order,
                  const ir::MutableTensorView& dst) {
  if (dst.count() == 0) return;
  const int64_t height = dst.dims[1], width = dst.dims[2];
  dispatch_type<uint8_t, TERROIR_FLOATS>(dst.type, "conversion of colours", [&](auto tag) {
    using T = decltype(tag);
    T* out = dst.as<T>();
    for (int64_t n = 0; n < dst.dims[0]; ++n) {
      const Samples<T> from = samples_of<T>(planes, layout, n, height * width);
      for (int64_t h = 0; h < height; ++h)
        for (int64_t w = 0; w < width; ++w) {
          const int64_t at = ((h / 2) * (width / 2) + w / 2) * from.step;
          const float y = 1.164F * (static_cast<float>(from.y[h * width + w]) - 16.0F);
          const float u = static_cast<float>(from.u[at]) - 128.0F, v = static_cast<float>(from.v[at]) - 128.0F;
          const T red = channel<T>(y + 1.596F * v), blue = channel<T>(y + 2.018F * u);
          *out++ = order == ColorOrder::rgb ? red : blue;
          *out++ = channel<T>(y - 0.391F * u - 0.813F * v);
          *out++ = order == ColorOrder::rgb ? blue : red;
        }
    }
  });
}

}  // namespace terroir::ops::reference
