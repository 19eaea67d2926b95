#pragma once
// What: MatrixNms (scores decay with the overlaps of all better boxes at once) and MulticlassNms (overlapping boxes are
// dropped; the threshold may shrink by nms_eta). Inputs: boxes [N, B, 4], scores [N, C, B]; MulticlassNms-9 also boxes
// [C, B, 4], scores [C, B], roisnum [N].
// Shapes: rows (class, score, x0, y0, x1, y1) [0..most, 6], their flat box indices [0..most, 1], boxes per item [N],
// where most = N * min(C' * min(B, nms_top_k), keep_top_k) and C' leaves out the background. Edge cases: equal scores:
// the lower class, then the lower index first; sort_result_type none is sorted by score, and so are the items of
// MatrixNms by class where not all items are sorted together. MulticlassNms drops a box whose overlap reaches
// iou_threshold; not normalized, its boxes of pixels have something in common that are less than one apart, those of
// MatrixNms only where they touch. All this is so in OpenVINO.
// Source: operation pages MatrixNonMaxSuppression-8, MulticlassNonMaxSuppression-8 and -9.
#include "ir/schema/attributes.hpp"
#include "ops/reference/detection/nms.hpp"

namespace terroir::ops {

template <class Params, class V>
void visit_nms(Params& params, V& v) {
  v("sort_result_type", params.sort_result_type);
  v("sort_result_across_batch", params.sort_result_across_batch);
  v("output_type", params.output_type);
  v("score_threshold", params.score_threshold);
  v("nms_top_k", params.nms_top_k);
  v("keep_top_k", params.keep_top_k);
  v("background_class", params.background_class);
  v("normalized", params.normalized);
}

enum class DecayFunction { gaussian, linear };

struct MatrixNmsAttrs : reference::MatrixNmsParams {
  DecayFunction decay_function = DecayFunction::linear;

  template <class V>
  void visit(V& v) {
    visit_nms(*this, v);
    v("decay_function", decay_function);
    v("gaussian_sigma", gaussian_sigma);
    v("post_threshold", post_threshold);
  }
};

struct MulticlassNmsAttrs : reference::MulticlassNmsParams {
  template <class V>
  void visit(V& v) {
    visit_nms(*this, v);
    v("iou_threshold", iou_threshold);
    v("nms_eta", nms_eta);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::NmsOrder> {
  static constexpr std::string_view names[] = {"classid", "score", "none"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::DecayFunction> {
  static constexpr std::string_view names[] = {"gaussian", "linear"};
};
