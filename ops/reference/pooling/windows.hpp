#pragma once
// What: walks over the windows of a pooling: what its references have in common. Threads: planes, by several.
#include <algorithm>

#include "ops/reference/parallel.hpp"
#include "ops/shape/pool_geometry.hpp"

namespace terroir::ops::reference {

/// For each window of each plane, in the order of dst: start() -> S, then add(S&, position in src) for the elements
/// inside of the image, in order, then finish(S, position in dst, how many elements).
template <class Start, class Add, class Finish>
void visit_windows(const PoolGeometry& geometry, Start start, Add add, Finish finish) {
  const auto axes = three_axes(geometry.axes);
  const WindowAxis &az = axes[0], &ay = axes[1], &ax = axes[2];
  const int64_t plane = az.input * ay.input * ax.input, outputs = az.output * ay.output * ax.output;
  std::vector<WindowAxis::KernelRange> columns;
  for (int64_t x = 0; x < ax.output; ++x) columns.push_back(ax.inside(x));
  constexpr int64_t kElementsPerTask = 16384;
  const int64_t per_task = std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, outputs));
  parallel_ranges(geometry.batch * geometry.channels, per_task, [&](int64_t first, int64_t last) {
    int64_t at = first * outputs;
    for (int64_t image = first; image < last; ++image)
      for (int64_t z = 0; z < az.output; ++z) {
        const auto kz = az.inside(z);
        for (int64_t y = 0; y < ay.output; ++y) {
          const auto ky = ay.inside(y);
          for (int64_t x = 0; x < ax.output; ++x) {
            const auto kx = columns[static_cast<size_t>(x)];
            auto state = start();
            for (int64_t i = kz.first; i < kz.last; ++i)
              for (int64_t j = ky.first; j < ky.last; ++j) {
                const int64_t iz = az.origin(z) + i * az.dilation, iy = ay.origin(y) + j * ay.dilation;
                const int64_t row = image * plane + (iz * ay.input + iy) * ax.input + ax.origin(x);
                for (int64_t k = kx.first; k < kx.last; ++k) add(state, row + k * ax.dilation);
              }
            const auto extent = [](WindowAxis::KernelRange range) {
              return std::max<int64_t>(0, range.last - range.first);
            };
            finish(state, at++, extent(kz) * extent(ky) * extent(kx));
          }
        }
      }
  });
}

}  // namespace terroir::ops::reference
