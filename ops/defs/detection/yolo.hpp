#pragma once
// What: RegionYolo (squashes the predictions of a YOLO head) and ReorgYolo (space to depth in Darknet's order). Input:
// data [N, C, H, W], where RegionYolo's C holds, for each region, coords + 1 + classes channels.
// Formula: sigmoid of the first two coordinates and of the objectness; of the classes softmax (do_softmax) or sigmoid.
// Shapes: RegionYolo with softmax: the axes `axis` to `end_axis` become one; else [N, mask's regions * entries, H, W].
// ReorgYolo: [N, C * s^2, H / s, W / s]. Edge cases: anchors are kept, not used.
// Source: operation pages RegionYolo-1, ReorgYolo-1 (listed from opset2 on; files say opset1 too).
#include "ir/schema/attributes.hpp"
#include "ops/reference/detection/yolo.hpp"

namespace terroir::ops {

struct RegionYoloAttrs : reference::RegionYoloParams {
  std::vector<double> anchors;
  int64_t axis = 1;
  int64_t end_axis = 3;

  template <class V>
  void visit(V& v) {
    v("anchors", anchors);
    v("axis", axis, ir::Presence::required);
    v("coords", coords, ir::Presence::required);
    v("classes", classes, ir::Presence::required);
    v("end_axis", end_axis, ir::Presence::required);
    v("num", num, ir::Presence::required);
    v("do_softmax", do_softmax);
    v("mask", mask);
  }
};

struct ReorgYoloAttrs {
  int64_t stride = 1;

  template <class V>
  void visit(V& v) {
    v("stride", stride, ir::Presence::required);
  }
};

}  // namespace terroir::ops
