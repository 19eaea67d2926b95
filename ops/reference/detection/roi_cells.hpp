#pragma once
// What: how the poolings over regions of interest go over the cells of their grids.
#include <algorithm>
#include <array>
#include <vector>

#include "ir/base/error.hpp"
#include "ir/base/tensor_view.hpp"
#include "ops/reference/accumulate.hpp"
#include "ops/reference/detection/roi_geometry.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {

/// Calls fn.operator()<T, C>() with the element type and the type coordinates are computed in.
template <class Fn>
void with_roi_types(const ir::TensorView& src, const char* op, Fn&& fn) {
  dispatch_type<TERROIR_FLOATS>(src.type, op, [&](auto tag) {
    using T = decltype(tag);
    fn.template operator()<T, compute_t<T>>();
  });
}

/// For each region of `rois` ([rows, 5]) and cell of its grid: prepare(row, image, x1, y1, x2, y2) gives cell(y, x),
/// and that value(o), into dst [rows, outputs, h, w]. So what the outputs of a cell have in common is computed once.
/// A value may also have four(o), for the outputs from o on.
template <class T, class C, class Prepare>
void each_roi_cell(const ir::TensorView& rois, const FeatureMap& map, const ir::MutableTensorView& dst, const char* op,
                   Prepare prepare) {
  const int64_t outputs = dst.dims[1], rows = dst.dims[2], columns = dst.dims[3], cells = outputs * rows * columns;
  std::vector<int64_t> images(static_cast<size_t>(dst.dims[0]));
  images_of_rows<C>(rois.as<T>(), dst.dims[0], map, op, images.data());
  parallel_for(dst.dims[0], [&](int64_t r) {
    T* out = dst.as<T>() + r * cells;
    const T* row = rois.as<T>() + r * 5;
    const int64_t image = images[static_cast<size_t>(r)];
    if (image < 0) {
      std::fill_n(out, cells, T{});
      return;
    }
    const auto cell = prepare(r, image, static_cast<C>(row[1]), static_cast<C>(row[2]), static_cast<C>(row[3]),
                              static_cast<C>(row[4]));
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x) {
        const auto value = cell(y, x);
        int64_t o = 0;
        if constexpr (requires { value.four(o); })
          for (; o + 4 <= outputs; o += 4) {
            const std::array<double, 4> values = value.four(o);
            for (int64_t i = 0; i < 4; ++i)
              out[((o + i) * rows + y) * columns + x] = from_sum<T>(values[static_cast<size_t>(i)]);
          }
        for (; o < outputs; ++o) out[(o * rows + y) * columns + x] = from_sum<T>(value(o));
      }
  });
}

inline bool no_regions(const ir::TensorView& src, const ir::MutableTensorView& dst, const char* op) {
  if (dst.count() == 0) return true;
  if (src.count() == 0)
    throw_error(ErrorCode::invalid_argument, op, ": regions of an empty feature map of shape ", src.dims);
  return false;
}

}  // namespace terroir::ops::reference
