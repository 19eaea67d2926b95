#pragma once
// What: a pooling with every extent known and every pad in effect: what reference kernels and plugins compute with.
// Layouts: src [N, C, spatial] -> dst [N, C, spatial'].
#include "ops/shape/window.hpp"

namespace terroir::ops {

struct PoolGeometry {
  int64_t batch = 1;
  int64_t channels = 1;
  std::vector<WindowAxis> axes;  // one per spatial axis, outermost first

  bool padded() const {
    for (const WindowAxis& axis : axes)
      if (axis.pad_begin != 0 || axis.pad_end != 0) return true;
    return false;
  }
};

}  // namespace terroir::ops
