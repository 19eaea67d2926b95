// Boxes: where they may be, and which of them are objects, as code makes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "terroir/element_type.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/layer.hpp"
#include "terroir/shape.hpp"

namespace terroir {
namespace op {

namespace util {

/// What DetectionOutput of opset1 and opset8 share.
struct DetectionOutputBase {
  struct AttributesBase {
    int background_label_id = 0;
    int top_k = -1;  ///< boxes that are looked at; -1: all
    bool variance_encoded_in_target = false;
    std::vector<int> keep_top_k;  ///< boxes of an image
    std::string code_type = "caffe.PriorBoxParameter.CORNER";
    bool share_location = true;
    float nms_threshold = 0;
    float confidence_threshold = 0;
    bool clip_after_nms = false;
    bool clip_before_nms = false;
    bool decrease_label_id = false;
    bool normalized = false;
    size_t input_height = 1;
    size_t input_width = 1;
    float objectness_score = 0;

    AnyMap by_name() const {
      return {{"background_label_id", background_label_id},
              {"top_k", top_k},
              {"variance_encoded_in_target", variance_encoded_in_target},
              {"keep_top_k", detail::integers(keep_top_k)},
              {"code_type", code_type},
              {"share_location", share_location},
              {"nms_threshold", nms_threshold},
              {"confidence_threshold", confidence_threshold},
              {"clip_after_nms", clip_after_nms},
              {"clip_before_nms", clip_before_nms},
              {"decrease_label_id", decrease_label_id},
              {"normalized", normalized},
              {"input_height", static_cast<int64_t>(input_height)},
              {"input_width", static_cast<int64_t>(input_width)},
              {"objectness_score", objectness_score}};
    }
  };
};

/// What PriorBox of opset1 and opset8 share.
struct PriorBoxAttributes {
  std::vector<float> min_size;
  std::vector<float> max_size;
  std::vector<float> aspect_ratio;
  std::vector<float> density;
  std::vector<float> fixed_ratio;
  std::vector<float> fixed_size;
  bool clip = false;
  bool flip = false;
  float step = 0;
  float offset = 0;
  std::vector<float> variance;
  bool scale_all_sizes = true;

  AnyMap by_name() const {
    return {{"min_size", detail::reals(min_size)},
            {"max_size", detail::reals(max_size)},
            {"aspect_ratio", detail::reals(aspect_ratio)},
            {"density", detail::reals(density)},
            {"fixed_ratio", detail::reals(fixed_ratio)},
            {"fixed_size", detail::reals(fixed_size)},
            {"clip", clip},
            {"flip", flip},
            {"step", step},
            {"offset", offset},
            {"variance", detail::reals(variance)},
            {"scale_all_sizes", scale_all_sizes}};
  }
};

/// What Proposal of opset1 and opset4 share.
struct ProposalBase {
  struct Attributes {
    size_t base_size = 0;
    size_t pre_nms_topn = 0;
    size_t post_nms_topn = 0;
    float nms_thresh = 0;
    size_t feat_stride = 1;
    size_t min_size = 1;
    std::vector<float> ratio;
    std::vector<float> scale;
    bool clip_before_nms = true;
    bool clip_after_nms = false;
    bool normalize = false;
    float box_size_scale = 1;
    float box_coordinate_scale = 1;
    std::string framework;
    bool infer_probs = false;  ///< told by the version of the operation

    AnyMap by_name() const {
      return {{"base_size", static_cast<int64_t>(base_size)},
              {"pre_nms_topn", static_cast<int64_t>(pre_nms_topn)},
              {"post_nms_topn", static_cast<int64_t>(post_nms_topn)},
              {"nms_thresh", nms_thresh},
              {"feat_stride", static_cast<int64_t>(feat_stride)},
              {"min_size", static_cast<int64_t>(min_size)},
              {"ratio", detail::reals(ratio)},
              {"scale", detail::reals(scale)},
              {"clip_before_nms", clip_before_nms},
              {"clip_after_nms", clip_after_nms},
              {"normalize", normalize},
              {"box_size_scale", box_size_scale},
              {"box_coordinate_scale", box_coordinate_scale},
              {"framework", framework}};
    }
  };
};

}  // namespace util

namespace v0 {

class DetectionOutput : public Node, public util::DetectionOutputBase {
  TERROIR_LAYER(DetectionOutput, "DetectionOutput", "opset1")
  struct Attributes : AttributesBase {
    int num_classes = 0;
  };
  DetectionOutput(const Output<Node>& box_logits, const Output<Node>& class_preds, const Output<Node>& proposals,
                  const Attributes& attributes)
      : DetectionOutput(OutputVector{box_logits, class_preds, proposals}, with_classes(attributes)) {}
  DetectionOutput(const Output<Node>& box_logits, const Output<Node>& class_preds, const Output<Node>& proposals,
                  const Output<Node>& aux_class_preds, const Output<Node>& aux_box_preds, const Attributes& attributes)
      : DetectionOutput(OutputVector{box_logits, class_preds, proposals, aux_class_preds, aux_box_preds},
                        with_classes(attributes)) {}

 private:
  static AnyMap with_classes(const Attributes& attributes) {
    AnyMap named = attributes.by_name();
    named.emplace("num_classes", attributes.num_classes);
    return named;
  }
};

class PriorBox : public Node {
  TERROIR_LAYER(PriorBox, "PriorBox", "opset1")
  using Attributes = util::PriorBoxAttributes;
  PriorBox(const Output<Node>& layer_shape, const Output<Node>& image_shape, const Attributes& attributes)
      : PriorBox(OutputVector{layer_shape, image_shape}, attributes.by_name()) {}
};

class PriorBoxClustered : public Node {
  TERROIR_LAYER(PriorBoxClustered, "PriorBoxClustered", "opset1")
  struct Attributes {
    std::vector<float> widths;
    std::vector<float> heights;
    bool clip = true;
    float step_widths = 0;
    float step_heights = 0;
    float step = 0;
    float offset = 0;
    std::vector<float> variances;
  };
  PriorBoxClustered(const Output<Node>& layer_shape, const Output<Node>& image_shape, const Attributes& attributes)
      : PriorBoxClustered(OutputVector{layer_shape, image_shape},
                          AnyMap{{"width", detail::reals(attributes.widths)},
                                 {"height", detail::reals(attributes.heights)},
                                 {"clip", attributes.clip},
                                 {"step_w", attributes.step_widths},
                                 {"step_h", attributes.step_heights},
                                 {"step", attributes.step},
                                 {"offset", attributes.offset},
                                 {"variance", detail::reals(attributes.variances)}}) {}
};

class Proposal : public Node, public util::ProposalBase {
  TERROIR_LAYER(Proposal, "Proposal", "opset1")
  Proposal(const Output<Node>& class_probs, const Output<Node>& bbox_deltas, const Output<Node>& image_shape,
           const Attributes& attributes)
      : Proposal(OutputVector{class_probs, bbox_deltas, image_shape}, attributes.by_name()) {}
};

class RegionYolo : public Node {
  TERROIR_LAYER(RegionYolo, "RegionYolo", "opset1")
  RegionYolo(const Output<Node>& data, size_t coords, size_t classes, size_t regions, bool do_softmax,
             const std::vector<int64_t>& mask, int axis, int end_axis, const std::vector<float>& anchors = {})
      : RegionYolo(OutputVector{data}, {{"coords", static_cast<int64_t>(coords)},
                                        {"classes", static_cast<int64_t>(classes)},
                                        {"num", static_cast<int64_t>(regions)},
                                        {"do_softmax", do_softmax},
                                        {"mask", mask},
                                        {"axis", axis},
                                        {"end_axis", end_axis},
                                        {"anchors", detail::reals(anchors)}}) {}
};

class ReorgYolo : public Node {
  TERROIR_LAYER(ReorgYolo, "ReorgYolo", "opset2")
  ReorgYolo(const Output<Node>& data, size_t stride)
      : ReorgYolo(OutputVector{data}, AnyMap{{"stride", static_cast<int64_t>(stride)}}) {}
  ReorgYolo(const Output<Node>& data, const Strides& strides) : ReorgYolo(data, strides.at(0)) {}
};

}  // namespace v0

namespace v4 {

class Proposal : public Node, public util::ProposalBase {
  TERROIR_LAYER(Proposal, "Proposal", "opset4")
  Proposal(const Output<Node>& class_probs, const Output<Node>& bbox_deltas, const Output<Node>& image_shape,
           const Attributes& attributes)
      : Proposal(OutputVector{class_probs, bbox_deltas, image_shape}, attributes.by_name()) {}
};

}  // namespace v4

namespace v8 {

class DetectionOutput : public Node, public util::DetectionOutputBase {
  TERROIR_LAYER(DetectionOutput, "DetectionOutput", "opset8")
  using Attributes = AttributesBase;
  DetectionOutput(const Output<Node>& box_logits, const Output<Node>& class_preds, const Output<Node>& proposals,
                  const Attributes& attributes)
      : DetectionOutput(OutputVector{box_logits, class_preds, proposals}, attributes.by_name()) {}
  DetectionOutput(const Output<Node>& box_logits, const Output<Node>& class_preds, const Output<Node>& proposals,
                  const Output<Node>& aux_class_preds, const Output<Node>& aux_box_preds, const Attributes& attributes)
      : DetectionOutput(OutputVector{box_logits, class_preds, proposals, aux_class_preds, aux_box_preds},
                        attributes.by_name()) {}
};

class PriorBox : public Node {
  TERROIR_LAYER(PriorBox, "PriorBox", "opset8")
  struct Attributes : util::PriorBoxAttributes {
    bool min_max_aspect_ratios_order = true;
  };
  PriorBox(const Output<Node>& layer_shape, const Output<Node>& image_shape, const Attributes& attributes)
      : PriorBox(OutputVector{layer_shape, image_shape}, with_order(attributes)) {}

 private:
  static AnyMap with_order(const Attributes& attributes) {
    AnyMap named = attributes.by_name();
    named.emplace("min_max_aspect_ratios_order", attributes.min_max_aspect_ratios_order);
    return named;
  }
};

}  // namespace v8

namespace v9 {

class GenerateProposals : public Node {
  TERROIR_LAYER(GenerateProposals, "GenerateProposals", "opset9")
  struct Attributes {
    float min_size = 0;
    float nms_threshold = 0;
    int64_t pre_nms_count = 0;
    int64_t post_nms_count = 0;
    bool normalized = true;
    float nms_eta = 1;
  };
  GenerateProposals(const Output<Node>& im_info, const Output<Node>& anchors, const Output<Node>& deltas,
                    const Output<Node>& scores, const Attributes& attributes,
                    const element::Type& roi_num_type = element::i64)
      : GenerateProposals(OutputVector{im_info, anchors, deltas, scores},
                          AnyMap{{"min_size", attributes.min_size},
                                 {"nms_threshold", attributes.nms_threshold},
                                 {"pre_nms_count", attributes.pre_nms_count},
                                 {"post_nms_count", attributes.post_nms_count},
                                 {"normalized", attributes.normalized},
                                 {"nms_eta", attributes.nms_eta},
                                 {"roi_num_type", roi_num_type}}) {}
};

}  // namespace v9
}  // namespace op
}  // namespace terroir
