// Boxes: where they may be, and which of them are objects, as code makes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "terroir/element_type.hpp"
#include "terroir/op/attribute_access.hpp"
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

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("background_label_id", background_label_id);
      visit_one("top_k", top_k);
      visit_one("variance_encoded_in_target", variance_encoded_in_target);
      visit_one("keep_top_k", keep_top_k);
      visit_one("code_type", code_type);
      visit_one("share_location", share_location);
      visit_one("nms_threshold", nms_threshold);
      visit_one("confidence_threshold", confidence_threshold);
      visit_one("clip_after_nms", clip_after_nms);
      visit_one("clip_before_nms", clip_before_nms);
      visit_one("decrease_label_id", decrease_label_id);
      visit_one("normalized", normalized);
      visit_one("input_height", input_height);
      visit_one("input_width", input_width);
      visit_one("objectness_score", objectness_score);
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

  template <typename Visit>
  void visit(const Visit& visit_one) {
    visit_one("min_size", min_size);
    visit_one("max_size", max_size);
    visit_one("aspect_ratio", aspect_ratio);
    visit_one("density", density);
    visit_one("fixed_ratio", fixed_ratio);
    visit_one("fixed_size", fixed_size);
    visit_one("clip", clip);
    visit_one("flip", flip);
    visit_one("step", step);
    visit_one("offset", offset);
    visit_one("variance", variance);
    visit_one("scale_all_sizes", scale_all_sizes);
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

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("base_size", base_size);
      visit_one("pre_nms_topn", pre_nms_topn);
      visit_one("post_nms_topn", post_nms_topn);
      visit_one("nms_thresh", nms_thresh);
      visit_one("feat_stride", feat_stride);
      visit_one("min_size", min_size);
      visit_one("ratio", ratio);
      visit_one("scale", scale);
      visit_one("clip_before_nms", clip_before_nms);
      visit_one("clip_after_nms", clip_after_nms);
      visit_one("normalize", normalize);
      visit_one("box_size_scale", box_size_scale);
      visit_one("box_coordinate_scale", box_coordinate_scale);
      visit_one("framework", framework);
    }
  };
};

}  // namespace util

namespace v0 {

class DetectionOutput : public Node, public util::DetectionOutputBase {
  TERROIR_LAYER(DetectionOutput, "DetectionOutput", "opset1")
  struct Attributes : AttributesBase {
    int num_classes = 0;

    template <typename Visit>
    void visit(const Visit& visit_one) {
      AttributesBase::visit(visit_one);
      visit_one("num_classes", num_classes);
    }
  };
  DetectionOutput(const Output<Node>& box_logits, const Output<Node>& class_preds, const Output<Node>& proposals,
                  const Attributes& attributes)
      : DetectionOutput(OutputVector{box_logits, class_preds, proposals}, detail::by_name(attributes)) {}
  DetectionOutput(const Output<Node>& box_logits, const Output<Node>& class_preds, const Output<Node>& proposals,
                  const Output<Node>& aux_class_preds, const Output<Node>& aux_box_preds, const Attributes& attributes)
      : DetectionOutput(OutputVector{box_logits, class_preds, proposals, aux_class_preds, aux_box_preds},
                        detail::by_name(attributes)) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

class PriorBox : public Node {
  TERROIR_LAYER(PriorBox, "PriorBox", "opset1")
  using Attributes = util::PriorBoxAttributes;
  PriorBox(const Output<Node>& layer_shape, const Output<Node>& image_shape, const Attributes& attributes)
      : PriorBox(OutputVector{layer_shape, image_shape}, detail::by_name(attributes)) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
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

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("width", widths);
      visit_one("height", heights);
      visit_one("clip", clip);
      visit_one("step_w", step_widths);
      visit_one("step_h", step_heights);
      visit_one("step", step);
      visit_one("offset", offset);
      visit_one("variance", variances);
    }
  };
  PriorBoxClustered(const Output<Node>& layer_shape, const Output<Node>& image_shape, const Attributes& attributes)
      : PriorBoxClustered(OutputVector{layer_shape, image_shape}, detail::by_name(attributes)) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

class Proposal : public Node, public util::ProposalBase {
  TERROIR_LAYER(Proposal, "Proposal", "opset1")
  Proposal(const Output<Node>& class_probs, const Output<Node>& bbox_deltas, const Output<Node>& image_shape,
           const Attributes& attributes)
      : Proposal(OutputVector{class_probs, bbox_deltas, image_shape}, detail::by_name(attributes)) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
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
  size_t get_num_coords() const { return detail::attribute<size_t>(*this, "coords"); }
  size_t get_num_classes() const { return detail::attribute<size_t>(*this, "classes"); }
  size_t get_num_regions() const { return detail::attribute<size_t>(*this, "num"); }
  bool get_do_softmax() const { return detail::attribute<bool>(*this, "do_softmax"); }
  const std::vector<int64_t> get_mask() const { return detail::attribute<std::vector<int64_t>>(*this, "mask"); }
  const std::vector<float> get_anchors() const { return detail::attribute<std::vector<float>>(*this, "anchors"); }
  int get_axis() const { return detail::attribute<int>(*this, "axis"); }
  int get_end_axis() const { return detail::attribute<int>(*this, "end_axis"); }
};

class ReorgYolo : public Node {
  TERROIR_LAYER(ReorgYolo, "ReorgYolo", "opset2")
  ReorgYolo(const Output<Node>& data, size_t stride)
      : ReorgYolo(OutputVector{data}, AnyMap{{"stride", static_cast<int64_t>(stride)}}) {}
  ReorgYolo(const Output<Node>& data, const Strides& strides) : ReorgYolo(data, strides.at(0)) {}
  const Strides get_strides() const { return Strides(2, detail::attribute<size_t>(*this, "stride")); }
};

}  // namespace v0

namespace v4 {

class Proposal : public Node, public util::ProposalBase {
  TERROIR_LAYER(Proposal, "Proposal", "opset4")
  Proposal(const Output<Node>& class_probs, const Output<Node>& bbox_deltas, const Output<Node>& image_shape,
           const Attributes& attributes)
      : Proposal(OutputVector{class_probs, bbox_deltas, image_shape}, detail::by_name(attributes)) {}
  const Attributes get_attrs() const {
    Attributes attributes = detail::attributes_of<Attributes>(*this);
    attributes.infer_probs = true;
    return attributes;
  }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

}  // namespace v4

namespace v8 {

class DetectionOutput : public Node, public util::DetectionOutputBase {
  TERROIR_LAYER(DetectionOutput, "DetectionOutput", "opset8")
  using Attributes = AttributesBase;
  DetectionOutput(const Output<Node>& box_logits, const Output<Node>& class_preds, const Output<Node>& proposals,
                  const Attributes& attributes)
      : DetectionOutput(OutputVector{box_logits, class_preds, proposals}, detail::by_name(attributes)) {}
  DetectionOutput(const Output<Node>& box_logits, const Output<Node>& class_preds, const Output<Node>& proposals,
                  const Output<Node>& aux_class_preds, const Output<Node>& aux_box_preds, const Attributes& attributes)
      : DetectionOutput(OutputVector{box_logits, class_preds, proposals, aux_class_preds, aux_box_preds},
                        detail::by_name(attributes)) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

class PriorBox : public Node {
  TERROIR_LAYER(PriorBox, "PriorBox", "opset8")
  struct Attributes : util::PriorBoxAttributes {
    bool min_max_aspect_ratios_order = true;

    template <typename Visit>
    void visit(const Visit& visit_one) {
      PriorBoxAttributes::visit(visit_one);
      visit_one("min_max_aspect_ratios_order", min_max_aspect_ratios_order);
    }
  };
  PriorBox(const Output<Node>& layer_shape, const Output<Node>& image_shape, const Attributes& attributes)
      : PriorBox(OutputVector{layer_shape, image_shape}, detail::by_name(attributes)) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
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

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("min_size", min_size);
      visit_one("nms_threshold", nms_threshold);
      visit_one("pre_nms_count", pre_nms_count);
      visit_one("post_nms_count", post_nms_count);
      visit_one("normalized", normalized);
      visit_one("nms_eta", nms_eta);
    }
  };
  GenerateProposals(const Output<Node>& im_info, const Output<Node>& anchors, const Output<Node>& deltas,
                    const Output<Node>& scores, const Attributes& attributes,
                    const element::Type& roi_num_type = element::i64)
      : GenerateProposals(OutputVector{im_info, anchors, deltas, scores},
                          detail::by_name(attributes, {{"roi_num_type", roi_num_type}})) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
  const element::Type get_roi_num_type() const { return detail::attribute<element::Type>(*this, "roi_num_type"); }
  void set_roi_num_type(const element::Type& roi_num_type) {
    detail::set_attribute(*this, "roi_num_type", roi_num_type);
  }
};

}  // namespace v9
}  // namespace op
}  // namespace terroir
