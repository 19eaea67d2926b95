#pragma once
// What: Proposal: boxes from anchors, class probabilities and box corrections of a region proposal network. Inputs:
// class_probs [N, 2K, H, W] (background, then foreground), bbox_deltas [N, 4K, H, W], image_shape [3 or 4] (height,
// width, scale or two scales), for K = ratios * scales anchors. Shapes: (item, x0, y0, x1, y1) [N * post_nms_topn, 5];
// Proposal-4 also scores [N * post_nms_topn]. Edge cases: the row after an item's last box has item -1, what follows is
// 0; boxes below min_size get the score 0. framework "tensorflow": boxes without their last row and column, y before x,
// also where they are cut and normalized. Source: operation pages Proposal-1, Proposal-4.
#include "ir/schema/attributes.hpp"
#include "ops/reference/detection/proposal.hpp"

namespace terroir::ops {

struct ProposalAttrs : reference::ProposalParams {
  template <class V>
  void visit(V& v) {
    v("base_size", base_size, ir::Presence::required);
    v("pre_nms_topn", pre_nms_topn, ir::Presence::required);
    v("post_nms_topn", post_nms_topn, ir::Presence::required);
    v("nms_thresh", nms_thresh, ir::Presence::required);
    v("feat_stride", feat_stride, ir::Presence::required);
    v("min_size", min_size, ir::Presence::required);
    v("ratio", ratio, ir::Presence::required);
    v("scale", scale, ir::Presence::required);
    v("clip_before_nms", clip_before_nms);
    v("clip_after_nms", clip_after_nms);
    v("normalize", normalize);
    v("box_size_scale", box_size_scale);
    v("box_coordinate_scale", box_coordinate_scale);
    v("framework", framework);
  }
};

}  // namespace terroir::ops
