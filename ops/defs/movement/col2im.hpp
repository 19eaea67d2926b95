#pragma once
// What: Col2Im: an image from sliding blocks, the inverse walk of extracting them; what overlaps is added up. Inputs:
// data [N, C * KH * KW, L] or [C * KH * KW, L], output_size [2], kernel_size [2].
// Formula: output[n, c, y * stride - pad + i * dilation, ...] += data[n, (c * KH + i) * KW + j, y * LW + x].
// Shapes: [N, C, H, W] or [C, H, W]; L is the number of blocks. Edge cases: integers wrap around.
// Source: operation page Col2Im-15.
#include "ir/schema/attributes.hpp"
#include "ops/reference/movement/col2im.hpp"

namespace terroir::ops {

struct Col2ImAttrs {
  std::vector<int64_t> strides{1, 1}, dilations{1, 1}, pads_begin{0, 0}, pads_end{0, 0};

  template <class V>
  void visit(V& v) {
    v("strides", strides);
    v("dilations", dilations);
    v("pads_begin", pads_begin);
    v("pads_end", pads_end);
  }
};

/// With the values of inputs 1 and 2. Exception where no block fits.
reference::Col2ImParams col2im_params(const Col2ImAttrs& attrs, const std::vector<int64_t>& size,
                                      const std::vector<int64_t>& kernel);

}  // namespace terroir::ops
