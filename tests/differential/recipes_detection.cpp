// Boxes: suppression, proposals, prior boxes, pooling of regions.
#include <algorithm>

#include "tests/differential/recipes.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

using ir::Value;

const Types kBoxTypes = {element::f32, element::f32, element::f32, element::f16};

Value placed_reals(Draw& d, element::Type type, const ir::Dims& dims, const std::vector<double>& values) {
  HostTensor host(type, dims);
  for (size_t i = 0; i < values.size(); ++i) set_number(host.writable(), static_cast<int64_t>(i), values[i]);
  return d.place(std::move(host), 85);
}

std::vector<double> corners(Draw& d, double width, double height) {
  const double x = d.real(0, width * 0.75), y = d.real(0, height * 0.75);
  return {x, y, x + d.real(0.0625, 0.5) * width, y + d.real(0.0625, 0.5) * height};
}

/// Boxes inside of an image, [outer..., count, 4] as x0, y0, x1, y1.
Value boxes(Draw& d, element::Type type, ir::Dims dims, double width, double height) {
  std::vector<double> values;
  for (int64_t i = ir::element_count(dims) / 4; i > 0; --i)
    for (const double edge : corners(d, width, height)) values.push_back(edge);
  return placed_reals(d, type, dims, values);
}

/// Rows of a batch index and a box.
Value regions(Draw& d, element::Type type, int64_t count, int64_t batch, double width, double height) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>(d.below(batch)));
    for (const double edge : corners(d, width, height)) values.push_back(edge);
  }
  return placed_reals(d, type, {count, 5}, values);
}

Value scores(Draw& d, element::Type type, const ir::Dims& dims) {
  // Equal scores would leave the order of their boxes open.
  return d.fresh(type, dims, Fill::in(0, 1, type == element::f32 ? Fill::Order::distinct : Fill::Order::any));
}

void non_max_suppression(Draw& d) {
  const int64_t batches = d.between(1, 2), count = d.between(1, 20), classes = d.between(1, 4);
  const element::Type type = element::f32;
  const bool rotated = d.schema().type == "NMSRotated";
  Value boxes_in = boxes(d, type, {batches, count, 4}, 10, 10);
  if (rotated) {
    std::vector<double> values;
    for (int64_t i = 0; i < batches * count; ++i)
      for (const double part : {d.real(0, 9), d.real(0, 9), d.real(1, 5), d.real(1, 5), d.real(-3, 3)})
        values.push_back(part);
    boxes_in = placed_reals(d, type, {batches, count, 5}, values);
  }
  std::vector<Value> inputs = {boxes_in, scores(d, type, {batches, classes, count}), d.number(d.between(0, 9)),
                               d.reals({d.real(0.2, 0.8)}, type, true), d.reals({d.real(0, 0.5)}, type, true)};
  const bool soft = d.schema().opset == "opset5" || d.schema().opset == "opset9";
  if (soft && d.chance(40)) inputs.push_back(d.reals({d.chance(50) ? 0.0 : 0.5}, type, true));
  d.op(inputs);
}

void class_nms(Draw& d) {
  const int64_t batches = d.between(1, 2), count = d.between(1, 12), classes = d.between(1, 4);
  const element::Type type = element::f32;
  AttributeTexts attributes = {{"nms_top_k", d.one_of({"-1", "3"})},
                               {"keep_top_k", d.one_of({"-1", "4"})},
                               {"background_class", d.one_of({"-1", "0"})},
                               {"score_threshold", "0.125"}};
  const bool matrix = d.schema().type == "MatrixNms";
  if (matrix) {
    attributes.emplace_back("post_threshold", d.one_of({"0", "0.25"}));
    attributes.emplace_back("gaussian_sigma", "1.5");
  } else {
    attributes.emplace_back("iou_threshold", "0.375");
    attributes.emplace_back("nms_eta", d.one_of({"1", "0.75"}));
  }
  if (d.schema().opset == "opset9" && d.chance(50)) {
    // Boxes per class; `rois_num` says how they spread over the batch.
    const int64_t first = d.between(0, count);
    d.op({boxes(d, type, {classes, count, 4}, 10, 10), scores(d, type, {classes, count}),
          d.numbers({first, count - first})},
         attributes);
    return;
  }
  d.op({boxes(d, type, {batches, count, 4}, 10, 10), scores(d, type, {batches, classes, count})}, attributes);
}

void detection_output(Draw& d) {
  const int64_t images = d.between(1, 2), priors = d.between(1, 12), classes = d.between(2, 4);
  const bool shared = d.chance(60), in_target = d.chance(50), normalized = d.chance(70), five = d.chance(30);
  const int64_t locations = shared ? 1 : classes, size = normalized ? 4 : 5;
  const element::Type type = element::f32;
  std::vector<double> values;
  for (int64_t i = 0; i < priors; ++i) {
    if (!normalized) values.push_back(0);
    for (const double edge : corners(d, normalized ? 1 : 20, normalized ? 1 : 20)) values.push_back(edge);
  }
  if (!in_target)
    for (int64_t i = 0; i < priors * size; ++i) values.push_back(d.real(0.0625, 0.25));
  std::vector<Value> inputs = {d.fresh(type, {images, priors * locations * 4}, Fill::in(-0.5, 0.5)),
                               scores(d, type, {images, priors * classes}),
                               placed_reals(d, type, {1, in_target ? 1 : 2, priors * size}, values)};
  if (five) {
    inputs.push_back(scores(d, type, {images, priors * 2}));
    inputs.push_back(d.fresh(type, {images, priors * locations * 4}, Fill::in(-0.5, 0.5)));
  }
  AttributeTexts attributes = {
      {"share_location", shared ? "true" : "false"},
      {"variance_encoded_in_target", in_target ? "true" : "false"},
      {"normalized", normalized ? "true" : "false"},
      {"code_type", d.one_of({"caffe.PriorBoxParameter.CORNER", "caffe.PriorBoxParameter.CENTER_SIZE"})},
      {"keep_top_k", d.one_of({"3", "-1", "10"})},
      {"top_k", d.one_of({"-1", "5"})},
      {"nms_threshold", "0.375"},
      {"confidence_threshold", "0.125"},
      {"background_label_id", d.one_of({"0", "-1"})},
      {"input_height", normalized ? "1" : "20"},
      {"input_width", normalized ? "1" : "20"},
      {"objectness_score", "0.25"}};
  if (d.schema().opset == "opset1") attributes.emplace_back("num_classes", std::to_string(classes));
  d.op(inputs, attributes);
}

AttributeTexts prior_sizes(Draw& d) {
  AttributeTexts attributes = {{"min_size", d.one_of({"4", "4,6"})},
                               {"max_size", d.one_of({"", "9", "9,12"})},
                               {"aspect_ratio", d.one_of({"", "2", "2,3"})},
                               {"offset", d.one_of({"0", "0.5"})},
                               {"step", d.one_of({"0", "8"})},
                               {"variance", d.one_of({"", "0.5", "0.1,0.2,0.3,0.4"})},
                               {"scale_all_sizes", "true"}};
  if (d.chance(25)) {
    const std::string sizes = d.one_of({"4", "4,8"});
    attributes = {{"fixed_size", sizes}, {"density", sizes == "4" ? "2" : "2,1"}, {"offset", "0.5"}};
    if (d.chance(50)) attributes.emplace_back("fixed_ratio", "1,4");
  }
  return attributes;
}

void prior_box(Draw& d) {
  const int64_t height = d.between(1, 6), width = d.between(1, 6);
  d.op({d.numbers({height, width}, {}, 50), d.numbers({height * 8, width * 8}, {}, 50)}, prior_sizes(d));
}

void prior_box_clustered(Draw& d) {
  const int64_t height = d.between(1, 6), width = d.between(1, 6);
  d.op({d.numbers({height, width}, {}, 50), d.numbers({height * 8, width * 8}, {}, 50)},
       {{"width", "4,9"},
        {"height", "5,7"},
        {"offset", "0.5"},
        {"step", d.one_of({"0", "8"})},
        {"variance", "0.1,0.2,0.3,0.4"}});
}

void proposal(Draw& d) {
  const int64_t images = d.between(1, 2), height = d.between(1, 6), width = d.between(1, 6), anchors = 4;
  const element::Type type = element::f32;
  std::vector<double> image = {48, 48, 1};
  if (d.chance(40)) image.push_back(1);
  d.op({scores(d, type, {images, 2 * anchors, height, width}),
        d.fresh(type, {images, 4 * anchors, height, width}, Fill::in(-0.25, 0.25)), d.reals(image, type)},
       {{"base_size", "8"},
        {"pre_nms_topn", "20"},
        {"post_nms_topn", d.one_of({"5", "12"})},
        {"nms_thresh", "0.5"},
        {"feat_stride", "8"},
        {"min_size", "2"},
        {"ratio", "0.5,2"},
        {"scale", "1,2"},
        {"framework", d.one_of({"", "tensorflow"})}});
}

void detectron_output(Draw& d) {
  const int64_t count = d.between(1, 9), classes = d.between(2, 4);
  const element::Type type = element::f32;
  d.op({boxes(d, type, {count, 4}, 40, 40), d.fresh(type, {count, classes * 4}, Fill::in(-0.5, 0.5)),
        scores(d, type, {count, classes}), placed_reals(d, type, {1, 3}, {50, 50, 1})},
       {{"score_threshold", "0.125"},
        {"nms_threshold", "0.5"},
        {"max_delta_log_wh", "2"},
        {"num_classes", std::to_string(classes)},
        {"post_nms_count", "8"},
        {"max_detections_per_image", "5"},
        {"deltas_weights", "10,10,5,5"}});
}

void detectron_proposals(Draw& d) {
  const int64_t height = d.between(1, 5), width = d.between(1, 5), anchors = d.between(1, 3);
  const element::Type type = element::f32;
  d.op({placed_reals(d, type, {3}, {40, 40, 1}), boxes(d, type, {height * width * anchors, 4}, 40, 40),
        d.fresh(type, {4 * anchors, height, width}, Fill::in(-0.25, 0.25)), scores(d, type, {anchors, height, width})},
       {{"min_size", "1"}, {"nms_threshold", "0.5"}, {"post_nms_count", "6"}, {"pre_nms_count", "20"}});
}

void generate_proposals(Draw& d) {
  const int64_t images = d.between(1, 2), height = d.between(1, 5), width = d.between(1, 5), anchors = d.between(1, 3);
  const element::Type type = element::f32;
  std::vector<double> sizes;
  for (int64_t i = 0; i < images; ++i) sizes.insert(sizes.end(), {40, 40, 1});
  d.op({placed_reals(d, type, {images, 3}, sizes), boxes(d, type, {height, width, anchors, 4}, 40, 40),
        d.fresh(type, {images, 4 * anchors, height, width}, Fill::in(-0.25, 0.25)),
        scores(d, type, {images, anchors, height, width})},
       {{"min_size", "1"},
        {"nms_threshold", "0.5"},
        {"post_nms_count", "6"},
        {"pre_nms_count", "20"},
        {"nms_eta", d.one_of({"1", "0.75"})}});
}

void prior_grid(Draw& d) {
  const element::Type type = d.one_of(kBoxTypes);
  d.op({boxes(d, type, {d.between(1, 3), 4}, 9, 9), d.fresh(type, {1, 1, d.between(1, 5), d.between(1, 5)}),
        d.fresh(type, {1, 1, 40, 40})},
       {{"stride_x", d.one_of({"0", "8"})}, {"stride_y", d.one_of({"0", "4"})}});
}

void roi_feature(Draw& d) {
  const element::Type type = element::f32;
  const int64_t channels = d.between(1, 17);
  d.op({boxes(d, type, {d.between(1, 5), 4}, 300, 300), d.fresh(type, {1, channels, 12, 12}),
        d.fresh(type, {1, channels, 6, 6})},
       {{"output_size", std::to_string(d.between(1, 5))},
        {"sampling_ratio", d.one_of({"0", "2"})},
        {"pyramid_scales", "32,64"}});
}

void topk_rois(Draw& d) {
  const int64_t count = d.between(1, 12);
  const element::Type type = element::f32;
  d.op({boxes(d, type, {count, 4}, 9, 9), scores(d, type, {count})}, {{"max_rois", std::to_string(d.between(1, 15))}});
}

void roi_align(Draw& d) {
  const bool rotated = d.schema().type == "ROIAlignRotated";
  const int64_t batch = d.between(1, 2), count = d.between(1, 6), channels = d.extent(17);
  const element::Type type = d.one_of(Types{element::f32, element::f32, element::f16, element::f64});
  const Value x = d.like(type, {batch, channels, 9, 11});
  Value rois = boxes(d, type, {count, 4}, 20, 16);
  if (rotated) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i)
      for (const double part : {d.real(4, 16), d.real(4, 14), d.real(1, 9), d.real(1, 9), d.real(-3, 3)})
        values.push_back(part);
    rois = placed_reals(d, type, {count, 5}, values);
  }
  AttributeTexts attributes = {{"pooled_h", std::to_string(d.between(1, 4))},
                               {"pooled_w", std::to_string(d.between(1, 4))},
                               {"sampling_ratio", d.one_of({"0", "1", "2", "3"})},
                               {"spatial_scale", "0.5"}};
  d.op({x, rois, d.fresh(d.one_of(kIndex), {count}, Fill::in(0, static_cast<double>(batch - 1)))}, attributes);
}

void roi_pooling(Draw& d) {
  const int64_t batch = d.between(1, 2);
  const element::Type type = d.one_of(kBoxTypes);
  const Value x = d.like(type, {batch, d.extent(17), 9, 11});
  const std::string method = d.one_of({"max", "bilinear"});
  const double side = method == "max" ? 16 : 1;
  d.op({x, regions(d, type, d.between(1, 5), batch, side, side)}, {{"method", method},
                                                                   {"pooled_h", std::to_string(d.between(1, 4))},
                                                                   {"pooled_w", std::to_string(d.between(1, 4))},
                                                                   {"spatial_scale", method == "max" ? "0.5" : "1"}});
}

void psroi_pooling(Draw& d) {
  const int64_t batch = d.between(1, 2), group = d.between(1, 3), outputs = d.between(1, 5);
  const bool average = d.chance(50);
  const int64_t bins_x = average ? 1 : d.between(1, 2), bins_y = average ? 1 : d.between(1, 2);
  const int64_t channels = outputs * (average ? group * group : bins_x * bins_y);
  const element::Type type = d.one_of(kBoxTypes);
  d.op({d.like(type, {batch, channels, 9, 11}),
        regions(d, type, d.between(1, 5), batch, average ? 16 : 1, average ? 16 : 1)},
       {{"mode", average ? "average" : "bilinear"},
        {"output_dim", std::to_string(outputs)},
        {"group_size", std::to_string(group)},
        {"spatial_scale", average ? "0.5" : "1"},
        {"spatial_bins_x", std::to_string(bins_x)},
        {"spatial_bins_y", std::to_string(bins_y)}});
}

void deformable_psroi(Draw& d) {
  const int64_t batch = d.between(1, 2), group = d.between(1, 3), outputs = d.between(1, 4), count = d.between(1, 5);
  const element::Type type = element::f32;
  std::vector<Value> inputs = {d.like(type, {batch, outputs * group * group, 9, 11}),
                               regions(d, type, count, batch, 16, 16)};
  if (d.chance(60)) inputs.push_back(d.fresh(type, {count, 2, group, group}, Fill::in(-1, 1)));
  d.op(inputs, {{"output_dim", std::to_string(outputs)},
                {"group_size", std::to_string(group)},
                {"spatial_scale", "0.5"},
                {"spatial_bins_x", std::to_string(d.between(1, 3))},
                {"spatial_bins_y", std::to_string(d.between(1, 3))},
                {"trans_std", "0.1"},
                {"part_size", std::to_string(group)}});
}

void region_yolo(Draw& d) {
  const int64_t classes = d.between(1, 5), regions = d.between(1, 3);
  const bool softmax = d.chance(50);
  const Value x = d.like(d.one_of(kReal), {d.between(1, 2), regions * (classes + 5), d.between(1, 7), d.between(1, 7)});
  std::vector<int64_t> mask;
  for (int64_t i = 0; i < regions; ++i) mask.push_back(i);
  d.op({x}, {{"axis", "1"},
             {"coords", "4"},
             {"classes", std::to_string(classes)},
             {"end_axis", "3"},
             {"num", std::to_string(regions)},
             {"do_softmax", softmax ? "true" : "false"},
             {"mask", list(mask)}});
}

void reorg_yolo(Draw& d) {
  const int64_t stride = d.between(1, 2);
  const Value x = d.like(d.one_of(kNumber), {d.between(1, 2), stride * stride * d.between(1, 5),
                                             stride * d.between(1, 5), stride * d.between(1, 5)});
  d.op({x}, {{"stride", std::to_string(stride)}});
}

const RecipeRow kDetectionRows[] = {
    {"NonMaxSuppression-1 NonMaxSuppression-3 NonMaxSuppression-4 NonMaxSuppression-5 NonMaxSuppression-9 "
     "NMSRotated-13",
     non_max_suppression},
    {"MatrixNms-8 MulticlassNms-8 MulticlassNms-9", class_nms},
    {"DetectionOutput-1 DetectionOutput-8", detection_output},
    {"PriorBox-1 PriorBox-8", prior_box},
    {"PriorBoxClustered-1", prior_box_clustered},
    {"Proposal-1 Proposal-4", proposal},
    {"ExperimentalDetectronDetectionOutput-6", detectron_output},
    {"ExperimentalDetectronGenerateProposalsSingleImage-6", detectron_proposals},
    {"GenerateProposals-9", generate_proposals},
    {"ExperimentalDetectronPriorGridGenerator-6", prior_grid},
    {"ExperimentalDetectronROIFeatureExtractor-6", roi_feature},
    {"ExperimentalDetectronTopKROIs-6", topk_rois},
    {"ROIAlign-3 ROIAlign-9 ROIAlignRotated-15", roi_align},
    {"ROIPooling-2", roi_pooling},
    {"PSROIPooling-1", psroi_pooling},
    {"DeformablePSROIPooling-1", deformable_psroi},
    {"RegionYolo-1", region_yolo},
    {"ReorgYolo-2", reorg_yolo},
};

}  // namespace

std::span<const RecipeRow> detection_recipes() { return kDetectionRows; }

}  // namespace terroir::test
