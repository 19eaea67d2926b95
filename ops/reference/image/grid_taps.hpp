#pragma once
// What: which pixels of an axis a coordinate of GridSample takes its value from.
// Formula: see grid_sample.hpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "ops/reference/image/grid_sample.hpp"

namespace terroir::ops::reference {

inline constexpr double kFarPixel = 1099511627776.0;  // 2^40: beyond every image, and safe to convert

/// The pixel that stands for position `i`; -1 for none.
inline int64_t grid_pixel(int64_t i, int64_t extent, const GridSampleParameters& parameters) {
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
struct GridTaps {
  std::array<int64_t, 4> pixels{-1, -1, -1, -1};
  std::array<double, 4> weights{};
};

template <class C>
GridTaps grid_taps(C coordinate, int64_t extent, const GridSampleParameters& parameters) {
  const C e = static_cast<C>(extent);
  const C exact = parameters.align_corners ? (coordinate + 1) * (e - 1) / 2 : ((coordinate + 1) * e - 1) / 2;
  const double x = exact == exact ? std::clamp(static_cast<double>(exact), -kFarPixel, kFarPixel) : -kFarPixel;
  GridTaps result;
  const auto set = [&](size_t slot, double position, double weight) {
    result.pixels[slot] = grid_pixel(static_cast<int64_t>(position), extent, parameters);
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

}  // namespace terroir::ops::reference
