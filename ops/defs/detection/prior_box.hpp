#pragma once
// What: PriorBox: default boxes of several sizes and ratios around the centres of a grid. Inputs: output_size (height,
// width of the grid), image_size (height, width).
// Shapes: [2, 4 * height * width * boxes per cell]; row 0 the boxes (x0, y0, x1, y1) in fractions of the image, row 1
// the variances. Type: f32.
// Edge cases: without scale_all_sizes, min_size and step are fractions of the image's height, and step -1 spreads the
// cells over it. No variance means 0.1. fixed_size wants one density for each.
// Source: operation pages PriorBox-1, PriorBox-8, PriorBoxClustered-1; where they are silent (order and clipping of
// dense boxes), the operation set's reference results.
#include "ir/schema/attributes.hpp"
#include "ops/reference/detection/prior_box.hpp"

namespace terroir::ops {

struct PriorBoxAttrs : reference::PriorBoxParams {
  template <class V>
  void visit(V& v) {
    v("min_size", min_size);
    v("max_size", max_size);
    v("aspect_ratio", aspect_ratio);
    v("density", density);
    v("fixed_ratio", fixed_ratio);
    v("fixed_size", fixed_size);
    v("clip", clip);
    v("flip", flip);
    v("step", step);
    v("offset", offset, ir::Presence::required);
    v("variance", variance);
    v("scale_all_sizes", scale_all_sizes);
  }
};

struct PriorBox8Attrs : PriorBoxAttrs {
  template <class V>
  void visit(V& v) {
    PriorBoxAttrs::visit(v);
    v("min_max_aspect_ratios_order", min_max_aspect_ratios_order);
  }
};

struct PriorBoxClusteredAttrs : reference::PriorBoxClusteredParams {
  template <class V>
  void visit(V& v) {
    v("width", width);
    v("height", height);
    v("clip", clip);
    v("step", step);
    v("step_w", step_w);
    v("step_h", step_h);
    v("offset", offset, ir::Presence::required);
    v("variance", variance);
  }
};

}  // namespace terroir::ops
