#include "ops/reference/terroir1/qlinear_conv.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/base/error.hpp"
#include "ops/reference/dispatch.hpp"

namespace terroir::ops::reference {
namespace {

#define TERROIR_BYTES int8_t, uint8_t

void require_scale(float scale, const char* name) {
  if (!(scale > 0 && std::isfinite(scale)))
    throw_error(ErrorCode::invalid_argument, name, " must be positive and finite, got ", scale);
}

struct Requantise {
  const float* multipliers;
  int32_t zero_point;

  template <class Y>
  Y operator()(int64_t sum, int64_t channel) const {
    const float scaled = static_cast<float>(sum) * multipliers[channel];
    // Whole bounds: clamping before rounding gives what saturating after it would, and keeps the conversion defined.
    const auto low = static_cast<float>(std::numeric_limits<Y>::min() - zero_point);
    const auto high = static_cast<float>(std::numeric_limits<Y>::max() - zero_point);
    return static_cast<Y>(static_cast<int32_t>(std::nearbyint(std::clamp(scaled, low, high))) + zero_point);
  }
};

template <class X, class W, class Y>
void convolve(const ConvGeometry& geometry, const QLinearConvInputs& inputs, Y* dst) {
  const auto [az, ay, ax] = three_axes(geometry.axes);
  const int64_t channels = geometry.groups * geometry.out_channels;
  const std::vector<float> multipliers = qlinear_multipliers(inputs.x_scale, inputs.w_scale, inputs.y_scale, channels);
  const std::vector<int32_t> wei_zero = qlinear_zero_points(inputs.w_zero_point, channels);
  const int32_t src_zero = qlinear_zero_points(inputs.x_zero_point, 1)[0];
  const Requantise requantise{multipliers.data(), qlinear_zero_points(inputs.y_zero_point, 1)[0]};
  // Extents beside an empty one may be too large to multiply.
  const bool empty = inputs.x.count() == 0 || inputs.w.count() == 0;
  const int64_t image_size = empty ? 0 : geometry.in_channels * az.input * ay.input * ax.input;
  const int64_t filter_size = empty ? 0 : geometry.in_channels * az.kernel * ay.kernel * ax.kernel;
  const X* src = inputs.x.as<X>();
  const W* wei = inputs.w.as<W>();

  const auto dot = [&, az = az, ay = ay, ax = ax](const X* image, const W* filter, int32_t filter_zero, int64_t z,
                                                  int64_t y, int64_t x) {
    const auto kz = az.inside(z), ky = ay.inside(y), kx = ax.inside(x);
    int64_t sum = 0;
    for (int64_t c = 0; c < geometry.in_channels; ++c)
      for (int64_t i = kz.first; i < kz.last; ++i)
        for (int64_t j = ky.first; j < ky.last; ++j) {
          const int64_t iz = az.origin(z) + i * az.dilation, iy = ay.origin(y) + j * ay.dilation;
          const X* row = image + ((c * az.input + iz) * ay.input + iy) * ax.input;
          const W* weights = filter + ((c * az.kernel + i) * ay.kernel + j) * ax.kernel;
          for (int64_t k = kx.first; k < kx.last; ++k)
            sum += (row[ax.origin(x) + k * ax.dilation] - src_zero) * (weights[k] - filter_zero);
        }
    return sum;
  };

  for (int64_t n = 0; n < geometry.batch; ++n)
    for (int64_t o = 0; o < channels; ++o) {
      const X* image = src + (n * geometry.groups + o / geometry.out_channels) * image_size;
      const W* filter = wei + o * filter_size;
      const int64_t bias = inputs.bias ? inputs.bias->as<int32_t>()[o] : 0;
      for (int64_t z = 0; z < az.output; ++z)
        for (int64_t y = 0; y < ay.output; ++y)
          for (int64_t x = 0; x < ax.output; ++x) {
            const int64_t sum = empty ? 0 : dot(image, filter, wei_zero[static_cast<size_t>(o)], z, y, x);
            *dst++ = requantise.operator()<Y>(bias + sum, o);
          }
    }
}

}  // namespace

std::vector<float> qlinear_multipliers(const ir::TensorView& x_scale, const ir::TensorView& w_scale,
                                       const ir::TensorView& y_scale, int64_t channels) {
  const float x = *x_scale.as<float>(), y = *y_scale.as<float>();
  require_scale(x, "x_scale");
  require_scale(y, "y_scale");
  const bool per_channel = w_scale.count() != 1;
  std::vector<float> multipliers(static_cast<size_t>(channels));
  for (int64_t o = 0; o < channels; ++o) {
    const float w = w_scale.as<float>()[per_channel ? o : 0];
    require_scale(w, "w_scale");
    const float of_sum = x * w;
    const float multiplier = of_sum / y;
    if (!std::isfinite(multiplier))
      throw_error(ErrorCode::invalid_argument, "x_scale * w_scale / y_scale must be finite in f32, got ", x, " * ", w,
                  " / ", y);
    multipliers[static_cast<size_t>(o)] = multiplier;
  }
  return multipliers;
}

std::vector<int32_t> qlinear_zero_points(const ir::TensorView& zero_point, int64_t channels) {
  const bool per_channel = zero_point.count() != 1;
  std::vector<int32_t> zero_points(static_cast<size_t>(channels));
  dispatch_type<TERROIR_BYTES>(zero_point.type, "QLinearConv", [&](auto tag) {
    const auto* values = zero_point.as<decltype(tag)>();
    for (int64_t o = 0; o < channels; ++o) zero_points[static_cast<size_t>(o)] = values[per_channel ? o : 0];
  });
  return zero_points;
}

void qlinear_conv(const ConvGeometry& geometry, const QLinearConvInputs& inputs, const ir::MutableTensorView& dst) {
  dispatch_type<TERROIR_BYTES>(inputs.x.type, "QLinearConv", [&](auto x) {
    dispatch_type<TERROIR_BYTES>(inputs.w.type, "QLinearConv", [&](auto w) {
      dispatch_type<TERROIR_BYTES>(dst.type, "QLinearConv", [&](auto y) {
        using Y = decltype(y);
        convolve<decltype(x), decltype(w), Y>(geometry, inputs, dst.as<Y>());
      });
    });
  });
}

}  // namespace terroir::ops::reference
