#include "ops/reference/pooling/avg_pool.hpp"

#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/pooling/mean.hpp"
#include "ops/reference/pooling/windows.hpp"

namespace terroir::ops::reference {
namespace {

template <class T>
void pool(const PoolGeometry& geometry, bool count_padding, const T* src, T* dst) {
  const auto [az, ay, ax] = three_axes(geometry.axes);
  // As a double, for the product of three kernel attributes may not fit an integer.
  const double volume =
      static_cast<double>(az.kernel) * static_cast<double>(ay.kernel) * static_cast<double>(ax.kernel);
  visit_windows(
      geometry, [] { return sum_t<T>{0}; }, [src](sum_t<T>& sum, int64_t position) { sum += to_sum(src[position]); },
      [&](sum_t<T> sum, int64_t at, int64_t inside) {
        dst[at] = inside > 0 ? mean<T>(sum, count_padding ? volume : static_cast<double>(inside)) : T{};
      });
}

}  // namespace

void avg_pool(const PoolGeometry& geometry, bool exclude_pad, const ir::TensorView& src,
              const ir::MutableTensorView& dst) {
  if (dst.count() == 0) return;
  dispatch_type<TERROIR_NUMBERS>(src.type, "AvgPool", [&](auto tag) {
    using T = decltype(tag);
    pool(geometry, !exclude_pad && geometry.padded(), src.as<T>(), dst.as<T>());
  });
}

}  // namespace terroir::ops::reference
