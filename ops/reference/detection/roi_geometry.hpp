#pragma once
// What: what the poolings over regions share: where an interpolated sample of a feature map lies, and the samples of a
// region that is aligned to a grid.
#include <algorithm>
#include <cmath>

#include "ir/base/error.hpp"
#include "ir/base/tensor_view.hpp"
#include "ops/reference/accumulate.hpp"
#include "ops/reference/detection/roi_pooling.hpp"

namespace terroir::ops::reference {

/// `value` as an integer within [low, high]; NaN is low.
template <class C>
int64_t held(C value, int64_t low, int64_t high) {
  if (!(value > static_cast<C>(low))) return low;
  return value < static_cast<C>(high) ? static_cast<int64_t>(value) : high;
}

struct FeatureMap {
  int64_t images, channels, height, width;
  explicit FeatureMap(const ir::Dims& dims) : images(dims[0]), channels(dims[1]), height(dims[2]), width(dims[3]) {}
  int64_t plane() const { return height * width; }
};

inline constexpr int64_t kFarElement = int64_t{1} << 40;  // beyond every image, and sums of a few of it fit

template <class C>
struct RoiPoint {
  C y, x;
};

/// Four neighbours in a plane, and how far the sample is from the first one, 0 to 1.
struct BilinearSample {
  int64_t top_left, top_right, bottom_left, bottom_right;
  double down, right;

  template <class T>
  double of(const T* plane) const {
    const double a = to_sum(plane[top_left]), b = to_sum(plane[bottom_left]);
    const double upper = a + (to_sum(plane[top_right]) - a) * right;
    const double lower = b + (to_sum(plane[bottom_right]) - b) * right;
    return upper + (lower - upper) * down;
  }
};

/// A row or a column of samples: its two neighbours, in elements of a plane, and how far it is from the first one.
struct AxisSample {
  bool inside = false;  // of the image; else it counts as 0
  int64_t first = 0, second = 0;
  double part = 0;
};

/// At `p` on an axis of `extent` places that are `step` apart; `margin` beyond the ends counts as the ends.
template <class C>
[[gnu::always_inline]] inline AxisSample axis_sample(C p, int64_t extent, int64_t step, C margin) {
  if (!(p >= -margin && p <= static_cast<C>(extent - 1) + margin)) return {};
  const C at = std::clamp<C>(p, 0, static_cast<C>(extent - 1));
  const auto first = static_cast<int64_t>(at);
  return {true, first * step, std::min(first + 1, extent - 1) * step,
          static_cast<double>(at) - static_cast<double>(first)};
}

[[gnu::always_inline]] inline BilinearSample joined(const AxisSample& row, const AxisSample& column) {
  return {row.first + column.first,
          row.first + column.second,
          row.second + column.first,
          row.second + column.second,
          row.part,
          column.part};
}

/// The sample at a point; less than an element beyond the ends counts as the ends.
template <class C>
[[gnu::always_inline]] inline BilinearSample bilinear_sample(const FeatureMap& map, RoiPoint<C> p) {
  return joined(axis_sample<C>(p.y, map.height, map.width, 1), axis_sample<C>(p.x, map.width, 1, 1));
}

/// A region [x1, y1, x2, y2] cut into cells of whole elements: as ROIPooling does it.
template <class C>
class PooledGrid {
 public:
  struct Span {
    int64_t first, last;  // behind the last one
  };

  PooledGrid(const FeatureMap& map, C scale, int64_t rows, int64_t columns, C x1, C y1, C x2, C y2)
      : rows_{rows, pixel(y1, scale), pixel(y2, scale), map.height},
        columns_{columns, pixel(x1, scale), pixel(x2, scale), map.width} {}

  Span rows_under(int64_t cell) const { return rows_.under(cell); }
  Span columns_under(int64_t cell) const { return columns_.under(cell); }

 private:
  static int64_t pixel(C v, C scale) { return held<C>(std::round(v * scale), -kFarElement, kFarElement); }

  /// `cells` divide the pixels from `first` to `last`.
  struct Axis {
    int64_t cells, first, last, extent;

    Span under(int64_t i) const {
      const C size = static_cast<C>(std::max<int64_t>(last - first + 1, 1)) / static_cast<C>(cells);
      const int64_t begin = held<C>(std::floor(static_cast<C>(i) * size), 0, 4 * kFarElement) + first;
      const int64_t end = held<C>(std::ceil(static_cast<C>(i + 1) * size), 0, 4 * kFarElement) + first;
      return {std::clamp<int64_t>(begin, 0, extent), std::clamp<int64_t>(end, 0, extent)};
    }
  };
  Axis rows_, columns_;
};

/// Where ROIPooling interpolates in a box of [0, 1]: `points` from border to border, or the middle.
template <class C>
C pooled_point(int64_t i, int64_t points, C begin, C end, int64_t extent) {
  const C last = static_cast<C>(extent - 1);
  if (points == 1) return (begin + end) * last / 2;
  // The last point is taken from the end of the box, for the sum of steps may miss it.
  if (i == points - 1) return end * last;
  return static_cast<C>(i) * ((end - begin) * last / static_cast<C>(points - 1)) + begin * last;
}

/// The image that a region names by a number of its row; -1 for an unused row.
template <class C>
int64_t image_of(C index, const FeatureMap& map, const char* op) {
  if (index < 0) return -1;
  if (!(index < static_cast<C>(map.images)))
    throw_error(ErrorCode::invalid_argument, op, ": a region is of image ", static_cast<double>(index),
                ", but there are ", map.images);
  return static_cast<int64_t>(index);
}

/// The image of each of `count` rows of five. -1 also for rows of zeros behind an unused one: Proposal ends a list so.
template <class C, class T, class Image>
void images_of_rows(const T* rows, int64_t count, const FeatureMap& map, const char* op, Image* images) {
  bool used = true;
  for (const T* row = rows; row < rows + 5 * count; row += 5) {
    if (std::any_of(row, row + 5, [](T value) { return static_cast<C>(value) != 0; }))
      used = !(static_cast<C>(row[0]) < 0);
    *images++ = static_cast<Image>(used ? image_of<C>(static_cast<C>(row[0]), map, op) : -1);
  }
}

/// A region cut into cells, each with samples at evenly spaced points: as ROIAlign does it.
template <class C>
class AlignedGrid {
 public:
  /// `size` long from `start`, in elements of the map; sampling_ratio 0: a sample per element.
  AlignedGrid(const FeatureMap& map, RoiPoint<C> start, RoiPoint<C> size, int64_t rows, int64_t columns,
              int64_t sampling_ratio)
      : map_(map), start_(start), cell_{size.y / static_cast<C>(rows), size.x / static_cast<C>(columns)} {
    const auto samples = [&](C length) {
      return sampling_ratio > 0 ? sampling_ratio : held<C>(std::ceil(length), 0, kMostSamples);
    };
    down_ = samples(cell_.y);
    across_ = samples(cell_.x);
  }

  /// Of one cell.
  int64_t down() const { return down_; }
  int64_t across() const { return across_; }
  double samples() const { return static_cast<double>(down_) * static_cast<double>(across_); }

  /// Row `i` of the samples of a cell, in order: visit(const BilinearSample*), null for one outside of the image, which
  /// counts as 0. `place` maps points of the region to the image.
  template <class Place, class Visit>
  void sample_row(int64_t cell_y, int64_t cell_x, int64_t i, const Place& place, const Visit& visit) const {
    for (int64_t j = 0; j < across_; ++j) {
      const RoiPoint<C> p = place({down_to(cell_y, i), across_to(cell_x, j)});
      const AxisSample row = axis_sample<C>(p.y, map_.height, map_.width, 1);
      const AxisSample column = axis_sample<C>(p.x, map_.width, 1, 1);
      if (!row.inside || !column.inside) {
        visit(nullptr);
        continue;
      }
      const BilinearSample sample = joined(row, column);
      visit(&sample);
    }
  }

  /// Row i of the samples of cells in row `cell`, and column j of those in column `cell`, where points of the region
  /// are those of the image.
  AxisSample row(int64_t cell, int64_t i) const { return axis_sample<C>(down_to(cell, i), map_.height, map_.width, 1); }
  AxisSample column(int64_t cell, int64_t j) const { return axis_sample<C>(across_to(cell, j), map_.width, 1, 1); }

 private:
  static constexpr int64_t kMostSamples = 4096;
  static C middle(int64_t i, int64_t count) {
    return (static_cast<C>(i) + static_cast<C>(0.5)) / static_cast<C>(count);
  }
  C down_to(int64_t cell, int64_t i) const {
    return start_.y + static_cast<C>(cell) * cell_.y + middle(i, down_) * cell_.y;
  }
  C across_to(int64_t cell, int64_t j) const {
    return start_.x + static_cast<C>(cell) * cell_.x + middle(j, across_) * cell_.x;
  }

  FeatureMap map_;
  RoiPoint<C> start_, cell_;
  int64_t down_ = 0, across_ = 0;
};

/// Where ROIAlign puts the box [x1, y1, x2, y2].
template <class C>
AlignedGrid<C> roi_align_grid(const FeatureMap& map, const RoiAlignParameters& parameters, C x1, C y1, C x2, C y2,
                              int64_t rows, int64_t columns) {
  const bool aligned = parameters.aligned != RoiAlignedMode::asymmetric;
  const C before = parameters.aligned == RoiAlignedMode::half_pixel ? static_cast<C>(0.5) : 0;
  const C after = aligned ? static_cast<C>(-0.5) : 0;
  const auto at = [&](C v) { return (v + before) * static_cast<C>(parameters.spatial_scale) + after; };
  const RoiPoint<C> start{at(y1), at(x1)};
  RoiPoint<C> size{at(y2) - start.y, at(x2) - start.x};
  if (!aligned) size = {std::max<C>(size.y, 1), std::max<C>(size.x, 1)};
  return AlignedGrid<C>(map, start, size, rows, columns, parameters.sampling_ratio);
}

/// The same for a box [centre x, centre y, width, height, angle]: its samples are those of a box around the origin,
/// which place() turns and moves.
template <class C>
class RotatedPlace {
 public:
  RotatedPlace(const RoiAlignParameters& parameters, bool clockwise, const C (&box)[5])
      : scale_(static_cast<C>(parameters.spatial_scale)),
        centre_{box[1] * scale_ - static_cast<C>(0.5), box[0] * scale_ - static_cast<C>(0.5)},
        size_{box[3] * scale_, box[2] * scale_},
        cosine_(std::cos(clockwise ? -box[4] : box[4])),
        sine_(std::sin(clockwise ? -box[4] : box[4])) {}

  AlignedGrid<C> grid(const FeatureMap& map, const RoiAlignParameters& parameters, int64_t rows,
                      int64_t columns) const {
    return AlignedGrid<C>(map, {-size_.y / 2, -size_.x / 2}, size_, rows, columns, parameters.sampling_ratio);
  }
  RoiPoint<C> operator()(RoiPoint<C> p) const {
    return {p.y * cosine_ - p.x * sine_ + centre_.y, p.y * sine_ + p.x * cosine_ + centre_.x};
  }

 private:
  C scale_;
  RoiPoint<C> centre_, size_;
  C cosine_, sine_;
};

/// Exception for regions of an image beyond the batch.
inline void check_image(int64_t image, int64_t images, const char* op) {
  if (image >= images)
    throw_error(ErrorCode::invalid_argument, op, ": a region is of image ", image, ", but there are ", images);
}

}  // namespace terroir::ops::reference
