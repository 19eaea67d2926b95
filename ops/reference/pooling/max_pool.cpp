#include "ops/reference/pooling/max_pool.hpp"

#include <limits>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/pooling/windows.hpp"

namespace terroir::ops::reference {
namespace {

/// store_index(position in dst, that of the maximum in the flattened src, -1 where a window covers no input).
template <class T, class Store>
void pool(const PoolGeometry& geometry, const T* src, T* dst, Store store_index) {
  struct State {
    T best = std::numeric_limits<T>::lowest();
    int64_t found = -1;
  };
  visit_windows(
      geometry, [] { return State(); },
      [src](State& state, int64_t position) {
        if (src[position] > state.best) {
          state.best = src[position];
          state.found = position;
        } else if (state.found < 0) {
          state.found = position;
        }
      },
      [&](const State& state, int64_t at, int64_t) {
        dst[at] = state.best;
        store_index(at, state.found);
      });
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
