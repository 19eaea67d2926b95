#include "ops/reference/detection/roi_pooling.hpp"

#include <algorithm>
#include <cmath>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/pooling/lowest.hpp"

namespace terroir::ops::reference {
namespace {

/// `value` as an integer within [low, high]; NaN is low.
template <class C>
int64_t held(C value, int64_t low, int64_t high) {
  if (!(value > static_cast<C>(low))) return low;
  return value < static_cast<C>(high) ? static_cast<int64_t>(value) : high;
}

constexpr int64_t kFar = int64_t{1} << 40;  // beyond every image, and sums of a few of it fit

struct Map {
  int64_t images, channels, height, width;
  explicit Map(const ir::Dims& dims) : images(dims[0]), channels(dims[1]), height(dims[2]), width(dims[3]) {}
  int64_t plane() const { return height * width; }
};

/// The image that a row names; -1 for an unused row.
template <class C>
int64_t image_of(C index, const Map& map, const char* op) {
  if (index < 0) return -1;
  if (!(index < static_cast<C>(map.images)))
    throw_error(ErrorCode::invalid_argument, op, ": a region is of image ", static_cast<double>(index),
                ", but there are ", map.images);
  return static_cast<int64_t>(index);
}

/// Value of a plane at (y, x), which lie within [0, height - 1] and [0, width - 1].
template <class T, class C>
double interpolate(const T* plane, const Map& map, C y, C x) {
  const auto top = static_cast<int64_t>(std::floor(y)), left = static_cast<int64_t>(std::floor(x));
  const int64_t bottom = std::min(top + 1, map.height - 1), right = std::min(left + 1, map.width - 1);
  const double fy = static_cast<double>(y) - static_cast<double>(top);
  const double fx = static_cast<double>(x) - static_cast<double>(left);
  const auto at = [&](int64_t i, int64_t j) { return to_sum(plane[i * map.width + j]); };
  const double upper = at(top, left) + (at(top, right) - at(top, left)) * fx;
  const double lower = at(bottom, left) + (at(bottom, right) - at(bottom, left)) * fx;
  return upper + (lower - upper) * fy;
}

/// Calls fn.operator()<T, C>() with the element type and the type coordinates are computed in.
template <class Fn>
void with_types(const ir::TensorView& src, const char* op, Fn&& fn) {
  dispatch_type<TERROIR_FLOATS>(src.type, op, [&](auto tag) {
    using T = decltype(tag);
    fn.template operator()<T, compute_t<T>>();
  });
}

/// For each region of `rois` ([rows, 5]): cell(row, image, o, y, x) -> value, into dst [rows, outputs, h, w].
template <class T, class C, class Prepare>
void each_cell(const ir::TensorView& rois, const Map& map, const ir::MutableTensorView& dst, const char* op,
               Prepare prepare) {
  T* out = dst.as<T>();
  const int64_t cells = dst.dims[1] * dst.dims[2] * dst.dims[3];
  for (int64_t r = 0; r < dst.dims[0]; ++r, out += cells) {
    const T* row = rois.as<T>() + r * 5;
    const int64_t image = image_of<C>(static_cast<C>(row[0]), map, op);
    if (image < 0) {
      std::fill_n(out, cells, T{});
      continue;
    }
    const auto cell = prepare(r, image, static_cast<C>(row[1]), static_cast<C>(row[2]), static_cast<C>(row[3]),
                              static_cast<C>(row[4]));
    int64_t i = 0;
    for (int64_t o = 0; o < dst.dims[1]; ++o)
      for (int64_t y = 0; y < dst.dims[2]; ++y)
        for (int64_t x = 0; x < dst.dims[3]; ++x) out[i++] = from_sum<T>(cell(o, y, x));
  }
}

bool nothing_to_do(const ir::TensorView& src, const ir::MutableTensorView& dst, const char* op) {
  if (dst.count() == 0) return true;
  if (src.count() == 0)
    throw_error(ErrorCode::invalid_argument, op, ": regions of an empty feature map of shape ", src.dims);
  return false;
}

}  // namespace

void roi_pooling_max(const ir::TensorView& src, const ir::TensorView& rois, double spatial_scale,
                     const ir::MutableTensorView& dst) {
  if (nothing_to_do(src, dst, "ROIPooling")) return;
  const Map map(src.dims);
  const int64_t rows = dst.dims[2], columns = dst.dims[3];
  with_types(src, "ROIPooling", [&]<class T, class C>() {
    const C scale = static_cast<C>(spatial_scale);
    struct Span {
      int64_t first, last;
    };
    // Elements under cell `i` of `cells` that divide the pixels from `first` to `last`.
    const auto under = [](int64_t i, int64_t cells, int64_t first, int64_t last, int64_t extent) {
      const C size = static_cast<C>(std::max<int64_t>(last - first + 1, 1)) / static_cast<C>(cells);
      const int64_t begin = held<C>(std::floor(static_cast<C>(i) * size), 0, 4 * kFar) + first;
      const int64_t end = held<C>(std::ceil(static_cast<C>(i + 1) * size), 0, 4 * kFar) + first;
      return Span{std::clamp<int64_t>(begin, 0, extent), std::clamp<int64_t>(end, 0, extent)};
    };
    each_cell<T, C>(rois, map, dst, "ROIPooling", [&](int64_t, int64_t image, C x1, C y1, C x2, C y2) {
      const auto pixel = [&](C v) { return held<C>(std::round(v * scale), -kFar, kFar); };
      const int64_t left = pixel(x1), top = pixel(y1), right = pixel(x2), bottom = pixel(y2);
      return [=, &src, &map](int64_t c, int64_t y, int64_t x) {
        const T* plane = src.as<T>() + (image * map.channels + c) * map.plane();
        const Span h = under(y, rows, top, bottom, map.height), w = under(x, columns, left, right, map.width);
        if (h.first >= h.last || w.first >= w.last) return 0.0;
        T best = lowest<T>();
        for (int64_t i = h.first; i < h.last; ++i)
          for (int64_t j = w.first; j < w.last; ++j)
            if (plane[i * map.width + j] > best) best = plane[i * map.width + j];
        return to_sum(best);
      };
    });
  });
}

void roi_pooling_bilinear(const ir::TensorView& src, const ir::TensorView& rois, const ir::MutableTensorView& dst) {
  if (nothing_to_do(src, dst, "ROIPooling")) return;
  const Map map(src.dims);
  with_types(src, "ROIPooling", [&]<class T, class C>() {
    // The last point is taken from the end of the box, for the sum of steps may miss it.
    const auto point = [](int64_t i, int64_t points, C begin, C end, int64_t extent) {
      const C last = static_cast<C>(extent - 1);
      if (points == 1) return (begin + end) * last / 2;
      if (i == points - 1) return end * last;
      return static_cast<C>(i) * ((end - begin) * last / static_cast<C>(points - 1)) + begin * last;
    };
    each_cell<T, C>(rois, map, dst, "ROIPooling", [&](int64_t, int64_t image, C x1, C y1, C x2, C y2) {
      return [=, &src, &map, &dst](int64_t c, int64_t i, int64_t j) {
        const C y = point(i, dst.dims[2], y1, y2, map.height), x = point(j, dst.dims[3], x1, x2, map.width);
        const bool inside =
            y >= 0 && y <= static_cast<C>(map.height - 1) && x >= 0 && x <= static_cast<C>(map.width - 1);
        return inside ? interpolate(src.as<T>() + (image * map.channels + c) * map.plane(), map, y, x) : 0.0;
      };
    });
  });
}

void psroi_pooling_average(const ir::TensorView& src, const ir::TensorView& rois, double spatial_scale,
                           const ir::MutableTensorView& dst) {
  if (nothing_to_do(src, dst, "PSROIPooling")) return;
  const Map map(src.dims);
  const int64_t group = dst.dims[2];
  with_types(src, "PSROIPooling", [&]<class T, class C>() {
    const C scale = static_cast<C>(spatial_scale);
    each_cell<T, C>(rois, map, dst, "PSROIPooling", [&](int64_t, int64_t image, C x1, C y1, C x2, C y2) {
      const C left = std::round(x1) * scale, top = std::round(y1) * scale;
      const C cell_w = ((std::round(x2) + 1) * scale - left) / static_cast<C>(group);
      const C cell_h = ((std::round(y2) + 1) * scale - top) / static_cast<C>(group);
      return [=, &src, &map](int64_t o, int64_t y, int64_t x) {
        const T* plane = src.as<T>() + (image * map.channels + (o * group + y) * group + x) * map.plane();
        const int64_t w0 = held<C>(std::floor(left + static_cast<C>(x) * cell_w), 0, map.width - 1);
        const int64_t h0 = held<C>(std::floor(top + static_cast<C>(y) * cell_h), 0, map.height - 1);
        const int64_t w1 = held<C>(std::ceil(left + static_cast<C>(x + 1) * cell_w), 0, map.width);
        const int64_t h1 = held<C>(std::ceil(top + static_cast<C>(y + 1) * cell_h), 0, map.height);
        if (w1 <= w0 || h1 <= h0) return 0.0;
        double sum = 0;
        for (int64_t i = h0; i < h1; ++i)
          for (int64_t j = w0; j < w1; ++j) sum += to_sum(plane[i * map.width + j]);
        return sum / static_cast<double>((w1 - w0) * (h1 - h0));
      };
    });
  });
}

void psroi_pooling_bilinear(const ir::TensorView& src, const ir::TensorView& rois, double spatial_scale, int64_t bins_x,
                            int64_t bins_y, const ir::MutableTensorView& dst) {
  if (nothing_to_do(src, dst, "PSROIPooling")) return;
  const Map map(src.dims);
  const int64_t outputs = dst.dims[1], group = dst.dims[2];
  with_types(src, "PSROIPooling", [&]<class T, class C>() {
    const C scale = static_cast<C>(spatial_scale);
    // Point `i` of the part that begins at `begin` and is `size` long, both in [0, 1] of the image.
    const auto point = [group](int64_t i, C begin, C size, int64_t extent) {
      const C last = static_cast<C>(extent - 1);
      return group > 1 ? static_cast<C>(i) * (size * last / static_cast<C>(group - 1)) + begin * last
                       : (begin + begin + size) * last / 2;
    };
    each_cell<T, C>(rois, map, dst, "PSROIPooling", [&](int64_t, int64_t image, C x1, C y1, C x2, C y2) {
      const C left = x1 * scale, top = y1 * scale;
      const C bin_w = (x2 * scale - left) / static_cast<C>(bins_x), bin_h = (y2 * scale - top) / static_cast<C>(bins_y);
      return [=, &src, &map](int64_t o, int64_t i, int64_t j) {
        double sum = 0;
        for (int64_t by = 0; by < bins_y; ++by)
          for (int64_t bx = 0; bx < bins_x; ++bx) {
            const C y = point(i, top + static_cast<C>(by) * bin_h, bin_h, map.height);
            const C x = point(j, left + static_cast<C>(bx) * bin_w, bin_w, map.width);
            if (!(y >= 0 && y < static_cast<C>(map.height) && x >= 0 && x < static_cast<C>(map.width))) continue;
            sum += interpolate(src.as<T>() + (image * map.channels + (by * bins_x + bx) * outputs + o) * map.plane(),
                               map, y, x);
          }
        return sum / (static_cast<double>(bins_x) * static_cast<double>(bins_y));
      };
    });
  });
}

void deformable_psroi_pooling(const ir::TensorView& src, const ir::TensorView& rois, const ir::TensorView* offsets,
                              const DeformablePsroiParameters& parameters, const ir::MutableTensorView& dst) {
  if (nothing_to_do(src, dst, "DeformablePSROIPooling")) return;
  const Map map(src.dims);
  const int64_t outputs = dst.dims[1], group = dst.dims[2], part = parameters.part_size;
  with_types(src, "DeformablePSROIPooling", [&]<class T, class C>() {
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
    each_cell<T, C>(rois, map, dst, "DeformablePSROIPooling", [&](int64_t r, int64_t image, C x1, C y1, C x2, C y2) {
      const C left = cut(x1), top = cut(y1);
      const C width = std::max<C>(cut_after(x2) - left, static_cast<C>(0.1));
      const C height = std::max<C>(cut_after(y2) - top, static_cast<C>(0.1));
      const C cell_w = width / static_cast<C>(group), cell_h = height / static_cast<C>(group);
      return [=, &src, &map, &parameters](int64_t o, int64_t y, int64_t x) {
        const T* plane = src.as<T>() + (image * map.channels + (o * group + y) * group + x) * map.plane();
        const C x0 = left + static_cast<C>(x) * cell_w + (offsets ? offset(r, o, y, x, 0) * width : 0);
        const C y0 = top + static_cast<C>(y) * cell_h + (offsets ? offset(r, o, y, x, 1) * height : 0);
        const C last_y = static_cast<C>(map.height - 1), last_x = static_cast<C>(map.width - 1);
        double sum = 0;
        int64_t count = 0;
        for (int64_t by = 0; by < parameters.bins_y; ++by)
          for (int64_t bx = 0; bx < parameters.bins_x; ++bx) {
            const C sy = y0 + static_cast<C>(by) * (cell_h / static_cast<C>(parameters.bins_y));
            const C sx = x0 + static_cast<C>(bx) * (cell_w / static_cast<C>(parameters.bins_x));
            if (!(sy >= -half && sy <= last_y + half && sx >= -half && sx <= last_x + half)) continue;
            sum += interpolate(plane, map, std::clamp<C>(sy, 0, last_y), std::clamp<C>(sx, 0, last_x));
            ++count;
          }
        return count > 0 ? sum / static_cast<double>(count) : 0.0;
      };
    });
  });
}

namespace {

template <class C>
struct Point {
  C y, x;
};

/// A box as samples are placed in it: from `start`, `size` long; `place` maps a sample to the image.
template <class T, class C, class Place>
void align_box(const ir::TensorView& src, const Map& map, int64_t image, const RoiAlignParameters& parameters,
               Point<C> start, Point<C> size, const ir::Dims& grid, T* out, Place place) {
  const Point<C> cell{size.y / static_cast<C>(grid[2]), size.x / static_cast<C>(grid[3])};
  const auto samples = [&](C length) {
    constexpr int64_t kMostSamples = 4096;
    return parameters.sampling_ratio > 0 ? parameters.sampling_ratio : held<C>(std::ceil(length), 0, kMostSamples);
  };
  const int64_t sy = samples(cell.y), sx = samples(cell.x);
  const double count = static_cast<double>(sy) * static_cast<double>(sx);
  for (int64_t c = 0; c < map.channels; ++c) {
    const T* plane = src.as<T>() + (image * map.channels + c) * map.plane();
    const auto sample = [&](Point<C> p) {
      if (!(p.y >= -1 && p.y <= static_cast<C>(map.height) && p.x >= -1 && p.x <= static_cast<C>(map.width)))
        return 0.0;
      return interpolate(plane, map, std::clamp<C>(p.y, 0, static_cast<C>(map.height - 1)),
                         std::clamp<C>(p.x, 0, static_cast<C>(map.width - 1)));
    };
    for (int64_t y = 0; y < grid[2]; ++y)
      for (int64_t x = 0; x < grid[3]; ++x) {
        double sum = 0, most = -std::numeric_limits<double>::infinity();
        for (int64_t i = 0; i < sy; ++i)
          for (int64_t j = 0; j < sx; ++j) {
            const C fy = (static_cast<C>(i) + static_cast<C>(0.5)) / static_cast<C>(sy);
            const C fx = (static_cast<C>(j) + static_cast<C>(0.5)) / static_cast<C>(sx);
            const double value = sample(place({start.y + static_cast<C>(y) * cell.y + fy * cell.y,
                                               start.x + static_cast<C>(x) * cell.x + fx * cell.x}));
            sum += value;
            most = std::max(most, value);
          }
        const double pooled = parameters.mode == RoiAlignMode::max ? most : sum / count;
        *out++ = count > 0 ? from_sum<T>(pooled) : T{};
      }
  }
}

/// Each row of `rois`, with the image that `images` names for it: box(row, image, out).
template <class T, class Box>
void each_box(const ir::TensorView& images, const Map& map, const ir::MutableTensorView& dst, const char* op, Box box) {
  const auto of = ir::to_integers(images);
  const int64_t cells = dst.dims[1] * dst.dims[2] * dst.dims[3];
  T* out = dst.as<T>();
  for (int64_t r = 0; r < dst.dims[0]; ++r, out += cells) {
    const int64_t image = of[static_cast<size_t>(r)];
    if (image >= map.images)
      throw_error(ErrorCode::invalid_argument, op, ": a region is of image ", image, ", but there are ", map.images);
    if (image < 0) {
      std::fill_n(out, cells, T{});
    } else {
      box(r, image, out);
    }
  }
}

}  // namespace

void roi_align(const ir::TensorView& src, const ir::TensorView& rois, const ir::TensorView& images,
               const RoiAlignParameters& parameters, const ir::MutableTensorView& dst) {
  if (nothing_to_do(src, dst, "ROIAlign")) return;
  const Map map(src.dims);
  with_types(src, "ROIAlign", [&]<class T, class C>() {
    const bool aligned = parameters.aligned != RoiAlignedMode::asymmetric;
    const C before = parameters.aligned == RoiAlignedMode::half_pixel ? static_cast<C>(0.5) : 0;
    const C after = aligned ? static_cast<C>(-0.5) : 0;
    const C scale = static_cast<C>(parameters.spatial_scale);
    each_box<T>(images, map, dst, "ROIAlign", [&](int64_t r, int64_t image, T* out) {
      const auto at = [&](int64_t i) { return (static_cast<C>(rois.as<T>()[r * 4 + i]) + before) * scale + after; };
      Point<C> size{at(3) - at(1), at(2) - at(0)};
      if (!aligned) size = {std::max<C>(size.y, 1), std::max<C>(size.x, 1)};
      align_box<T, C>(src, map, image, parameters, {at(1), at(0)}, size, dst.dims, out, [](Point<C> p) { return p; });
    });
  });
}

void roi_align_rotated(const ir::TensorView& src, const ir::TensorView& rois, const ir::TensorView& images,
                       const RoiAlignParameters& parameters, bool clockwise, const ir::MutableTensorView& dst) {
  if (nothing_to_do(src, dst, "ROIAlignRotated")) return;
  const Map map(src.dims);
  with_types(src, "ROIAlignRotated", [&]<class T, class C>() {
    const C scale = static_cast<C>(parameters.spatial_scale), half = static_cast<C>(0.5);
    each_box<T>(images, map, dst, "ROIAlignRotated", [&](int64_t r, int64_t image, T* out) {
      const auto at = [&](int64_t i) { return static_cast<C>(rois.as<T>()[r * 5 + i]); };
      const Point<C> centre{at(1) * scale - half, at(0) * scale - half}, size{at(3) * scale, at(2) * scale};
      const C angle = clockwise ? -at(4) : at(4), cosine = std::cos(angle), sine = std::sin(angle);
      align_box<T, C>(src, map, image, parameters, {-size.y / 2, -size.x / 2}, size, dst.dims, out, [&](Point<C> p) {
        return Point<C>{p.y * cosine - p.x * sine + centre.y, p.y * sine + p.x * cosine + centre.x};
      });
    });
  });
}

}  // namespace terroir::ops::reference
