#include "ops/reference/sort/topk.hpp"

#include <algorithm>
#include <numeric>

#include "ops/reference/dispatch.hpp"

namespace terroir::ops::reference {
namespace {

/// A strict weak order in which NaN is above everything.
template <class T>
bool below(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return false;
    if (b != b) return true;
  }
  return a < b;
}

}  // namespace

void topk(const ir::TensorView& src, const TopKRequest& request, const ir::MutableTensorView& values,
          const ir::MutableTensorView& indices) {
  const int64_t count = src.count();
  if (count == 0 || request.k == 0) return;
  const auto axis = static_cast<size_t>(request.axis);
  const int64_t extent = src.dims[axis];
  int64_t inner = 1;
  for (size_t i = axis + 1; i < src.dims.size(); ++i) inner *= src.dims[i];
  const bool wide = indices.type == element::i64;
  std::vector<int64_t> order(static_cast<size_t>(extent));
  dispatch_type<TERROIR_NUMBERS>(src.type, "TopK", [&](auto tag) {
    using T = decltype(tag);
    using C = compute_t<T>;
    std::vector<C> slice(static_cast<size_t>(extent));
    for (int64_t outer = 0; outer < count / (extent * inner); ++outer) {
      for (int64_t i = 0; i < inner; ++i) {
        const T* x = src.as<T>() + outer * extent * inner + i;
        for (int64_t n = 0; n < extent; ++n) slice[static_cast<size_t>(n)] = static_cast<C>(x[n * inner]);
        std::iota(order.begin(), order.end(), 0);
        const auto better = [&](int64_t a, int64_t b) {
          const C va = slice[static_cast<size_t>(a)];
          const C vb = slice[static_cast<size_t>(b)];
          if (below(va, vb)) return !request.largest;
          if (below(vb, va)) return request.largest;
          return a < b;
        };
        const auto middle = order.begin() + request.k;
        std::partial_sort(order.begin(), middle, order.end(), better);
        if (request.by_index) std::sort(order.begin(), middle);
        const int64_t base = outer * request.k * inner + i;
        for (int64_t n = 0; n < request.k; ++n) {
          const int64_t from = order[static_cast<size_t>(n)];
          values.as<T>()[base + n * inner] = x[from * inner];
          if (wide) {
            indices.as<int64_t>()[base + n * inner] = from;
          } else {
            indices.as<int32_t>()[base + n * inner] = static_cast<int32_t>(from);
          }
        }
      }
    }
  });
}

}  // namespace terroir::ops::reference
