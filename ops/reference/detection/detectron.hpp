#pragma once
// What: the references of the Detectron family: anchors on a grid, proposals from them, features of regions from a
// pyramid, the best regions, and the final boxes. Types: any floating-point type, computed in f32.
// Threads: regions, classes, ranges of cells; candidates of a suppression.
#include "ir/schema/op_schema.hpp"
#include "ops/reference/detection/roi_geometry.hpp"

namespace terroir::ops::reference {

struct PriorGridParams {
  bool flatten = true;
  int64_t h = 0, w = 0;               // 0: those of the feature map
  double stride_x = 0, stride_y = 0;  // 0: the image divided by the grid
};
/// Inputs: priors [n, 4], feature map, image (only their extents count).
void prior_grid_generator(const ir::EvalContext& ctx, const PriorGridParams& params);

/// Inputs: rois [n, 4], probabilities [n]. Output: the max_rois best, then zeros.
void top_k_rois(const ir::EvalContext& ctx);

struct RoiFeatureParams {
  int64_t output_size = 0;
  int64_t sampling_ratio = 0;
  std::vector<int64_t> pyramid_scales;
  bool aligned = false;
};
/// Which map of the pyramid a region [x0, y0, x1, y1] is pooled from, and where it lies there.
struct PyramidRegion {
  int64_t level;  // -1: the region is empty
  RoiPoint<float> start, size;
};
PyramidRegion pyramid_region(const float* roi, const RoiFeatureParams& params, int64_t levels);
/// Inputs: rois [n, 4], then the feature maps of the pyramid. Outputs: features, and the rois as they are.
void roi_feature_extractor(const ir::EvalContext& ctx, const RoiFeatureParams& params);

struct GenerateProposalsParams {
  double min_size = 0;
  double nms_threshold = 0;
  int64_t pre_nms_count = 0;
  int64_t post_nms_count = 0;
  bool normalized = true;
  double nms_eta = 1;
};
/// Inputs: image size [3], anchors [H * W * A, 4], deltas [4A, H, W], scores [A, H, W]. Outputs have post_nms_count
/// rows.
void generate_proposals_single_image(const ir::EvalContext& ctx, const GenerateProposalsParams& params);
/// Inputs: image sizes [N, 3 or 4], anchors [H, W, A, 4], deltas [N, 4A, H, W], scores [N, A, H, W]. Outputs: boxes,
/// scores, and how many boxes each item has.
void generate_proposals(const ir::EvalContext& ctx, const GenerateProposalsParams& params);

struct DetectronOutputParams {
  double score_threshold = 0;
  double nms_threshold = 0;
  double max_delta_log_wh = 0;
  int64_t num_classes = 0;
  int64_t post_nms_count = 0;
  int64_t max_detections_per_image = 0;
  bool class_agnostic_box_regression = false;
  std::vector<double> deltas_weights;
};
/// Inputs: rois [n, 4], deltas [n, 4 * classes], scores [n, classes], image size. Outputs: boxes, classes, scores.
void detectron_detection_output(const ir::EvalContext& ctx, const DetectronOutputParams& params);

}  // namespace terroir::ops::reference
