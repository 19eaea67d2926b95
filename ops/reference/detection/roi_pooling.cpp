#include "ops/reference/detection/roi_pooling.hpp"

#include <algorithm>
#include <cmath>

#include "ops/reference/detection/roi_cells.hpp"
#include "ops/reference/pooling/lowest.hpp"

namespace terroir::ops::reference {

void roi_pooling_max(const ir::TensorView& src, const ir::TensorView& rois, double spatial_scale,
                     const ir::MutableTensorView& dst) {
  if (no_regions(src, dst, "ROIPooling")) return;
  const FeatureMap map(src.dims);
  const int64_t rows = dst.dims[2], columns = dst.dims[3];
  with_roi_types(src, "ROIPooling", [&]<class T, class C>() {
    const C scale = static_cast<C>(spatial_scale);
    each_roi_cell<T, C>(rois, map, dst, "ROIPooling", [&](int64_t, int64_t image, C x1, C y1, C x2, C y2) {
      const PooledGrid<C> grid(map, scale, rows, columns, x1, y1, x2, y2);
      return [=, &src, &map](int64_t y, int64_t x) {
        const auto h = grid.rows_under(y), w = grid.columns_under(x);
        return [=, &src, &map](int64_t c) {
          if (h.first >= h.last || w.first >= w.last) return 0.0;
          const T* plane = src.as<T>() + (image * map.channels + c) * map.plane();
          T best = lowest<T>();
          for (int64_t i = h.first; i < h.last; ++i)
            for (int64_t j = w.first; j < w.last; ++j)
              if (plane[i * map.width + j] > best) best = plane[i * map.width + j];
          return to_sum(best);
        };
      };
    });
  });
}

void roi_pooling_bilinear(const ir::TensorView& src, const ir::TensorView& rois, const ir::MutableTensorView& dst) {
  if (no_regions(src, dst, "ROIPooling")) return;
  const FeatureMap map(src.dims);
  with_roi_types(src, "ROIPooling", [&]<class T, class C>() {
    each_roi_cell<T, C>(rois, map, dst, "ROIPooling", [&](int64_t, int64_t image, C x1, C y1, C x2, C y2) {
      return [=, &src, &map, &dst](int64_t i, int64_t j) {
        const C y = pooled_point(i, dst.dims[2], y1, y2, map.height);
        const C x = pooled_point(j, dst.dims[3], x1, x2, map.width);
        const bool inside =
            y >= 0 && y <= static_cast<C>(map.height - 1) && x >= 0 && x <= static_cast<C>(map.width - 1);
        const BilinearSample sample = inside ? bilinear_sample(map, RoiPoint<C>{y, x}) : BilinearSample{};
        return [=, &src, &map](int64_t c) {
          return inside ? sample.of(src.as<T>() + (image * map.channels + c) * map.plane()) : 0.0;
        };
      };
    });
  });
}

}  // namespace terroir::ops::reference
