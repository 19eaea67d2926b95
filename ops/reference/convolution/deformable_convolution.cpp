#include "ops/reference/convolution/deformable_convolution.hpp"

#include <algorithm>
#include <cmath>

#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/numeric.hpp"

namespace terroir::ops::reference {
namespace {

template <class T>
T element(double value) {
  if constexpr (std::is_integral_v<T>) {
    return saturate<T>(value);
  } else {
    return from_sum<T>(value);
  }
}

/// Position plus offset: of floats in f32, which may round it to a border, as OpenVINO does.
template <class T>
double coordinate(int64_t position, T offset) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
    return static_cast<double>(position) + to_real(offset);
  } else {
    return static_cast<float>(position) + static_cast<float>(offset);
  }
}

/// A pixel of a plane and its share in a sample.
struct Corner {
  int64_t pixel;
  double share;
};

/// The pixels with a share at (y, x) of a [height, width] plane; -1 outside, as NaN coordinates are.
int corners_at(int64_t height, int64_t width, double y, double x, bool padded, Corner* corners) {
  const double h = static_cast<double>(height), w = static_cast<double>(width);
  const double least = padded ? std::nextafter(-1.0, 0.0) : 0.0;
  if (!(y >= least && y < h && x >= least && x < w)) return -1;
  const double top = std::floor(y), left = std::floor(x);
  int count = 0;
  for (const int64_t down : {0, 1})
    for (const int64_t right : {0, 1}) {
      const double share = (down ? y - top : 1 - (y - top)) * (right ? x - left : 1 - (x - left));
      int64_t i = static_cast<int64_t>(top) + down, j = static_cast<int64_t>(left) + right;
      if (!padded) {
        i = std::min(i, height - 1);
        j = std::min(j, width - 1);
      }
      if (share != 0 && i >= 0 && i < height && j >= 0 && j < width) corners[count++] = {i * width + j, share};
    }
  return count;
}

template <class T>
void convolve(const ConvGeometry& geometry, int64_t deformable_groups, bool padded, const DeformableInputs& inputs,
              T* dst) {
  const auto [az, ay, ax] = three_axes(geometry.axes);
  const int64_t channels = geometry.groups * geometry.in_channels, outputs = geometry.groups * geometry.out_channels;
  const int64_t kernel = ay.kernel * ax.kernel, plane = ay.input * ax.input, positions = ay.output * ax.output;
  const T* offsets = inputs.offsets.as<T>();
  const T* mask = inputs.mask ? inputs.mask->as<T>() : nullptr;
  for (int64_t n = 0; n < geometry.batch; ++n)
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t y = 0; y < ay.output; ++y)
        for (int64_t x = 0; x < ax.output; ++x) {
          double sum = 0;
          for (int64_t i = 0; i < geometry.in_channels; ++i) {
            const int64_t c = o / geometry.out_channels * geometry.in_channels + i;
            const int64_t group = c / (channels / deformable_groups);
            const T* image = inputs.src.as<T>() + (n * channels + c) * plane;
            for (int64_t k = 0; k < kernel; ++k) {
              const int64_t row = (n * deformable_groups + group) * kernel + k;  // of mask, and of pairs of offsets
              const int64_t at = y * ax.output + x;
              const double sy =
                  coordinate(ay.origin(y) + k / ax.kernel * ay.dilation, offsets[2 * row * positions + at]);
              const double sx =
                  coordinate(ax.origin(x) + k % ax.kernel * ax.dilation, offsets[(2 * row + 1) * positions + at]);
              const double weight = to_real(inputs.wei.as<T>()[(o * geometry.in_channels + i) * kernel + k]);
              const double scale = mask ? to_real(mask[row * positions + at]) : 1.0;
              Corner corners[4];
              const int count = corners_at(ay.input, ax.input, sy, sx, padded, corners);
              double value = 0;
              for (int corner = 0; corner < count; ++corner)
                value += corners[corner].share * to_real(image[corners[corner].pixel]);
              sum += count >= 0 ? value * weight * scale : 0.0 * weight;
            }
          }
          *dst++ = element<T>(sum);
        }
}

}  // namespace

void deformable_convolution(const ConvGeometry& geometry, int64_t deformable_groups, bool padded,
                            const DeformableInputs& inputs, const ir::MutableTensorView& dst) {
  dispatch_type<TERROIR_NUMBERS>(inputs.src.type, "DeformableConvolution", [&](auto tag) {
    using T = decltype(tag);
    // Extents beside an empty one may be too large to multiply.
    if (inputs.src.count() == 0 || inputs.wei.count() == 0) return std::fill_n(dst.as<T>(), dst.count(), T{}), void();
    convolve(geometry, deformable_groups, padded, inputs, dst.as<T>());
  });
}

}  // namespace terroir::ops::reference
