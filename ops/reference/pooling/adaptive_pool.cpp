#include "ops/reference/pooling/adaptive_pool.hpp"

#include <algorithm>
#include <array>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/reference/pooling/lowest.hpp"
#include "ops/reference/pooling/mean.hpp"
#include "ops/shape/adaptive_cells.hpp"

namespace terroir::ops::reference {
namespace {

/// Axes of the spatial part with leading ones.
std::array<AdaptiveCells, 3> cells(const ir::Dims& src, const ir::Dims& dst) {
  std::array<AdaptiveCells, 3> result;
  for (size_t axis = 2; axis < src.size(); ++axis) result[axis + 3 - src.size()] = {src[axis], dst[axis]};
  return result;
}

/// Visits the cells of all channels, several channels at a time: start() -> S, add(S&, element, position in its
/// channel), finish(S, position in dst).
template <class T, class Start, class Add, class Finish>
void visit_cells(const ir::TensorView& src, const ir::Dims& dst, Start start, Add add, Finish finish) {
  const auto [cz, cy, cx] = cells(src.dims, dst);
  const int64_t plane = cz.input * cy.input * cx.input, outputs = cz.output * cy.output * cx.output;
  constexpr int64_t kElementsPerTask = 16384;
  const int64_t per_task = std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, plane));
  parallel_ranges(dst[0] * dst[1], per_task, [&](int64_t first, int64_t last) {
    int64_t at = first * outputs;
    for (int64_t image = first; image < last; ++image) {
      const T* channel = src.as<T>() + image * plane;
      for (int64_t z = 0; z < cz.output; ++z)
        for (int64_t y = 0; y < cy.output; ++y)
          for (int64_t x = 0; x < cx.output; ++x) {
            auto state = start();
            const int64_t begin = cx.begin(x), end = cx.end(x);
            for (int64_t i = cz.begin(z); i < cz.end(z); ++i)
              for (int64_t j = cy.begin(y); j < cy.end(y); ++j) {
                const int64_t row = (i * cy.input + j) * cx.input;
                for (int64_t k = begin; k < end; ++k) add(state, channel[row + k], row + k);
              }
            finish(state, at++);
          }
    }
  });
}

}  // namespace

void adaptive_avg_pool(const ir::TensorView& src, const ir::MutableTensorView& dst) {
  if (dst.count() == 0) return;
  dispatch_type<TERROIR_NUMBERS>(src.type, "AdaptiveAvgPool", [&](auto tag) {
    using T = decltype(tag);
    struct State {
      sum_t<T> sum = 0;
      int64_t count = 0;
    };
    T* out = dst.as<T>();
    visit_cells<T>(
        src, dst.dims, [] { return State(); },
        [](State& state, T value, int64_t) {
          state.sum += to_sum(value);
          ++state.count;
        },
        [&](const State& s, int64_t at) {
          out[at] = s.count > 0 ? mean<T>(s.sum, static_cast<double>(s.count)) : T{};
        });
  });
}

void adaptive_max_pool(const ir::TensorView& src, const ir::MutableTensorView& dst,
                       const ir::MutableTensorView& indices) {
  if (dst.count() == 0) return;
  dispatch_type<TERROIR_NUMBERS>(src.type, "AdaptiveMaxPool", [&](auto tag) {
    dispatch_type<int32_t, int64_t>(indices.type, "AdaptiveMaxPool indices", [&](auto index_tag) {
      using T = decltype(tag);
      using Index = decltype(index_tag);
      struct State {
        T best = lowest<T>();
        int64_t found = -1;
      };
      T* out = dst.as<T>();
      Index* out_index = indices.as<Index>();
      visit_cells<T>(
          src, dst.dims, [] { return State(); },
          [](State& state, T value, int64_t position) {
            if (value > state.best) {
              state.best = value;
              state.found = position;
            } else if (state.found < 0) {
              state.found = position;
            }
          },
          [&](const State& state, int64_t at) {
            out[at] = state.best;
            out_index[at] = static_cast<Index>(state.found < 0 ? 0 : state.found);
          });
    });
  });
}

}  // namespace terroir::ops::reference
