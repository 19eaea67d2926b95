#pragma once
// What: the Detectron ops. With "box" = x0, y0, x1, y1:
// ExperimentalDetectronPriorGridGenerator: priors [n, 4] at each cell of a grid -> [H * W * n, 4], or [H, W, n, 4] if
// not flatten; feature map and image count by their extents only. ExperimentalDetectronTopKROIs: the max_rois best of
// rois [n, 4] by probs [n]; zeros after them. ExperimentalDetectronROIFeatureExtractor: rois [n, 4] from a pyramid of
// maps [1, C, H, W], each from the level of its size -> features [n, C, s, s] and the rois. Empty regions give zeros.
// ExperimentalDetectronGenerateProposalsSingleImage, GenerateProposals: anchors moved by deltas, the best of them
// without overlaps -> boxes and scores (post_nms_count of them, zeros at the end; GenerateProposals: as many as there
// are, of all items, and their number per item). ExperimentalDetectronDetectionOutput: boxes, classes (i32) and scores
// of at most max_detections_per_image detections. Edge cases: class 0 is the background; equal scores keep the order of
// the inputs. Source: operation pages of these names, -6 and GenerateProposals-9.
#include "ir/schema/attributes.hpp"
#include "ops/reference/detection/detectron.hpp"

namespace terroir::ops {

struct PriorGridAttrs : reference::PriorGridParams {
  template <class V>
  void visit(V& v) {
    v("flatten", flatten);
    v("h", h);
    v("w", w);
    v("stride_x", stride_x);
    v("stride_y", stride_y);
  }
};

struct TopKRoisAttrs {
  int64_t max_rois = 0;

  template <class V>
  void visit(V& v) {
    v("max_rois", max_rois);
  }
};

struct RoiFeatureAttrs : reference::RoiFeatureParams {
  template <class V>
  void visit(V& v) {
    v("output_size", output_size, ir::Presence::required);
    v("sampling_ratio", sampling_ratio, ir::Presence::required);
    v("pyramid_scales", pyramid_scales, ir::Presence::required);
    v("aligned", aligned);
  }
};

struct ProposalsSingleImageAttrs : reference::GenerateProposalsParams {
  template <class V>
  void visit(V& v) {
    v("min_size", min_size, ir::Presence::required);
    v("nms_threshold", nms_threshold, ir::Presence::required);
    v("post_nms_count", post_nms_count, ir::Presence::required);
    v("pre_nms_count", pre_nms_count, ir::Presence::required);
  }
};

struct GenerateProposalsAttrs : reference::GenerateProposalsParams {
  element::Type roi_num_type = element::i64;

  template <class V>
  void visit(V& v) {
    v("min_size", min_size, ir::Presence::required);
    v("nms_threshold", nms_threshold, ir::Presence::required);
    v("pre_nms_count", pre_nms_count, ir::Presence::required);
    v("post_nms_count", post_nms_count, ir::Presence::required);
    v("normalized", normalized);
    v("nms_eta", nms_eta);
    v("roi_num_type", roi_num_type);
  }
};

struct DetectronOutputAttrs : reference::DetectronOutputParams {
  template <class V>
  void visit(V& v) {
    v("score_threshold", score_threshold, ir::Presence::required);
    v("nms_threshold", nms_threshold, ir::Presence::required);
    v("max_delta_log_wh", max_delta_log_wh, ir::Presence::required);
    v("num_classes", num_classes, ir::Presence::required);
    v("post_nms_count", post_nms_count, ir::Presence::required);
    v("max_detections_per_image", max_detections_per_image, ir::Presence::required);
    v("class_agnostic_box_regression", class_agnostic_box_regression);
    v("deltas_weights", deltas_weights, ir::Presence::required);
  }
};

}  // namespace terroir::ops
