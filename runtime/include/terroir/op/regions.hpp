// Pooling of regions, and Detectron's layers, as code makes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "terroir/op/attribute_access.hpp"
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
namespace util {

/// All versions of ROIAlign.
class ROIAlignBase : public Node {
  TERROIR_LAYER_BASE(Node, ROIAlignBase)
  int get_pooled_h() const { return detail::attribute<int>(*this, "pooled_h"); }
  void set_pooled_h(int pooled_h) { detail::set_attribute(*this, "pooled_h", pooled_h); }
  int get_pooled_w() const { return detail::attribute<int>(*this, "pooled_w"); }
  void set_pooled_w(int pooled_w) { detail::set_attribute(*this, "pooled_w", pooled_w); }
  int get_sampling_ratio() const { return detail::attribute<int>(*this, "sampling_ratio"); }
  void set_sampling_ratio(int sampling_ratio) { detail::set_attribute(*this, "sampling_ratio", sampling_ratio); }
  float get_spatial_scale() const { return detail::attribute<float>(*this, "spatial_scale"); }
  void set_spatial_scale(float spatial_scale) { detail::set_attribute(*this, "spatial_scale", spatial_scale); }
};

}  // namespace util

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
  size_t get_output_dim() const { return detail::attribute<size_t>(*this, "output_dim"); }
  void set_output_dim(size_t output_dim) { detail::set_attribute(*this, "output_dim", output_dim); }
  size_t get_group_size() const { return detail::attribute<size_t>(*this, "group_size"); }
  void set_group_size(size_t group_size) { detail::set_attribute(*this, "group_size", group_size); }
  float get_spatial_scale() const { return detail::attribute<float>(*this, "spatial_scale"); }
  void set_spatial_scale(float spatial_scale) { detail::set_attribute(*this, "spatial_scale", spatial_scale); }
  int get_spatial_bins_x() const { return detail::attribute<int>(*this, "spatial_bins_x"); }
  void set_spatial_bins_x(int spatial_bins_x) { detail::set_attribute(*this, "spatial_bins_x", spatial_bins_x); }
  int get_spatial_bins_y() const { return detail::attribute<int>(*this, "spatial_bins_y"); }
  void set_spatial_bins_y(int spatial_bins_y) { detail::set_attribute(*this, "spatial_bins_y", spatial_bins_y); }
  const std::string get_mode() const { return detail::attribute<std::string>(*this, "mode"); }
  void set_mode(const std::string& mode) { detail::set_attribute(*this, "mode", mode); }
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
  const Shape get_output_roi() const {
    return {detail::attribute<size_t>(*this, "pooled_h"), detail::attribute<size_t>(*this, "pooled_w")};
  }
  void set_output_roi(const Shape& size) {
    detail::set_attributes(*this, {{"pooled_h", size.at(0)}, {"pooled_w", size.at(1)}});
  }
  float get_spatial_scale() const { return detail::attribute<float>(*this, "spatial_scale"); }
  void set_spatial_scale(float spatial_scale) { detail::set_attribute(*this, "spatial_scale", spatial_scale); }
  const std::string get_method() const { return detail::attribute<std::string>(*this, "method"); }
  void set_method(const std::string& method) { detail::set_attribute(*this, "method", method); }
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
  int64_t get_output_dim() const { return detail::attribute<int64_t>(*this, "output_dim"); }
  void set_output_dim(int64_t output_dim) { detail::set_attribute(*this, "output_dim", output_dim); }
  int64_t get_group_size() const { return detail::attribute<int64_t>(*this, "group_size"); }
  void set_group_size(int64_t group_size) { detail::set_attribute(*this, "group_size", group_size); }
  float get_spatial_scale() const { return detail::attribute<float>(*this, "spatial_scale"); }
  void set_spatial_scale(float spatial_scale) { detail::set_attribute(*this, "spatial_scale", spatial_scale); }
  const std::string get_mode() const { return detail::attribute<std::string>(*this, "mode"); }
  void set_mode(const std::string& mode) { detail::set_attribute(*this, "mode", mode); }
  int64_t get_spatial_bins_x() const { return detail::attribute<int64_t>(*this, "spatial_bins_x"); }
  void set_spatial_bins_x(int64_t spatial_bins_x) { detail::set_attribute(*this, "spatial_bins_x", spatial_bins_x); }
  int64_t get_spatial_bins_y() const { return detail::attribute<int64_t>(*this, "spatial_bins_y"); }
  void set_spatial_bins_y(int64_t spatial_bins_y) { detail::set_attribute(*this, "spatial_bins_y", spatial_bins_y); }
  float get_trans_std() const { return detail::attribute<float>(*this, "trans_std"); }
  void set_trans_std(float trans_std) { detail::set_attribute(*this, "trans_std", trans_std); }
  int64_t get_part_size() const { return detail::attribute<int64_t>(*this, "part_size"); }
  void set_part_size(int64_t part_size) { detail::set_attribute(*this, "part_size", part_size); }

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

class ROIAlign : public util::ROIAlignBase {
  TERROIR_LAYER_OF(util::ROIAlignBase, ROIAlign, "ROIAlign", "opset3")
  enum class PoolingMode { AVG, MAX };
  friend detail::Names<2> spellings(PoolingMode) { return {"avg", "max"}; }
  ROIAlign(const Output<Node>& data, const Output<Node>& rois, const Output<Node>& batch_indices, int pooled_h,
           int pooled_w, int sampling_ratio, float spatial_scale, const std::string& mode)
      : ROIAlign(OutputVector{data, rois, batch_indices},
                 detail::roi_align(pooled_h, pooled_w, sampling_ratio, spatial_scale, mode)) {}
  ROIAlign(const Output<Node>& data, const Output<Node>& rois, const Output<Node>& batch_indices, int pooled_h,
           int pooled_w, int sampling_ratio, float spatial_scale, PoolingMode mode)
      : ROIAlign(data, rois, batch_indices, pooled_h, pooled_w, sampling_ratio, spatial_scale,
                 std::string(detail::spelling(mode))) {}
  PoolingMode get_mode() const { return detail::attribute<PoolingMode>(*this, "mode"); }
  void set_mode(PoolingMode mode) { detail::set_attribute(*this, "mode", mode); }
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

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("score_threshold", score_threshold);
      visit_one("nms_threshold", nms_threshold);
      visit_one("max_delta_log_wh", max_delta_log_wh);
      visit_one("num_classes", num_classes);
      visit_one("post_nms_count", post_nms_count);
      visit_one("max_detections_per_image", max_detections_per_image);
      visit_one("class_agnostic_box_regression", class_agnostic_box_regression);
      visit_one("deltas_weights", deltas_weights);
    }
  };
  ExperimentalDetectronDetectionOutput(const Output<Node>& rois, const Output<Node>& deltas, const Output<Node>& scores,
                                       const Output<Node>& im_info, const Attributes& attributes)
      : ExperimentalDetectronDetectionOutput(OutputVector{rois, deltas, scores, im_info}, detail::by_name(attributes)) {
  }
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

class ExperimentalDetectronGenerateProposalsSingleImage : public Node {
  TERROIR_LAYER(ExperimentalDetectronGenerateProposalsSingleImage, "ExperimentalDetectronGenerateProposalsSingleImage",
                "opset6")
  struct Attributes {
    float min_size = 0;
    float nms_threshold = 0;
    int64_t post_nms_count = 0;
    int64_t pre_nms_count = 0;

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("min_size", min_size);
      visit_one("nms_threshold", nms_threshold);
      visit_one("post_nms_count", post_nms_count);
      visit_one("pre_nms_count", pre_nms_count);
    }
  };
  ExperimentalDetectronGenerateProposalsSingleImage(const Output<Node>& im_info, const Output<Node>& anchors,
                                                    const Output<Node>& deltas, const Output<Node>& scores,
                                                    const Attributes& attributes)
      : ExperimentalDetectronGenerateProposalsSingleImage(OutputVector{im_info, anchors, deltas, scores},
                                                          detail::by_name(attributes)) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

class ExperimentalDetectronPriorGridGenerator : public Node {
  TERROIR_LAYER(ExperimentalDetectronPriorGridGenerator, "ExperimentalDetectronPriorGridGenerator", "opset6")
  struct Attributes {
    bool flatten = true;
    int64_t h = 0;
    int64_t w = 0;
    float stride_x = 0;
    float stride_y = 0;

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("flatten", flatten);
      visit_one("h", h);
      visit_one("w", w);
      visit_one("stride_x", stride_x);
      visit_one("stride_y", stride_y);
    }
  };
  ExperimentalDetectronPriorGridGenerator(const Output<Node>& priors, const Output<Node>& feature_map,
                                          const Output<Node>& image, const Attributes& attributes)
      : ExperimentalDetectronPriorGridGenerator(OutputVector{priors, feature_map, image}, detail::by_name(attributes)) {
  }
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

class ExperimentalDetectronROIFeatureExtractor : public Node {
  TERROIR_LAYER(ExperimentalDetectronROIFeatureExtractor, "ExperimentalDetectronROIFeatureExtractor", "opset6")
  struct Attributes {
    int64_t output_size = 0;
    int64_t sampling_ratio = 0;
    std::vector<int64_t> pyramid_scales;
    bool aligned = false;

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("output_size", output_size);
      visit_one("sampling_ratio", sampling_ratio);
      visit_one("pyramid_scales", pyramid_scales);
      visit_one("aligned", aligned);
    }
  };
  /// The regions, and the levels of the pyramid.
  ExperimentalDetectronROIFeatureExtractor(const OutputVector& inputs, const Attributes& attributes)
      : ExperimentalDetectronROIFeatureExtractor(inputs, detail::by_name(attributes)) {}
  ExperimentalDetectronROIFeatureExtractor(const NodeVector& inputs, const Attributes& attributes)
      : ExperimentalDetectronROIFeatureExtractor(OutputVector(inputs.begin(), inputs.end()), attributes) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

class ExperimentalDetectronTopKROIs : public Node {
  TERROIR_LAYER(ExperimentalDetectronTopKROIs, "ExperimentalDetectronTopKROIs", "opset6")
  ExperimentalDetectronTopKROIs(const Output<Node>& rois, const Output<Node>& probs, size_t max_rois = 0)
      : ExperimentalDetectronTopKROIs(OutputVector{rois, probs}, {{"max_rois", static_cast<int64_t>(max_rois)}}) {}
  size_t get_max_rois() const { return detail::attribute<size_t>(*this, "max_rois"); }
  void set_max_rois(size_t max_rois) { detail::set_attribute(*this, "max_rois", max_rois); }
};

}  // namespace v6

namespace v9 {

class ROIAlign : public util::ROIAlignBase {
  TERROIR_LAYER_OF(util::ROIAlignBase, ROIAlign, "ROIAlign", "opset9")
  enum class PoolingMode { AVG, MAX };
  friend detail::Names<2> spellings(PoolingMode) { return {"avg", "max"}; }
  enum class AlignedMode { ASYMMETRIC, HALF_PIXEL_FOR_NN, HALF_PIXEL };
  friend detail::Names<3> spellings(AlignedMode) { return {"asymmetric", "half_pixel_for_nn", "half_pixel"}; }
  ROIAlign(const Output<Node>& data, const Output<Node>& rois, const Output<Node>& batch_indices, int pooled_h,
           int pooled_w, int sampling_ratio, float spatial_scale, PoolingMode mode,
           AlignedMode aligned_mode = AlignedMode::ASYMMETRIC)
      : ROIAlign(
            OutputVector{data, rois, batch_indices},
            with_alignment(detail::roi_align(pooled_h, pooled_w, sampling_ratio, spatial_scale, detail::spelling(mode)),
                           aligned_mode)) {}
  PoolingMode get_mode() const { return detail::attribute<PoolingMode>(*this, "mode"); }
  void set_mode(PoolingMode mode) { detail::set_attribute(*this, "mode", mode); }
  AlignedMode get_aligned_mode() const { return detail::attribute<AlignedMode>(*this, "aligned_mode"); }
  void set_aligned_mode(AlignedMode aligned_mode) { detail::set_attribute(*this, "aligned_mode", aligned_mode); }

 private:
  static AnyMap with_alignment(AnyMap attributes, AlignedMode mode) {
    attributes.emplace("aligned_mode", detail::spelling(mode));
    return attributes;
  }
};

}  // namespace v9

namespace v15 {

class ROIAlignRotated : public util::ROIAlignBase {
  TERROIR_LAYER_OF(util::ROIAlignBase, ROIAlignRotated, "ROIAlignRotated", "opset15")
  ROIAlignRotated(const Output<Node>& data, const Output<Node>& rois, const Output<Node>& batch_indices, int pooled_h,
                  int pooled_w, int sampling_ratio, float spatial_scale, bool clockwise_mode)
      : ROIAlignRotated(
            OutputVector{data, rois, batch_indices},
            with_direction(detail::roi_align(pooled_h, pooled_w, sampling_ratio, spatial_scale), clockwise_mode)) {}
  bool get_clockwise_mode() const { return detail::attribute<bool>(*this, "clockwise_mode"); }
  void set_clockwise_mode(bool clockwise_mode) { detail::set_attribute(*this, "clockwise_mode", clockwise_mode); }

 private:
  static AnyMap with_direction(AnyMap attributes, bool clockwise_mode) {
    attributes.emplace("clockwise_mode", clockwise_mode);
    return attributes;
  }
};

}  // namespace v15
}  // namespace op
}  // namespace terroir
