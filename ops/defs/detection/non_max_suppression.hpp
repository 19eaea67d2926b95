#pragma once
// What: NonMaxSuppression: of boxes that overlap, the one with the best score stays, class by class. Inputs: boxes
// [N, B, 4], scores [N, C, B], then optionally max_output_boxes_per_class, iou_threshold, score_threshold (all 0) and,
// from version 5 on, soft_nms_sigma.
// Formula: in the order of their scores, boxes with score > score_threshold are kept unless an overlap (intersection
// over union) with a kept one reaches iou_threshold (NMSRotated-13: exceeds it), as on OpenVINO's CPU device; with
// sigma their scores sink by exp(-iou^2 / (2 sigma)) instead (version 5: besides). Shapes: triplets (batch, class,
// box). Versions 1 and 3: [min(B, most * C), 3], 4: [min(B, most) * N * C, 3], filled up with -1. Versions 5 and 9:
// [0..min(B, most) * N * C, 3], the scores likewise (f32), and the number of boxes. Edge cases: equal scores: the lower
// index first. Boxes may be given by any two opposite corners. Source: operation pages NonMaxSuppression-1, -3, -4, -5,
// -9. They keep scores equal to score_threshold, but so would suppressed boxes, of score 0, pass a threshold of 0; as
// in the reference results, equal scores are dropped.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

enum class BoxEncoding { corner, center };

struct NonMaxSuppression1Attrs {
  BoxEncoding box_encoding = BoxEncoding::corner;
  bool sort_result_descending = true;
  element::Type output_type = element::i64;  // an attribute from version 3 on

  template <class V>
  void visit(V& v) {
    v("box_encoding", box_encoding);
    v("sort_result_descending", sort_result_descending);
  }
};

struct NonMaxSuppressionAttrs : NonMaxSuppression1Attrs {
  template <class V>
  void visit(V& v) {
    NonMaxSuppression1Attrs::visit(v);
    v("output_type", output_type);
  }
};

struct NmsRotatedAttrs : NonMaxSuppression1Attrs {
  bool clockwise = true;

  template <class V>
  void visit(V& v) {
    v("sort_result_descending", sort_result_descending);
    v("output_type", output_type);
    v("clockwise", clockwise);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::BoxEncoding> {
  static constexpr std::string_view names[] = {"corner", "center"};
};
