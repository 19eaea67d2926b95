#include "ops/shape/resample.hpp"

#include <algorithm>
#include <cmath>

#include "ir/base/machine_memory.hpp"

namespace terroir::ops {
namespace {

/// `value` as an index, held within [low, high] before it is converted.
int64_t to_index(double value, int64_t low, int64_t high) {
  if (!(value > static_cast<double>(low))) return low;
  if (value >= static_cast<double>(high)) return high;
  return std::min(static_cast<int64_t>(value), high);
}

int64_t nearest_position(NearestMode mode, float x, bool shrinks, int64_t input) {
  double rounded = 0;
  switch (mode) {
    case NearestMode::round_prefer_floor:
      rounded = x == std::trunc(x) + 0.5F ? std::floor(x) : std::round(x);
      break;
    case NearestMode::round_prefer_ceil:
      rounded = std::round(x);
      break;
    case NearestMode::floor:
      rounded = std::floor(x);
      break;
    case NearestMode::ceil:
      rounded = std::ceil(x);
      break;
    case NearestMode::simple:
      rounded = shrinks ? std::ceil(x) : std::trunc(x);
      break;
  }
  return to_index(rounded, 0, input - 1);
}

/// Keys' kernel with parameter a at distance |d|.
double cubic_kernel(double d, double a) {
  d = std::fabs(d);
  if (d < 1.0) return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
  if (d < 2.0) return (((d - 5.0) * d + 8.0) * d - 4.0) * a;
  return 0.0;
}

double triangle_kernel(double d) { return std::max(0.0, 1.0 - std::fabs(d)); }

class Builder {
 public:
  Builder(const ResampleRule& rule, int64_t input, int64_t output, float scale)
      : rule_(rule), input_(input), output_(output), scale_(scale) {}

  ResampleTable build() {
    constexpr size_t kPerPosition = 2 * sizeof(ResampleTap) + sizeof(int64_t);
    ir::require_table_fits("the table of a resized axis", output_, kPerPosition);
    table_.first.push_back(0);
    for (int64_t o = 0; o < output_; ++o) {
      if (input_ > 0) add_taps(o);
      table_.first.push_back(static_cast<int64_t>(table_.taps.size()));
    }
    return std::move(table_);
  }

 private:
  void add_taps(int64_t o) {
    switch (rule_.mode) {
      case ResampleMode::nearest:
        return tap(nearest_position(rule_.nearest, coordinate(o), scale_ < 1.0F, input_), 1.0);
      case ResampleMode::linear:
        return linear(o);
      case ResampleMode::linear_onnx:
        return neighbours(o);
      case ResampleMode::cubic:
        return cubic(o);
      case ResampleMode::bilinear_pillow:
        return pillow(o, 1.0, [](double d) { return triangle_kernel(d); });
      case ResampleMode::bicubic_pillow:
        return pillow(o, 2.0, [&](double d) { return cubic_kernel(d, rule_.cube_coeff); });
      case ResampleMode::area:
        return area(o);
    }
  }

  float coordinate(int64_t o) const { return original_coordinate(rule_.coordinates, o, scale_, output_, input_); }
  void tap(int64_t index, double weight) {
    if (weight != 0) table_.taps.push_back({index, weight});
  }

  void linear(int64_t o) {
    const double x = coordinate(o);
    const double slope = rule_.antialias ? scale_ : 1.0;
    const double reach = scale_ > 1.0F ? 2.0 : std::ceil(2.0 / slope);
    const double centre = std::round(x);
    normalised(to_index(centre - reach, 0, input_), to_index(centre + reach + 1.0, 0, input_),
               [&](int64_t i) { return triangle_kernel(slope * (x - static_cast<double>(i))); });
  }

  void neighbours(int64_t o) {
    const double x = std::clamp<double>(coordinate(o), 0.0, static_cast<double>(input_ - 1));
    const int64_t left = to_index(x, 0, input_ - 1);
    const double part = x - static_cast<double>(left);
    if (left == input_ - 1) return tap(left, 1.0);
    tap(left, 1.0 - part);
    tap(left + 1, part);
  }

  void cubic(int64_t o) {
    const double x = coordinate(o);
    const double left = std::floor(x);
    for (int k = -1; k <= 2; ++k) tap(to_index(left + k, 0, input_ - 1), cubic_kernel(x - left - k, rule_.cube_coeff));
  }

  template <class Kernel>
  void pillow(int64_t o, double support, Kernel kernel) {
    const double step = static_cast<double>(input_) / static_cast<double>(output_);
    const double widening = std::max(step, 1.0);
    const double centre = (static_cast<double>(o) + 0.5) * step;
    const double reach = support * widening;
    normalised(to_index(centre - reach + 0.5, 0, input_), to_index(centre + reach + 0.5, 0, input_),
               [&](int64_t i) { return kernel((static_cast<double>(i) - centre + 0.5) / widening); });
  }

  void area(int64_t o) {
    const double step = static_cast<double>(input_) / static_cast<double>(output_);
    const double begin = static_cast<double>(o) * step, end = begin + step;
    normalised(to_index(begin, 0, input_), to_index(std::ceil(end), 0, input_), [&](int64_t i) {
      const auto cell = static_cast<double>(i);
      return std::max(0.0, std::min(end, cell + 1.0) - std::max(begin, cell));
    });
  }

  /// Taps at [begin, end) with the given weights over their sum; none if the sum is zero.
  template <class Weight>
  void normalised(int64_t begin, int64_t end, Weight weight) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += weight(i);
    if (sum == 0) return;
    for (int64_t i = begin; i < end; ++i) tap(i, weight(i) / sum);
  }

  const ResampleRule& rule_;
  int64_t input_, output_;
  float scale_;
  ResampleTable table_;
};

}  // namespace

float original_coordinate(CoordinateMode mode, int64_t o, float scale, int64_t output, int64_t input) {
  const auto x = static_cast<float>(o);
  if (scale == 1.0F || output == input) return x;
  switch (mode) {
    case CoordinateMode::half_pixel:
      return (x + 0.5F) / scale - 0.5F;
    case CoordinateMode::pytorch_half_pixel:
      return output > 1 ? (x + 0.5F) / scale - 0.5F : 0.0F;
    case CoordinateMode::asymmetric:
      return x / scale;
    case CoordinateMode::tf_half_pixel_for_nn:
      return (x + 0.5F) / scale;
    case CoordinateMode::align_corners:
      return output == 1 ? 0.0F : x * static_cast<float>(input - 1) / static_cast<float>(output - 1);
  }
  return x;
}

ResampleTable resample_table(const ResampleRule& rule, int64_t input, int64_t output, float scale) {
  return Builder(rule, input, output, scale).build();
}

ResampleTable without_padding(const ResampleTable& padded, int64_t pad_begin, int64_t input) {
  ResampleTable result;
  result.first.push_back(0);
  for (int64_t o = 0; o < padded.outputs(); ++o) {
    for (int64_t t = padded.first[static_cast<size_t>(o)]; t < padded.first[static_cast<size_t>(o) + 1]; ++t) {
      const ResampleTap& tap = padded.taps[static_cast<size_t>(t)];
      const int64_t index = tap.index - pad_begin;
      if (index >= 0 && index < input) result.taps.push_back({index, tap.weight});
    }
    result.first.push_back(static_cast<int64_t>(result.taps.size()));
  }
  return result;
}

}  // namespace terroir::ops
