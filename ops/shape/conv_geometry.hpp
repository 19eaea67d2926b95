#pragma once
// What: a convolution with every extent known and every pad in effect, forward or transposed, grouped or not: what
// reference kernels and plugins compute with.
// Layouts: forward:    src [N, G*I, spatial], wei [G, O, I, kernel], dst [N, G*O, spatial]
//          transposed: src [N, G*I, spatial], wei [G, I, O, kernel], dst [N, G*O, spatial]; G is 1 where there is no
//          axis.
#include "ops/shape/window.hpp"

namespace terroir::ops {

struct ConvGeometry {
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t in_channels = 1;   // of one group
  int64_t out_channels = 1;  // of one group
  /// One per spatial axis, outermost first. Of a transposed convolution: `input` is the extent of src, `output` that of
  /// dst, and pads cut from the border of dst.
  std::vector<WindowAxis> axes;
};

}  // namespace terroir::ops
