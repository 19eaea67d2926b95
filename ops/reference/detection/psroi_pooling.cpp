// PSROIPooling and DeformablePSROIPooling; see roi_pooling.hpp.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/reference/detection/roi_cells.hpp"
#include "ops/reference/detection/roi_pooling.hpp"

namespace terroir::ops::reference {
namespace {

/// The mean of rows [h0, h1) and columns [w0, w1) of planes `step` elements apart; 0 of none.
template <class T>
struct MeanOfBin {
  const T* first;
  int64_t step, width, h0, h1, w0, w1;

  /// Several sums side by side: the next element of one need not wait for its addition before.
  template <size_t kPlanes>
  std::array<double, kPlanes> of(const T* plane) const {
    std::array<double, kPlanes> sums{};
    if (w1 <= w0 || h1 <= h0) return sums;
    for (int64_t i = h0; i < h1; ++i)
      for (int64_t j = w0; j < w1; ++j)
        for (size_t p = 0; p < kPlanes; ++p) sums[p] += to_sum(plane[static_cast<int64_t>(p) * step + i * width + j]);
    const auto count = static_cast<double>((w1 - w0) * (h1 - h0));
    for (double& sum : sums) sum /= count;
    return sums;
  }
  double operator()(int64_t o) const { return of<1>(first + o * step)[0]; }
  std::array<double, 4> four(int64_t o) const { return of<4>(first + o * step); }
};

}  // namespace

void psroi_pooling_average(const ir::TensorView& src, const ir::TensorView& rois, double spatial_scale,
                           const ir::MutableTensorView& dst) {
  if (no_regions(src, dst, "PSROIPooling")) return;
  const FeatureMap map(src.dims);
  const int64_t group = dst.dims[2];
  with_roi_types(src, "PSROIPooling", [&]<class T, class C>() {
    const C scale = static_cast<C>(spatial_scale);
    each_roi_cell<T, C>(rois, map, dst, "PSROIPooling", [&](int64_t, int64_t image, C x1, C y1, C x2, C y2) {
      const C left = std::round(x1) * scale, top = std::round(y1) * scale;
      const C cell_w = ((std::round(x2) + 1) * scale - left) / static_cast<C>(group);
      const C cell_h = ((std::round(y2) + 1) * scale - top) / static_cast<C>(group);
      return [=, &src, &map](int64_t y, int64_t x) {
        const int64_t w0 = held<C>(std::floor(left + static_cast<C>(x) * cell_w), 0, map.width - 1);
        const int64_t h0 = held<C>(std::floor(top + static_cast<C>(y) * cell_h), 0, map.height - 1);
        const int64_t w1 = held<C>(std::ceil(left + static_cast<C>(x + 1) * cell_w), 0, map.width);
        const int64_t h1 = held<C>(std::ceil(top + static_cast<C>(y + 1) * cell_h), 0, map.height);
        const T* first = src.as<T>() + (image * map.channels + y * group + x) * map.plane();
        return MeanOfBin<T>{first, group * group * map.plane(), map.width, h0, h1, w0, w1};
      };
    });
  });
}

void psroi_pooling_bilinear(const ir::TensorView& src, const ir::TensorView& rois, double spatial_scale, int64_t bins_x,
                            int64_t bins_y, const ir::MutableTensorView& dst) {
  if (no_regions(src, dst, "PSROIPooling")) return;
  const FeatureMap map(src.dims);
  const int64_t outputs = dst.dims[1], group = dst.dims[2];
  with_roi_types(src, "PSROIPooling", [&]<class T, class C>() {
    const C scale = static_cast<C>(spatial_scale);
    // Point `i` of the part that begins at `begin` and is `size` long, both in [0, 1] of the image.
    const auto point = [group](int64_t i, C begin, C size, int64_t extent) {
      const C last = static_cast<C>(extent - 1);
      return group > 1 ? static_cast<C>(i) * (size * last / static_cast<C>(group - 1)) + begin * last
                       : (begin + begin + size) * last / 2;
    };
    each_roi_cell<T, C>(rois, map, dst, "PSROIPooling", [&](int64_t, int64_t image, C x1, C y1, C x2, C y2) {
      const C left = x1 * scale, top = y1 * scale;
      const C bin_w = (x2 * scale - left) / static_cast<C>(bins_x), bin_h = (y2 * scale - top) / static_cast<C>(bins_y);
      return [=, &src, &map](int64_t i, int64_t j) {
        return [=, &src, &map](int64_t o) {
          double sum = 0;
          for (int64_t by = 0; by < bins_y; ++by)
            for (int64_t bx = 0; bx < bins_x; ++bx) {
              const C y = point(i, top + static_cast<C>(by) * bin_h, bin_h, map.height);
              const C x = point(j, left + static_cast<C>(bx) * bin_w, bin_w, map.width);
              if (!(y >= 0 && y < static_cast<C>(map.height) && x >= 0 && x < static_cast<C>(map.width))) continue;
              const int64_t channel = (by * bins_x + bx) * outputs + o;
              sum += bilinear_sample(map, RoiPoint<C>{y, x})
                         .of(src.as<T>() + (image * map.channels + channel) * map.plane());
            }
          return sum / (static_cast<double>(bins_x) * static_cast<double>(bins_y));
        };
      };
    });
  });
}

void deformable_psroi_pooling(const ir::TensorView& src, const ir::TensorView& rois, const ir::TensorView* offsets,
                              const DeformablePsroiParameters& parameters, const ir::MutableTensorView& dst) {
  if (no_regions(src, dst, "DeformablePSROIPooling")) return;
  const FeatureMap map(src.dims);
  const int64_t outputs = dst.dims[1], group = dst.dims[2], part = parameters.part_size;
  with_roi_types(src, "DeformablePSROIPooling", [&]<class T, class C>() {
    const C scale = static_cast<C>(parameters.spatial_scale), half = static_cast<C>(0.5);
    const auto cut = [&](C v) { return std::round(v) * scale - half; };
    const auto cut_after = [&](C v) { return (std::round(v) + 1) * scale - half; };
    // Offset of cell (o, y, x) along coordinate 0 (x) or 1 (y).
    const auto offset = [&](int64_t r, int64_t o, int64_t y, int64_t x, int64_t coordinate) {
      const int64_t classes = offsets->dims[1] / 2;
      const int64_t channel = (r * classes + o / (outputs / classes)) * 2 + coordinate;
      const int64_t at = (channel * part + y * part / group) * part + x * part / group;
      return static_cast<C>(to_sum(offsets->as<T>()[at]) * parameters.trans_std);
    };
    each_roi_cell<T, C>(
        rois, map, dst, "DeformablePSROIPooling", [&](int64_t r, int64_t image, C x1, C y1, C x2, C y2) {
          const C left = cut(x1), top = cut(y1);
          const C width = std::max<C>(cut_after(x2) - left, static_cast<C>(0.1));
          const C height = std::max<C>(cut_after(y2) - top, static_cast<C>(0.1));
          const C cell_w = width / static_cast<C>(group), cell_h = height / static_cast<C>(group);
          return [=, &src, &map, &parameters](int64_t y, int64_t x) {
            return [=, &src, &map, &parameters](int64_t o) {
              const T* plane = src.as<T>() + (image * map.channels + (o * group + y) * group + x) * map.plane();
              const C x0 = left + static_cast<C>(x) * cell_w + (offsets ? offset(r, o, y, x, 0) * width : 0);
              const C y0 = top + static_cast<C>(y) * cell_h + (offsets ? offset(r, o, y, x, 1) * height : 0);
              double sum = 0;
              int64_t count = 0;
              for (int64_t by = 0; by < parameters.bins_y; ++by) {
                const C sy = y0 + static_cast<C>(by) * (cell_h / static_cast<C>(parameters.bins_y));
                const AxisSample row = axis_sample(sy, map.height, map.width, half);
                for (int64_t bx = 0; row.inside && bx < parameters.bins_x; ++bx) {
                  const C sx = x0 + static_cast<C>(bx) * (cell_w / static_cast<C>(parameters.bins_x));
                  const AxisSample column = axis_sample(sx, map.width, int64_t{1}, half);
                  if (!column.inside) continue;
                  sum += joined(row, column).of(plane);
                  ++count;
                }
              }
              return count > 0 ? sum / static_cast<double>(count) : 0.0;
            };
          };
        });
  });
}

}  // namespace terroir::ops::reference
