// Choosing among overlapping boxes, as code makes it.
#pragma once

#include "terroir/element_type.hpp"
#include "terroir/op/attribute_access.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace op {

namespace util {

/// NonMaxSuppression from opset3 on. Thresholds that are left out are 0.
template <typename Version>
class NonMaxSuppressionBase : public Node {
 public:
  enum class BoxEncodingType { CORNER, CENTER };
  friend detail::Names<2> spellings(BoxEncodingType) { return {"corner", "center"}; }
  NonMaxSuppressionBase()
      : Node(detail::make_open_layer("NonMaxSuppression", Version::get_type_info_static().version_id, {})) {}
  explicit NonMaxSuppressionBase(const detail::NodeHandle& handle) : Node(handle) {}
  explicit NonMaxSuppressionBase(const OutputVector& inputs, const AnyMap& attributes = {})
      : Node(detail::make_layer("NonMaxSuppression", Version::get_type_info_static().version_id, inputs, attributes)) {}
  NonMaxSuppressionBase(const Output<Node>& boxes, const Output<Node>& scores,
                        BoxEncodingType box_encoding = BoxEncodingType::CORNER, bool sort_result_descending = true,
                        const element::Type& output_type = element::i64)
      : NonMaxSuppressionBase(OutputVector{boxes, scores}, by_name(box_encoding, sort_result_descending, output_type)) {
  }
  NonMaxSuppressionBase(const Output<Node>& boxes, const Output<Node>& scores,
                        const Output<Node>& max_output_boxes_per_class,
                        BoxEncodingType box_encoding = BoxEncodingType::CORNER, bool sort_result_descending = true,
                        const element::Type& output_type = element::i64)
      : NonMaxSuppressionBase(OutputVector{boxes, scores, max_output_boxes_per_class},
                              by_name(box_encoding, sort_result_descending, output_type)) {}
  NonMaxSuppressionBase(const Output<Node>& boxes, const Output<Node>& scores,
                        const Output<Node>& max_output_boxes_per_class, const Output<Node>& iou_threshold,
                        BoxEncodingType box_encoding = BoxEncodingType::CORNER, bool sort_result_descending = true,
                        const element::Type& output_type = element::i64)
      : NonMaxSuppressionBase(OutputVector{boxes, scores, max_output_boxes_per_class, iou_threshold},
                              by_name(box_encoding, sort_result_descending, output_type)) {}
  NonMaxSuppressionBase(const Output<Node>& boxes, const Output<Node>& scores,
                        const Output<Node>& max_output_boxes_per_class, const Output<Node>& iou_threshold,
                        const Output<Node>& score_threshold, BoxEncodingType box_encoding = BoxEncodingType::CORNER,
                        bool sort_result_descending = true, const element::Type& output_type = element::i64)
      : NonMaxSuppressionBase(OutputVector{boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold},
                              by_name(box_encoding, sort_result_descending, output_type)) {}
  /// From opset5 on.
  NonMaxSuppressionBase(const Output<Node>& boxes, const Output<Node>& scores,
                        const Output<Node>& max_output_boxes_per_class, const Output<Node>& iou_threshold,
                        const Output<Node>& score_threshold, const Output<Node>& soft_nms_sigma,
                        BoxEncodingType box_encoding = BoxEncodingType::CORNER, bool sort_result_descending = true,
                        const element::Type& output_type = element::i64)
      : NonMaxSuppressionBase(
            OutputVector{boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold, soft_nms_sigma},
            by_name(box_encoding, sort_result_descending, output_type)) {}
  BoxEncodingType get_box_encoding() const { return detail::attribute<BoxEncodingType>(*this, "box_encoding"); }
  void set_box_encoding(BoxEncodingType box_encoding) { detail::set_attribute(*this, "box_encoding", box_encoding); }
  bool get_sort_result_descending() const { return detail::attribute<bool>(*this, "sort_result_descending"); }
  void set_sort_result_descending(bool sort_result_descending) {
    detail::set_attribute(*this, "sort_result_descending", sort_result_descending);
  }
  const element::Type get_output_type() const { return detail::attribute<element::Type>(*this, "output_type"); }
  void set_output_type(const element::Type& output_type) { detail::set_attribute(*this, "output_type", output_type); }

 private:
  static AnyMap by_name(BoxEncodingType box_encoding, bool sort_result_descending, const element::Type& output_type) {
    return {{"box_encoding", detail::spelling(box_encoding)},
            {"sort_result_descending", sort_result_descending},
            {"output_type", output_type}};
  }
};

/// What MatrixNms and MulticlassNms share.
struct NmsBase {
  enum class SortResultType { CLASSID, SCORE, NONE };
  friend detail::Names<3> spellings(SortResultType) { return {"classid", "score", "none"}; }
};

struct MulticlassNmsBase : NmsBase {
  struct Attributes {
    SortResultType sort_result_type = SortResultType::NONE;
    bool sort_result_across_batch = false;
    element::Type output_type = element::i64;
    float iou_threshold = 0;
    float score_threshold = 0;
    int nms_top_k = -1;         ///< boxes of a class; -1: all
    int keep_top_k = -1;        ///< boxes of an image; -1: all
    int background_class = -1;  ///< the class that is left out
    float nms_eta = 1;
    bool normalized = true;

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("sort_result_type", sort_result_type);
      visit_one("sort_result_across_batch", sort_result_across_batch);
      visit_one("output_type", output_type);
      visit_one("iou_threshold", iou_threshold);
      visit_one("score_threshold", score_threshold);
      visit_one("nms_top_k", nms_top_k);
      visit_one("keep_top_k", keep_top_k);
      visit_one("background_class", background_class);
      visit_one("nms_eta", nms_eta);
      visit_one("normalized", normalized);
    }
  };
};

}  // namespace util

namespace v1 {

class NonMaxSuppression : public Node {
  TERROIR_LAYER(NonMaxSuppression, "NonMaxSuppression", "opset1")
  enum class BoxEncodingType { CORNER, CENTER };
  friend detail::Names<2> spellings(BoxEncodingType) { return {"corner", "center"}; }
  NonMaxSuppression(const Output<Node>& boxes, const Output<Node>& scores,
                    const Output<Node>& max_output_boxes_per_class, const Output<Node>& iou_threshold,
                    const Output<Node>& score_threshold, BoxEncodingType box_encoding = BoxEncodingType::CORNER,
                    bool sort_result_descending = true)
      : NonMaxSuppression(OutputVector{boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold},
                          by_name(box_encoding, sort_result_descending)) {}
  NonMaxSuppression(const Output<Node>& boxes, const Output<Node>& scores,
                    BoxEncodingType box_encoding = BoxEncodingType::CORNER, bool sort_result_descending = true)
      : NonMaxSuppression(OutputVector{boxes, scores}, by_name(box_encoding, sort_result_descending)) {}
  BoxEncodingType get_box_encoding() const { return detail::attribute<BoxEncodingType>(*this, "box_encoding"); }
  void set_box_encoding(BoxEncodingType box_encoding) { detail::set_attribute(*this, "box_encoding", box_encoding); }
  bool get_sort_result_descending() const { return detail::attribute<bool>(*this, "sort_result_descending"); }
  void set_sort_result_descending(bool sort_result_descending) {
    detail::set_attribute(*this, "sort_result_descending", sort_result_descending);
  }

 private:
  static AnyMap by_name(BoxEncodingType box_encoding, bool sort_result_descending) {
    return {{"box_encoding", detail::spelling(box_encoding)}, {"sort_result_descending", sort_result_descending}};
  }
};

}  // namespace v1

#define TERROIR_NON_MAX_SUPPRESSION(space, opset)                                   \
  namespace space {                                                                 \
  class NonMaxSuppression : public util::NonMaxSuppressionBase<NonMaxSuppression> { \
    TERROIR_TYPE_INFO(Node, NonMaxSuppression, opset)                               \
    using NonMaxSuppressionBase::NonMaxSuppressionBase;                             \
  };                                                                                \
  }
TERROIR_NON_MAX_SUPPRESSION(v3, "opset3")
TERROIR_NON_MAX_SUPPRESSION(v4, "opset4")
TERROIR_NON_MAX_SUPPRESSION(v5, "opset5")
TERROIR_NON_MAX_SUPPRESSION(v9, "opset9")
#undef TERROIR_NON_MAX_SUPPRESSION

namespace v8 {

class MatrixNms : public Node, public util::NmsBase {
  TERROIR_LAYER(MatrixNms, "MatrixNms", "opset8")
  enum class DecayFunction { GAUSSIAN, LINEAR };
  friend detail::Names<2> spellings(DecayFunction) { return {"gaussian", "linear"}; }
  struct Attributes {
    SortResultType sort_result_type = SortResultType::NONE;
    bool sort_result_across_batch = false;
    element::Type output_type = element::i64;
    float score_threshold = 0;
    int nms_top_k = -1;         ///< boxes of a class; -1: all
    int keep_top_k = -1;        ///< boxes of an image; -1: all
    int background_class = -1;  ///< the class that is left out
    DecayFunction decay_function = DecayFunction::LINEAR;
    float gaussian_sigma = 2;
    float post_threshold = 0;
    bool normalized = true;

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("sort_result_type", sort_result_type);
      visit_one("sort_result_across_batch", sort_result_across_batch);
      visit_one("output_type", output_type);
      visit_one("score_threshold", score_threshold);
      visit_one("nms_top_k", nms_top_k);
      visit_one("keep_top_k", keep_top_k);
      visit_one("background_class", background_class);
      visit_one("decay_function", decay_function);
      visit_one("gaussian_sigma", gaussian_sigma);
      visit_one("post_threshold", post_threshold);
      visit_one("normalized", normalized);
    }
  };
  MatrixNms(const Output<Node>& boxes, const Output<Node>& scores, const Attributes& attributes)
      : MatrixNms(OutputVector{boxes, scores}, detail::by_name(attributes)) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

class MulticlassNms : public Node, public util::MulticlassNmsBase {
  TERROIR_LAYER(MulticlassNms, "MulticlassNms", "opset8")
  MulticlassNms(const Output<Node>& boxes, const Output<Node>& scores, const Attributes& attributes)
      : MulticlassNms(OutputVector{boxes, scores}, detail::by_name(attributes)) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

}  // namespace v8

namespace v9 {

class MulticlassNms : public Node, public util::MulticlassNmsBase {
  TERROIR_LAYER(MulticlassNms, "MulticlassNms", "opset9")
  MulticlassNms(const Output<Node>& boxes, const Output<Node>& scores, const Attributes& attributes)
      : MulticlassNms(OutputVector{boxes, scores}, detail::by_name(attributes)) {}
  MulticlassNms(const Output<Node>& boxes, const Output<Node>& scores, const Output<Node>& roisnum,
                const Attributes& attributes)
      : MulticlassNms(OutputVector{boxes, scores, roisnum}, detail::by_name(attributes)) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

}  // namespace v9

namespace v13 {

class NMSRotated : public Node {
  TERROIR_LAYER(NMSRotated, "NMSRotated", "opset13")
  NMSRotated(const Output<Node>& boxes, const Output<Node>& scores, const Output<Node>& max_output_boxes_per_class,
             const Output<Node>& iou_threshold, const Output<Node>& score_threshold, bool sort_result_descending = true,
             const element::Type& output_type = element::i64, bool clockwise = true)
      : NMSRotated(OutputVector{boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold},
                   {{"sort_result_descending", sort_result_descending},
                    {"output_type", output_type},
                    {"clockwise", clockwise}}) {}
  bool get_sort_result_descending() const { return detail::attribute<bool>(*this, "sort_result_descending"); }
  void set_sort_result_descending(bool sort_result_descending) {
    detail::set_attribute(*this, "sort_result_descending", sort_result_descending);
  }
  const element::Type get_output_type_attr() const { return detail::attribute<element::Type>(*this, "output_type"); }
  void set_output_type_attr(const element::Type& output_type) {
    detail::set_attribute(*this, "output_type", output_type);
  }
  bool get_clockwise() const { return detail::attribute<bool>(*this, "clockwise"); }
  void set_clockwise(bool clockwise) { detail::set_attribute(*this, "clockwise", clockwise); }
};

}  // namespace v13
}  // namespace op
}  // namespace terroir
