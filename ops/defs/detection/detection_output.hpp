#pragma once
// What: DetectionOutput: the detections of an SSD-like head. Inputs: box_logits [N, P*L*4], class_preds [N, P*C],
// proposals [N or 1, 1 or 2, P*(4 or 5)] (priors, then their variances), and optionally both aux_class_preds [N, P*2]
// and aux_box_preds (as box_logits), for P priors, C classes, L = 1 (share_location) or C. Formula: decode (code_type),
// drop scores not above confidence_threshold, keep top_k per class, suppress boxes whose overlap exceeds nms_threshold,
// keep keep_top_k[0] per image. Shapes: [1, 1, rows, 7], rows = N * keep_top_k[0], else N * top_k * C, else N * P * C.
// Edge cases: a row is (image, class, score, x0, y0, x1, y1), images and classes ascending, best first; the row after
// the last has image -1, what follows is 0. NaN scores are dropped, and so are priors from the first of image -1 on
// (not normalized: as Proposal ends its list). Source: operation pages DetectionOutput-1 (num_classes is an attribute),
// DetectionOutput-8; order of equal scores: the operation set's reference results.
#include "ir/schema/attributes.hpp"
#include "ops/reference/detection/detection_output.hpp"

namespace terroir::ops {

struct DetectionOutputAttrs : reference::DetectionOutputParams {
  int64_t num_classes = 0;  // 0: from the inputs

  template <class V>
  void visit(V& v) {
    v("background_label_id", background_label_id);
    v("top_k", top_k);
    v("variance_encoded_in_target", variance_encoded_in_target);
    v("keep_top_k", keep_top_k, ir::Presence::required);
    v("code_type", code_type);
    v("share_location", share_location);
    v("nms_threshold", nms_threshold, ir::Presence::required);
    v("confidence_threshold", confidence_threshold);
    v("clip_after_nms", clip_after_nms);
    v("clip_before_nms", clip_before_nms);
    v("decrease_label_id", decrease_label_id);
    v("normalized", normalized);
    v("input_height", input_height);
    v("input_width", input_width);
    v("objectness_score", objectness_score);
  }
};

struct DetectionOutput1Attrs : DetectionOutputAttrs {
  template <class V>
  void visit(V& v) {
    v("num_classes", num_classes, ir::Presence::required);
    DetectionOutputAttrs::visit(v);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::BoxCode> {
  static constexpr std::string_view names[] = {"caffe.PriorBoxParameter.CORNER", "caffe.PriorBoxParameter.CENTER_SIZE"};
};
