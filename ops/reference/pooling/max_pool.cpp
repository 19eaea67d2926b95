#include "ops/reference/pooling/max_pool.hpp"

#include "ops/reference/dispatch.hpp"
#include "ops/reference/pooling/lowest.hpp"

namespace terroir::ops::reference {
namespace {

/// Positions in the flattened src of all maxima, in the order of dst; -1 where a window covers no input.
template <class T, class Store>
void pool(const PoolGeometry& geometry, const T* src, T* dst, Store store_index) {
  const auto [az, ay, ax] = three_axes(geometry.axes);
  const int64_t plane = az.input * ay.input * ax.input;
  int64_t written = 0;
  for (int64_t image = 0; image < geometry.batch * geometry.channels; ++image)
    for (int64_t z = 0; z < az.output; ++z)
      for (int64_t y = 0; y < ay.output; ++y)
        for (int64_t x = 0; x < ax.output; ++x) {
          const auto kz = az.inside(z), ky = ay.inside(y), kx = ax.inside(x);
          T best = lowest<T>();
          int64_t found = -1;
          for (int64_t i = kz.first; i < kz.last; ++i)
            for (int64_t j = ky.first; j < ky.last; ++j)
              for (int64_t k = kx.first; k < kx.last; ++k) {
                const int64_t iz = az.origin(z) + i * az.dilation;
                const int64_t iy = ay.origin(y) + j * ay.dilation;
                const int64_t position =
                    image * plane + (iz * ay.input + iy) * ax.input + ax.origin(x) + k * ax.dilation;
                if (src[position] > best) {
                  best = src[position];
                  found = position;
                } else if (found < 0) {
                  found = position;
                }
              }
          dst[written] = best;
          store_index(written++, found);
        }
}

}  // namespace

void max_pool(const PoolGeometry& geometry, int64_t axis, const ir::TensorView& src, const ir::MutableTensorView& dst,
              const ir::MutableTensorView* indices) {
  if (dst.count() == 0) return;
  int64_t range = 1;
  for (size_t i = static_cast<size_t>(axis); i < src.dims.size(); ++i) range *= src.dims[i];
  const auto index_of = [&](int64_t position) { return position < 0 || range == 0 ? 0 : position % range; };
  dispatch_type<TERROIR_NUMBERS>(src.type, "MaxPool", [&](auto tag) {
    using T = decltype(tag);
    if (!indices) return pool(geometry, src.as<T>(), dst.as<T>(), [](int64_t, int64_t) {});
    dispatch_type<int32_t, int64_t>(indices->type, "MaxPool indices", [&](auto index_tag) {
      using Index = decltype(index_tag);
      Index* out = indices->as<Index>();
      pool(geometry, src.as<T>(), dst.as<T>(),
           [&](int64_t i, int64_t position) { out[i] = static_cast<Index>(index_of(position)); });
    });
  });
}

}  // namespace terroir::ops::reference
