#include "ops/reference/image/grid_sample.hpp"

#include <cmath>

#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/image/grid_taps.hpp"
#include "ops/reference/numeric.hpp"
#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {
namespace {

template <class T>
void interpolate(const T* plane, int64_t width, const GridTaps& rows, const GridTaps& columns, T* out) {
  double sum = 0;
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j)
      if (rows.weights[i] != 0 && columns.weights[j] != 0 && rows.pixels[i] >= 0 && columns.pixels[j] >= 0)
        sum += rows.weights[i] * columns.weights[j] * to_real(plane[rows.pixels[i] * width + columns.pixels[j]]);
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
  constexpr int64_t kPointsPerTask = 256;
  dispatch_type<TERROIR_FLOATS>(grid.type, "GridSample", [&](auto tag) {
    using G = decltype(tag);
    for (int64_t n = 0; n < dst.dims[0]; ++n)
      parallel_ranges(points, kPointsPerTask, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          const G* point = grid.as<G>() + (n * points + p) * 2;
          const GridTaps columns = grid_taps(static_cast<compute_t<G>>(point[0]), src.dims[3], parameters);
          const GridTaps rows = grid_taps(static_cast<compute_t<G>>(point[1]), src.dims[2], parameters);
          for (int64_t c = 0; c < channels; ++c)
            visit(n * channels + c, (n * channels + c) * points + p, rows, columns);
        }
      });
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
    return each_sample(src, grid, parameters, dst,
                       [&](int64_t c, int64_t at, const GridTaps& rows, const GridTaps& columns) {
                         const int64_t y = rows.pixels[0], x = columns.pixels[0];
                         if (y < 0 || x < 0) return copier.clear(dst.data, at, 1);
                         copier.copy(dst.data, at, src.data, c * plane + y * width + x, 1);
                       });
  dispatch_type<TERROIR_NUMBERS, char>(src.type, "GridSample", [&](auto tag) {
    using T = decltype(tag);
    each_sample(src, grid, parameters, dst, [&](int64_t c, int64_t at, const GridTaps& rows, const GridTaps& columns) {
      interpolate(src.as<T>() + c * plane, width, rows, columns, dst.as<T>() + at);
    });
  });
}

}  // namespace terroir::ops::reference
