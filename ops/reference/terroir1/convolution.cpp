#include "ops/reference/terroir1/convolution.hpp"

#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"

namespace terroir::ops::reference {
namespace {

/// Distances between neighbours along batch, channels and three spatial axes.
struct Strides {
  int64_t image, channel, z, y, x;
};

Strides strides_of(int64_t channels, int64_t depth, int64_t height, int64_t width, bool channels_last) {
  const int64_t plane = depth * height * width;
  if (channels_last) return {channels * plane, 1, height * width * channels, width * channels, channels};
  return {channels * plane, plane, height * width, width, 1};
}

/// The input position that kernel element `k` carries to output `o`; -1 if there is none.
int64_t source_of(const WindowAxis& axis, bool backward, int64_t o, int64_t k) {
  if (backward) {
    const int64_t scaled = o + axis.pad_begin - k * axis.dilation;
    if (scaled < 0 || scaled % axis.stride != 0 || scaled / axis.stride >= axis.input) return -1;
    return scaled / axis.stride;
  }
  if (o >= axis.output) return -1;
  const int64_t position = axis.origin(o) + k * axis.dilation;
  return position < axis.input ? position : -1;
}

template <class T>
void convolve(const FullConvolution& problem, const T* src, const T* wei, const T* bias, const ir::Dims& dst_dims,
              T* dst) {
  const ConvGeometry& g = problem.geometry;
  const auto [az, ay, ax] = three_axes(g.axes);
  const size_t first_axis = problem.channels_last ? 1 : 2;
  int64_t extents[3] = {1, 1, 1};
  for (size_t i = 0; i < g.axes.size(); ++i) extents[3 - g.axes.size() + i] = dst_dims[first_axis + i];
  const int64_t out_channels = g.groups * g.out_channels;
  // Extents beside an empty one may be too large to multiply.
  const Strides from =
      src ? strides_of(g.groups * g.in_channels, az.input, ay.input, ax.input, problem.channels_last) : Strides{};
  const Strides to = strides_of(out_channels, extents[0], extents[1], extents[2], problem.channels_last);
  const int64_t kernel = wei ? az.kernel * ay.kernel * ax.kernel : 0;
  const int64_t next_input = problem.backward ? g.out_channels * kernel : kernel;

  const auto dot = [&, az = az, ay = ay, ax = ax](const T* image, const T* filter, int64_t z, int64_t y, int64_t x) {
    const auto element = [&](int64_t i, int64_t j, int64_t k) {
      return problem.flipped ? ((az.kernel - 1 - i) * ay.kernel + ay.kernel - 1 - j) * ax.kernel + ax.kernel - 1 - k
                             : (i * ay.kernel + j) * ax.kernel + k;
    };
    double sum = 0;
    for (int64_t i = 0; i < az.kernel; ++i) {
      const int64_t iz = source_of(az, problem.backward, z, i);
      if (iz < 0) continue;
      for (int64_t j = 0; j < ay.kernel; ++j) {
        const int64_t iy = source_of(ay, problem.backward, y, j);
        if (iy < 0) continue;
        for (int64_t k = 0; k < ax.kernel; ++k) {
          const int64_t ix = source_of(ax, problem.backward, x, k);
          if (ix < 0) continue;
          const T* pixel = image + iz * from.z + iy * from.y + ix * from.x;
          const T* weight = filter + element(i, j, k);
          for (int64_t c = 0; c < g.in_channels; ++c)
            sum += to_sum(pixel[c * from.channel]) * to_sum(weight[c * next_input]);
        }
      }
    }
    return sum;
  };

  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t o = 0; o < out_channels; ++o) {
      const int64_t group = o / g.out_channels, within = o % g.out_channels;
      const double add = bias ? to_sum(bias[o]) : 0.0;
      const T* image = src ? src + n * from.image + group * g.in_channels * from.channel : nullptr;
      const T* filter = !wei               ? nullptr
                        : problem.backward ? wei + (group * g.in_channels * g.out_channels + within) * kernel
                                           : wei + o * g.in_channels * kernel;
      for (int64_t z = 0; z < extents[0]; ++z)
        for (int64_t y = 0; y < extents[1]; ++y)
          for (int64_t x = 0; x < extents[2]; ++x) {
            const double sum = src && wei ? dot(image, filter, z, y, x) : 0.0;
            dst[n * to.image + o * to.channel + z * to.z + y * to.y + x * to.x] =
                from_sum<T>(activate(problem.activation, sum + add));
          }
    }
}

}  // namespace

void full_convolution(const FullConvolution& problem, const ir::TensorView& src, const ir::TensorView& wei,
                      const ir::TensorView* bias, const ir::MutableTensorView& dst) {
  dispatch_type<float, float16>(src.type, "Convolution", [&](auto tag) {
    using T = decltype(tag);
    if (dst.count() == 0) return;
    convolve(problem, src.count() == 0 ? nullptr : src.as<T>(), wei.count() == 0 ? nullptr : wei.as<T>(),
             bias ? bias->as<T>() : nullptr, dst.dims, dst.as<T>());
  });
}

}  // namespace terroir::ops::reference
