// Pooling of regions, and Detectron's layers, as code makes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "terroir/op/attributes.hpp"
#include "terroir/op/layer.hpp"
#include "terroir/shape.hpp"

namespace terroir {

namespace detail {

inline AnyMap roi_align(int pooled_h, int pooled_w, int sampling_ratio, float spatial_scale) {
  return {{"pooled_h", pooled_h},
          {"pooled_w", pooled_w},
          {"sampling_ratio", sampling_ratio},
          {"spatial_scale", spatial_scale}};
}
inline AnyMap roi_align(int pooled_h, int pooled_w, int sampling_ratio, float spatial_scale, const std::string& mode) {
  AnyMap attributes = roi_align(pooled_h, pooled_w, sampling_ratio, spatial_scale);
  attributes.emplace("mode", mode);
  return attributes;
}

}  // namespace detail

namespace op {
namespace v0 {

class PSROIPooling : public Node {
  TERROIR_LAYER(PSROIPooling, "PSROIPooling", "opset1")
  PSROIPooling(const Output<Node>& data, const Output<Node>& rois, size_t output_dim, size_t group_size,
               float spatial_scale, int spatial_bins_x, int spatial_bins_y, const std::string& mode)
      : PSROIPooling(OutputVector{data, rois}, {{"output_dim", static_cast<int64_t>(output_dim)},
                                                {"group_size", static_cast<int64_t>(group_size)},
                                                {"spatial_scale", spatial_scale},
                                                {"spatial_bins_x", spatial_bins_x},
                                                {"spatial_bins_y", spatial_bins_y},
                                                {"mode", mode}}) {}
};

class ROIPooling : public Node {
  TERROIR_LAYER(ROIPooling, "ROIPooling", "opset2")
  /// `output_size`: height and width.
  ROIPooling(const Output<Node>& data, const Output<Node>& rois, const Shape& output_size, float spatial_scale,
             const std::string& method = "max")
      : ROIPooling(OutputVector{data, rois}, {{"pooled_h", static_cast<int64_t>(output_size.at(0))},
                                              {"pooled_w", static_cast<int64_t>(output_size.at(1))},
                                              {"spatial_scale", spatial_scale},
                                              {"method", method}}) {}
};

}  // namespace v0

namespace v1 {

class DeformablePSROIPooling : public Node {
  TERROIR_LAYER(DeformablePSROIPooling, "DeformablePSROIPooling", "opset1")
  DeformablePSROIPooling(const Output<Node>& data, const Output<Node>& rois, const Output<Node>& offsets,
                         int64_t output_dim, float spatial_scale, int64_t group_size = 1,
                         const std::string& mode = "bilinear_deformable", int64_t spatial_bins_x = 1,
                         int64_t spatial_bins_y = 1, float trans_std = 1, int64_t part_size = 1)
      : DeformablePSROIPooling(OutputVector{data, rois, offsets},
                               attributes(output_dim, spatial_scale, group_size, mode, spatial_bins_x, spatial_bins_y,
                                          trans_std, part_size)) {}
  DeformablePSROIPooling(const Output<Node>& data, const Output<Node>& rois, int64_t output_dim, float spatial_scale,
                         int64_t group_size = 1, const std::string& mode = "bilinear_deformable",
                         int64_t spatial_bins_x = 1, int64_t spatial_bins_y = 1, float trans_std = 1,
                         int64_t part_size = 1)
      : DeformablePSROIPooling(OutputVector{data, rois},
                               attributes(output_dim, spatial_scale, group_size, mode, spatial_bins_x, spatial_bins_y,
                                          trans_std, part_size)) {}

 private:
  static AnyMap attributes(int64_t output_dim, float spatial_scale, int64_t group_size, const std::string& mode,
                           int64_t spatial_bins_x, int64_t spatial_bins_y, float trans_std, int64_t part_size) {
    return {{"output_dim", output_dim},         {"spatial_scale", spatial_scale},
            {"group_size", group_size},         {"mode", mode},
            {"spatial_bins_x", spatial_bins_x}, {"spatial_bins_y", spatial_bins_y},
            {"trans_std", trans_std},           {"part_size", part_size}};
  }
};

}  // namespace v1

namespace v3 {

class ROIAlign : public Node {
  TERROIR_LAYER(ROIAlign, "ROIAlign", "opset3")
  enum class PoolingMode { AVG, MAX };
  ROIAlign(const Output<Node>& data, const Output<Node>& rois, const Output<Node>& batch_indices, int pooled_h,
           int pooled_w, int sampling_ratio, float spatial_scale, const std::string& mode)
      : ROIAlign(OutputVector{data, rois, batch_indices},
                 detail::roi_align(pooled_h, pooled_w, sampling_ratio, spatial_scale, mode)) {}
  ROIAlign(const Output<Node>& data, const Output<Node>& rois, const Output<Node>& batch_indices, int pooled_h,
           int pooled_w, int sampling_ratio, float spatial_scale, PoolingMode mode)
      : ROIAlign(data, rois, batch_indices, pooled_h, pooled_w, sampling_ratio, spatial_scale,
                 std::string(mode == PoolingMode::AVG ? "avg" : "max")) {}
};

}  // namespace v3

namespace v6 {

class ExperimentalDetectronDetectionOutput : public Node {
  TERROIR_LAYER(ExperimentalDetectronDetectionOutput, "ExperimentalDetectronDetectionOutput", "opset6")
  struct Attributes {
    float score_threshold = 0;
    float nms_threshold = 0;
    float max_delta_log_wh = 0;
    int64_t num_classes = 0;
    int64_t post_nms_count = 0;
    size_t max_detections_per_image = 0;
    bool class_agnostic_box_regression = false;
    std::vector<float> deltas_weights;
  };
  ExperimentalDetectronDetectionOutput(const Output<Node>& rois, const Output<Node>& deltas, const Output<Node>& scores,
                                       const Output<Node>& im_info, const Attributes& attributes)
      : ExperimentalDetectronDetectionOutput(
            OutputVector{rois, deltas, scores, im_info},
            AnyMap{{"score_threshold", attributes.score_threshold},
                   {"nms_threshold", attributes.nms_threshold},
                   {"max_delta_log_wh", attributes.max_delta_log_wh},
                   {"num_classes", attributes.num_classes},
                   {"post_nms_count", attributes.post_nms_count},
                   {"max_detections_per_image", static_cast<int64_t>(attributes.max_detections_per_image)},
                   {"class_agnostic_box_regression", attributes.class_agnostic_box_regression},
                   {"deltas_weights", detail::reals(attributes.deltas_weights)}}) {}
};

class ExperimentalDetectronGenerateProposalsSingleImage : public Node {
  TERROIR_LAYER(ExperimentalDetectronGenerateProposalsSingleImage, "ExperimentalDetectronGenerateProposalsSingleImage",
                "opset6")
  struct Attributes {
    float min_size = 0;
    float nms_threshold = 0;
    int64_t post_nms_count = 0;
    int64_t pre_nms_count = 0;
  };
  ExperimentalDetectronGenerateProposalsSingleImage(const Output<Node>& im_info, const Output<Node>& anchors,
                                                    const Output<Node>& deltas, const Output<Node>& scores,
                                                    const Attributes& attributes)
      : ExperimentalDetectronGenerateProposalsSingleImage(OutputVector{im_info, anchors, deltas, scores},
                                                          AnyMap{{"min_size", attributes.min_size},
                                                                 {"nms_threshold", attributes.nms_threshold},
                                                                 {"post_nms_count", attributes.post_nms_count},
                                                                 {"pre_nms_count", attributes.pre_nms_count}}) {}
};

class ExperimentalDetectronPriorGridGenerator : public Node {
  TERROIR_LAYER(ExperimentalDetectronPriorGridGenerator, "ExperimentalDetectronPriorGridGenerator", "opset6")
  struct Attributes {
    bool flatten = true;
    int64_t h = 0;
    int64_t w = 0;
    float stride_x = 0;
    float stride_y = 0;
  };
  ExperimentalDetectronPriorGridGenerator(const Output<Node>& priors, const Output<Node>& feature_map,
                                          const Output<Node>& image, const Attributes& attributes)
      : ExperimentalDetectronPriorGridGenerator(OutputVector{priors, feature_map, image},
                                                AnyMap{{"flatten", attributes.flatten},
                                                       {"h", attributes.h},
                                                       {"w", attributes.w},
                                                       {"stride_x", attributes.stride_x},
                                                       {"stride_y", attributes.stride_y}}) {}
};

class ExperimentalDetectronROIFeatureExtractor : public Node {
  TERROIR_LAYER(ExperimentalDetectronROIFeatureExtractor, "ExperimentalDetectronROIFeatureExtractor", "opset6")
  struct Attributes {
    int64_t output_size = 0;
    int64_t sampling_ratio = 0;
    std::vector<int64_t> pyramid_scales;
    bool aligned = false;
  };
  /// The regions, and the levels of the pyramid.
  ExperimentalDetectronROIFeatureExtractor(const OutputVector& inputs, const Attributes& attributes)
      : ExperimentalDetectronROIFeatureExtractor(inputs, AnyMap{{"output_size", attributes.output_size},
                                                                {"sampling_ratio", attributes.sampling_ratio},
                                                                {"pyramid_scales", attributes.pyramid_scales},
                                                                {"aligned", attributes.aligned}}) {}
  ExperimentalDetectronROIFeatureExtractor(const NodeVector& inputs, const Attributes& attributes)
      : ExperimentalDetectronROIFeatureExtractor(OutputVector(inputs.begin(), inputs.end()), attributes) {}
};

class ExperimentalDetectronTopKROIs : public Node {
  TERROIR_LAYER(ExperimentalDetectronTopKROIs, "ExperimentalDetectronTopKROIs", "opset6")
  ExperimentalDetectronTopKROIs(const Output<Node>& rois, const Output<Node>& probs, size_t max_rois = 0)
      : ExperimentalDetectronTopKROIs(OutputVector{rois, probs}, {{"max_rois", static_cast<int64_t>(max_rois)}}) {}
};

}  // namespace v6

namespace v9 {

class ROIAlign : public Node {
  TERROIR_LAYER(ROIAlign, "ROIAlign", "opset9")
  enum class PoolingMode { AVG, MAX };
  enum class AlignedMode { ASYMMETRIC, HALF_PIXEL_FOR_NN, HALF_PIXEL };
  ROIAlign(const Output<Node>& data, const Output<Node>& rois, const Output<Node>& batch_indices, int pooled_h,
           int pooled_w, int sampling_ratio, float spatial_scale, PoolingMode mode,
           AlignedMode aligned_mode = AlignedMode::ASYMMETRIC)
      : ROIAlign(OutputVector{data, rois, batch_indices},
                 with_alignment(detail::roi_align(pooled_h, pooled_w, sampling_ratio, spatial_scale,
                                                  mode == PoolingMode::AVG ? "avg" : "max"),
                                aligned_mode)) {}

 private:
  static AnyMap with_alignment(AnyMap attributes, AlignedMode mode) {
    static constexpr const char* kNames[] = {"asymmetric", "half_pixel_for_nn", "half_pixel"};
    attributes.emplace("aligned_mode", kNames[static_cast<size_t>(mode)]);
    return attributes;
  }
};

}  // namespace v9

namespace v15 {

class ROIAlignRotated : public Node {
  TERROIR_LAYER(ROIAlignRotated, "ROIAlignRotated", "opset15")
  ROIAlignRotated(const Output<Node>& data, const Output<Node>& rois, const Output<Node>& batch_indices, int pooled_h,
                  int pooled_w, int sampling_ratio, float spatial_scale, bool clockwise_mode)
      : ROIAlignRotated(
            OutputVector{data, rois, batch_indices},
            with_direction(detail::roi_align(pooled_h, pooled_w, sampling_ratio, spatial_scale), clockwise_mode)) {}

 private:
  static AnyMap with_direction(AnyMap attributes, bool clockwise_mode) {
    attributes.emplace("clockwise_mode", clockwise_mode);
    return attributes;
  }
};

}  // namespace v15
}  // namespace op
}  // namespace terroir
