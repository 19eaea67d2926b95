#include "ops/reference/image/grid_sample.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/numeric.hpp"

namespace terroir::ops::reference {
namespace {

constexpr double kFar = 1099511627776.0;  // 2^40: beyond every image, and safe to convert

/// The pixel that stands for position `i`; -1 for none.
int64_t pixel(int64_t i, int64_t extent, const GridSampleParameters& parameters) {
  if (i >= 0 && i < extent) return i;
  switch (parameters.padding) {
    case GridPadding::zeros:
      return -1;
    case GridPadding::border:
      return i < 0 ? 0 : extent - 1;
    case GridPadding::reflection:
      break;
  }
  if (parameters.align_corners) {
    const int64_t period = extent == 1 ? 1 : 2 * (extent - 1);
    const int64_t at = std::abs(i) % period;
    return at >= extent ? period - at : at;
  }
  const int64_t period = 2 * extent;
  const int64_t at = (i % period + period) % period;
  return at >= extent ? period - 1 - at : at;
}

/// Positions and weights along one axis for one coordinate; unused ones have weight 0.
struct Taps {
  std::array<int64_t, 4> pixels{-1, -1, -1, -1};
  std::array<double, 4> weights{};
};

template <class C>
Taps taps(C coordinate, int64_t extent, const GridSampleParameters& parameters) {
  const C e = static_cast<C>(extent);
  const C exact = parameters.align_corners ? (coordinate + 1) * (e - 1) / 2 : ((coordinate + 1) * e - 1) / 2;
  const double x = exact == exact ? std::clamp(static_cast<double>(exact), -kFar, kFar) : -kFar;
  Taps result;
  const auto set = [&](size_t slot, double position, double weight) {
    result.pixels[slot] = pixel(static_cast<int64_t>(position), extent, parameters);
    result.weights[slot] = weight;
  };
  const double left = std::floor(x), d = x - left;
  switch (parameters.mode) {
    case GridSampleMode::nearest:
      set(0, std::nearbyint(x), 1.0);
      break;
    case GridSampleMode::bilinear:
      set(0, left, 1 - d);
      set(1, left + 1, d);
      break;
    case GridSampleMode::bicubic: {
      constexpr double a = -0.75;
      const auto near = [](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
      const auto far = [](double t) { return (((t - 5) * t + 8) * t - 4) * a; };
      set(0, left - 1, far(d + 1));
      set(1, left, near(d));
      set(2, left + 1, near(1 - d));
      set(3, left + 2, far(2 - d));
      break;
    }
  }
  return result;
}

template <class T>
double real(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<double>(value);
  } else {
    return to_sum(value);
  }
}

template <class T>
void interpolate(const T* plane, int64_t width, const Taps& rows, const Taps& columns, T* out) {
  double sum = 0;
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j)
      if (rows.weights[i] != 0 && columns.weights[j] != 0 && rows.pixels[i] >= 0 && columns.pixels[j] >= 0)
        sum += rows.weights[i] * columns.weights[j] * real(plane[rows.pixels[i] * width + columns.pixels[j]]);
  if constexpr (std::is_integral_v<T>) {
    *out = saturate<T>(sum + std::copysign(1e-6, sum));  // weights that sum up to a little less than 1
  } else {
    *out = from_sum<T>(sum);
  }
}

/// visit(channel plane, position in dst, rows, columns) for all elements of dst.
template <class Visit>
void each_sample(const ir::TensorView& src, const ir::TensorView& grid, const GridSampleParameters& parameters,
                 const ir::MutableTensorView& dst, Visit visit) {
  const int64_t channels = src.dims[1], points = dst.dims[2] * dst.dims[3];
  dispatch_type<TERROIR_FLOATS>(grid.type, "GridSample", [&](auto tag) {
    using G = decltype(tag);
    for (int64_t n = 0; n < dst.dims[0]; ++n)
      for (int64_t p = 0; p < points; ++p) {
        const G* point = grid.as<G>() + (n * points + p) * 2;
        const Taps columns = taps(static_cast<compute_t<G>>(point[0]), src.dims[3], parameters);
        const Taps rows = taps(static_cast<compute_t<G>>(point[1]), src.dims[2], parameters);
        for (int64_t c = 0; c < channels; ++c) visit(n * channels + c, (n * channels + c) * points + p, rows, columns);
      }
  });
}

}  // namespace

void grid_sample(const ir::TensorView& src, const ir::TensorView& grid, const GridSampleParameters& parameters,
                 const ir::MutableTensorView& dst) {
  if (dst.count() == 0) return;
  const ElementCopier copier(src.type, "GridSample");
  if (src.count() == 0) return copier.clear(dst.data, 0, dst.count());
  const int64_t plane = src.dims[2] * src.dims[3], width = src.dims[3];
  if (parameters.mode == GridSampleMode::nearest)
    return each_sample(src, grid, parameters, dst, [&](int64_t c, int64_t at, const Taps& rows, const Taps& columns) {
      const int64_t y = rows.pixels[0], x = columns.pixels[0];
      if (y < 0 || x < 0) return copier.clear(dst.data, at, 1);
      copier.copy(dst.data, at, src.data, c * plane + y * width + x, 1);
    });
  dispatch_type<TERROIR_NUMBERS>(src.type, "GridSample", [&](auto tag) {
    using T = decltype(tag);
    each_sample(src, grid, parameters, dst, [&](int64_t c, int64_t at, const Taps& rows, const Taps& columns) {
      interpolate(src.as<T>() + c * plane, width, rows, columns, dst.as<T>() + at);
    });
  });
}

}  // namespace terroir::ops::reference
