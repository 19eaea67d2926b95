// The constructors of terroir/op/recurrent.hpp, suppression.hpp, detection.hpp and regions.hpp: what they make is what
// the operation's attributes say.
#include <gtest/gtest.h>

#include "tests/unit/layer_text.hpp"

namespace terroir {
namespace {

using namespace op;

std::string shapes(const Node& node) {
  std::string result;
  for (size_t i = 0; i < node.get_input_size(); ++i) result += node.get_input_partial_shape(i).to_string();
  return result;
}

TEST(LayerConstructors, Cells) {
  const auto x = input({2, 5}), h = input({2, 3});
  EXPECT_EQ(text(v0::RNNCell(x, h, input({3, 5}), input({3, 3}), input({3}), 3, {"relu"}, {}, {}, 0.5f),
                 {"hidden_size", "activations", "clip"}),
            "[2,3] hidden_size=3 activations=relu clip=0.5");
  EXPECT_EQ(shapes(v0::RNNCell(x, h, input({3, 5}), input({3, 3}), 3)), "[2,5][2,3][3,5][3,3][3]");
  EXPECT_EQ(text(v3::GRUCell(x, h, input({9, 5}), input({9, 3}), input({12}), 3, {"sigmoid", "relu"}, {0.125f}, {0.25f},
                             0, true),
                 {"activations", "activations_alpha", "activations_beta", "linear_before_reset"}),
            "[2,3] activations=sigmoid, relu activations_alpha=0.125 activations_beta=0.25 linear_before_reset=true");
  EXPECT_EQ(shapes(v3::GRUCell(x, h, input({9, 5}), input({9, 3}), 3)), "[2,5][2,3][9,5][9,3][9]");
  EXPECT_EQ(shapes(v3::GRUCell(x, h, input({9, 5}), input({9, 3}), 3, {"sigmoid", "tanh"}, {}, {}, 0, true)),
            "[2,5][2,3][9,5][9,3][12]");
  const auto w = input({12, 5}), r = input({12, 3}), b = input({12});
  EXPECT_EQ(text(v4::LSTMCell(x, h, h, w, r, b, 3), {"activations"}), "[2,3] activations=sigmoid, tanh, tanh");
  EXPECT_EQ(shapes(v4::LSTMCell(x, h, h, w, r, 3)), "[2,5][2,3][2,3][12,5][12,3][12]");
  EXPECT_EQ(text(v0::LSTMCell(x, h, h, w, r, b, input({9}), 3, LSTMWeightsFormat::IOFC, {"relu", "tanh", "tanh"}, {},
                              {}, 2, true),
                 {"weights_format", "activations", "clip", "input_forget"}),
            "[2,3] weights_format=iofc activations=relu, tanh, tanh clip=2 input_forget=true");
  EXPECT_EQ(text(v0::LSTMCell(x, h, h, w, r, b, 3), {"weights_format"}), "[2,3] weights_format=ifco");
  EXPECT_EQ(shapes(v0::LSTMCell(x, h, h, w, r, 3)), "[2,5][2,3][2,3][12,5][12,3][12][9]");
}

TEST(LayerConstructors, Sequences) {
  const auto x = input({2, 7, 5}), h = input({2, 2, 3}), lengths = input({2}, element::i32);
  const auto both = RecurrentSequenceDirection::BIDIRECTIONAL;
  EXPECT_EQ(text(v5::RNNSequence(x, h, lengths, input({2, 3, 5}), input({2, 3, 3}), input({2, 3}), 3, both),
                 {"direction", "activations"}),
            "[2,2,7,3] direction=bidirectional activations=tanh");
  EXPECT_EQ(text(v5::GRUSequence(x, h, lengths, input({2, 9, 5}), input({2, 9, 3}), input({2, 12}), 3, both,
                                 {"sigmoid", "tanh"}, {}, {}, 1, true),
                 {"direction", "clip", "linear_before_reset"}),
            "[2,2,7,3] direction=bidirectional clip=1 linear_before_reset=true");
  const auto w = input({2, 12, 5}), r = input({2, 12, 3}), b = input({2, 12});
  EXPECT_EQ(text(v5::LSTMSequence(x, h, h, lengths, w, r, b, 3, both, {}, {}, {"sigmoid", "relu", "tanh"}, 1),
                 {"direction", "activations", "clip"}),
            "[2,2,7,3] direction=bidirectional activations=sigmoid, relu, tanh clip=1");
  EXPECT_EQ(text(v0::LSTMSequence(x, h, h, lengths, w, r, b, input({2, 9}), 3, both, LSTMWeightsFormat::FICO, {}, {},
                                  {"sigmoid", "tanh", "tanh"}, 0, true),
                 {"direction", "weights_format", "input_forget"}),
            "[2,2,7,3] direction=bidirectional weights_format=fico input_forget=true");
  EXPECT_EQ(shapes(v0::LSTMSequence(x, h, h, lengths, w, r, b, 3, v0::LSTMSequence::direction::BIDIRECTIONAL)),
            "[2,7,5][2,2,3][2,2,3][2][2,12,5][2,12,3][2,12][2,9]");
  const auto one = input({2, 1, 3});
  EXPECT_EQ(text(v5::RNNSequence(x, one, lengths, input({1, 3, 5}), input({1, 3, 3}), input({1, 3}), 3,
                                 RecurrentSequenceDirection::REVERSE),
                 {"direction"}),
            "[2,1,7,3] direction=reverse");
  EXPECT_EQ(text(v0::ReverseSequence(x, lengths, 0, 1), {"batch_axis", "seq_axis"}), "[2,7,5] batch_axis=0 seq_axis=1");
}

TEST(LayerConstructors, Ctc) {
  const auto lengths = input({2}, element::i32);
  EXPECT_EQ(text(v0::CTCGreedyDecoder(input({7, 2, 5}), input({7, 2}), false), {"ctc_merge_repeated"}),
            "[2,7,1,1] ctc_merge_repeated=false");
  EXPECT_EQ(text(v6::CTCGreedyDecoderSeqLen(input({2, 7, 5}), lengths, false, element::i64, element::i32),
                 {"merge_repeated", "classes_index_type", "sequence_length_type"}),
            "[2,7] merge_repeated=false classes_index_type=i64 sequence_length_type=i32");
  EXPECT_EQ(v6::CTCGreedyDecoderSeqLen(input({2, 7, 5}), lengths, input({}, element::i32)).get_input_size(), 3u);
  const auto labels = input({2, 7}, element::i32);
  EXPECT_EQ(text(v4::CTCLoss(input({2, 7, 5}), lengths, labels, lengths, true, false, true),
                 {"preprocess_collapse_repeated", "ctc_merge_repeated", "unique"}),
            "[2] preprocess_collapse_repeated=true ctc_merge_repeated=false unique=true");
  EXPECT_EQ(v4::CTCLoss(input({2, 7, 5}), lengths, labels, lengths, number(4)).get_input_size(), 5u);
}

template <typename Nms>
void check_suppression(const char* opset, size_t most_inputs) {
  using Encoding = typename Nms::BoxEncodingType;
  const auto boxes = input({1, 9, 4}), scores = input({1, 2, 9});
  const auto most = number(3);
  const auto about = [](const Nms& nms) { return text(nms, {"box_encoding", "sort_result_descending"}).substr(6); };
  const auto of_two = Nms(boxes, scores, Encoding::CENTER, false);
  EXPECT_EQ(of_two.get_type_info(), (DiscreteTypeInfo{"NonMaxSuppression", opset}));
  EXPECT_TRUE(is_type<Nms>(&of_two));
  EXPECT_NE(about(of_two).find("box_encoding=center sort_result_descending=false"), std::string::npos) << about(of_two);
  const auto of_five = Nms(boxes, scores, most, real(0.5f), real(0.125f));
  EXPECT_EQ(of_five.get_input_size(), 5u);
  EXPECT_NE(about(of_five).find("box_encoding=corner sort_result_descending=true"), std::string::npos);
  if constexpr (!std::is_same_v<Nms, v1::NonMaxSuppression>) {
    EXPECT_EQ(Nms(boxes, scores, most, real(0.5f), real(0.125f), Encoding::CORNER, true, element::i32)
                  .get_output_element_type(0),
              element::i32);
    EXPECT_EQ(Nms(boxes, scores, most).get_input_size(), 3u);
    EXPECT_EQ(Nms(boxes, scores, most, real(0.5f), Encoding::CENTER).get_input_size(), 4u);
    if (most_inputs == 6) {
      EXPECT_EQ(Nms(boxes, scores, most, real(0.5f), real(0.125f), real(0.5f)).get_input_size(), 6u);
    } else {
      EXPECT_THROW(Nms(boxes, scores, most, real(0.5f), real(0.125f), real(0.5f)), Exception);
    }
  }
}

TEST(LayerConstructors, Suppression) {
  check_suppression<v1::NonMaxSuppression>("opset1", 5);
  check_suppression<v3::NonMaxSuppression>("opset3", 5);
  check_suppression<v4::NonMaxSuppression>("opset4", 5);
  check_suppression<v5::NonMaxSuppression>("opset5", 6);
  check_suppression<v9::NonMaxSuppression>("opset9", 6);
  EXPECT_EQ(text(v13::NMSRotated(input({1, 9, 5}), input({1, 2, 9}), number(3), real(0.5f), real(0), false,
                                 element::i32, false),
                 {"sort_result_descending", "output_type", "clockwise"}),
            "[..6,3] sort_result_descending=false output_type=i32 clockwise=false");

  const auto boxes = input({1, 9, 4}), scores = input({1, 2, 9});
  v8::MatrixNms::Attributes matrix;
  matrix.sort_result_type = v8::MatrixNms::SortResultType::SCORE;
  matrix.sort_result_across_batch = true;
  matrix.output_type = element::i32;
  matrix.score_threshold = 0.125f;
  matrix.nms_top_k = 3;
  matrix.keep_top_k = 5;
  matrix.background_class = 0;
  matrix.decay_function = v8::MatrixNms::DecayFunction::GAUSSIAN;
  matrix.gaussian_sigma = 1.5f;
  matrix.post_threshold = 0.25f;
  matrix.normalized = false;
  const std::vector<std::string> matrix_names{
      "sort_result_type", "sort_result_across_batch", "output_type",    "score_threshold", "nms_top_k", "keep_top_k",
      "background_class", "decay_function",           "gaussian_sigma", "post_threshold",  "normalized"};
  EXPECT_EQ(
      text(v8::MatrixNms(boxes, scores, matrix), matrix_names),
      "[..3,6] sort_result_type=score sort_result_across_batch=true output_type=i32 score_threshold=0.125 "
      "nms_top_k=3 keep_top_k=5 background_class=0 decay_function=gaussian gaussian_sigma=1.5 post_threshold=0.25 "
      "normalized=false");
  v9::MulticlassNms::Attributes multi;
  multi.sort_result_type = v9::MulticlassNms::SortResultType::CLASSID;
  multi.sort_result_across_batch = true;
  multi.output_type = element::i32;
  multi.iou_threshold = 0.5f;
  multi.score_threshold = 0.125f;
  multi.nms_top_k = 3;
  multi.keep_top_k = 5;
  multi.background_class = 1;
  multi.nms_eta = 0.875f;
  multi.normalized = false;
  const std::vector<std::string> multi_names{
      "sort_result_type", "sort_result_across_batch", "output_type", "iou_threshold", "score_threshold", "nms_top_k",
      "keep_top_k",       "background_class",         "nms_eta",     "normalized"};
  const std::string expected =
      " sort_result_type=classid sort_result_across_batch=true output_type=i32 iou_threshold=0.5 score_threshold=0.125 "
      "nms_top_k=3 keep_top_k=5 background_class=1 nms_eta=0.875 normalized=false";
  EXPECT_EQ(text(v9::MulticlassNms(boxes, scores, multi), multi_names), "[..3,6]" + expected);
  EXPECT_EQ(text(v8::MulticlassNms(boxes, scores, multi), multi_names), "[..3,6]" + expected);
  EXPECT_EQ(v9::MulticlassNms(input({2, 9, 4}), input({2, 9}), input({1}, element::i32), multi).get_input_size(), 3u);
}

template <typename Op>
void set_all(typename Op::AttributesBase& attributes) {
  attributes.background_label_id = 1;
  attributes.top_k = 20;
  attributes.variance_encoded_in_target = true;
  attributes.keep_top_k = {7};
  attributes.code_type = "caffe.PriorBoxParameter.CENTER_SIZE";
  attributes.share_location = true;
  attributes.nms_threshold = 0.375f;
  attributes.confidence_threshold = 0.625f;
  attributes.clip_after_nms = true;
  attributes.clip_before_nms = true;
  attributes.decrease_label_id = true;
  attributes.normalized = true;
  attributes.input_height = 2;
  attributes.input_width = 3;
  attributes.objectness_score = 0.25f;
}

TEST(LayerConstructors, DetectionOutput) {
  const std::vector<std::string> names{"background_label_id",
                                       "top_k",
                                       "variance_encoded_in_target",
                                       "keep_top_k",
                                       "code_type",
                                       "share_location",
                                       "nms_threshold",
                                       "confidence_threshold",
                                       "clip_after_nms",
                                       "clip_before_nms",
                                       "decrease_label_id",
                                       "normalized",
                                       "input_height",
                                       "input_width",
                                       "objectness_score"};
  const std::string expected =
      "[1,1,7,7] background_label_id=1 top_k=20 variance_encoded_in_target=true keep_top_k=7 "
      "code_type=caffe.PriorBoxParameter.CENTER_SIZE share_location=true nms_threshold=0.375 "
      "confidence_threshold=0.625 "
      "clip_after_nms=true clip_before_nms=true decrease_label_id=true normalized=true input_height=2 input_width=3 "
      "objectness_score=0.25";
  const auto boxes = input({1, 36}), classes = input({1, 18}), priors = input({1, 1, 36});
  v0::DetectionOutput::Attributes old;
  set_all<v0::DetectionOutput>(old);
  old.num_classes = 2;
  EXPECT_EQ(text(v0::DetectionOutput(boxes, classes, priors, old), names), expected);
  EXPECT_EQ(v0::DetectionOutput(boxes, classes, priors, old).get_attributes().at("num_classes"), "2");
  v8::DetectionOutput::Attributes attributes;
  set_all<v8::DetectionOutput>(attributes);
  EXPECT_EQ(text(v8::DetectionOutput(boxes, classes, priors, attributes), names), expected);
  EXPECT_EQ(v8::DetectionOutput(boxes, classes, priors, input({1, 18}), boxes, attributes).get_input_size(), 5u);
  EXPECT_EQ(v0::DetectionOutput(boxes, classes, priors, input({1, 18}), boxes, old).get_input_size(), 5u);
}

TEST(LayerConstructors, Priors) {
  const auto size = list({4, 4}), image = list({32, 32});
  v8::PriorBox::Attributes prior;
  prior.min_size = {16};
  prior.max_size = {38.5f};
  prior.aspect_ratio = {2};
  prior.clip = true;
  prior.flip = true;
  prior.step = 8;
  prior.offset = 0.5f;
  prior.variance = {0.125f, 0.125f, 0.25f, 0.25f};
  prior.min_max_aspect_ratios_order = false;
  const std::vector<std::string> names{"min_size",    "max_size",   "aspect_ratio", "density",
                                       "fixed_ratio", "fixed_size", "clip",         "flip",
                                       "step",        "offset",     "variance",     "scale_all_sizes"};
  const std::string expected =
      "[2,256] min_size=16 max_size=38.5 aspect_ratio=2 density= fixed_ratio= fixed_size= clip=true flip=true step=8 "
      "offset=0.5 variance=0.125, 0.125, 0.25, 0.25 scale_all_sizes=true";
  EXPECT_EQ(text(v8::PriorBox(size, image, prior), names), expected);
  EXPECT_EQ(v8::PriorBox(size, image, prior).get_attributes().at("min_max_aspect_ratios_order"), "false");
  EXPECT_EQ(text(v0::PriorBox(size, image, prior), names), expected);
  v0::PriorBoxClustered::Attributes clustered;
  clustered.widths = {10, 20};
  clustered.heights = {5, 6.5f};
  clustered.clip = false;
  clustered.step_widths = 8;
  clustered.step_heights = 9;
  clustered.offset = 0.5f;
  clustered.variances = {0.125f};
  EXPECT_EQ(text(v0::PriorBoxClustered(size, image, clustered),
                 {"width", "height", "clip", "step_w", "step_h", "offset", "variance"}),
            "[2,128] width=10, 20 height=5, 6.5 clip=false step_w=8 step_h=9 offset=0.5 variance=0.125");
}

TEST(LayerConstructors, Proposals) {
  v4::Proposal::Attributes attributes;
  attributes.base_size = 16;
  attributes.pre_nms_topn = 60;
  attributes.post_nms_topn = 5;
  attributes.nms_thresh = 0.75f;
  attributes.feat_stride = 8;
  attributes.min_size = 4;
  attributes.ratio = {0.5f};
  attributes.scale = {8, 16};
  attributes.clip_before_nms = false;
  attributes.clip_after_nms = true;
  attributes.normalize = true;
  attributes.box_size_scale = 5;
  attributes.box_coordinate_scale = 10;
  attributes.framework = "tensorflow";
  const auto probs = input({1, 4, 3, 3}), deltas = input({1, 8, 3, 3}), image = input({3});
  const std::vector<std::string> names{"base_size",
                                       "pre_nms_topn",
                                       "post_nms_topn",
                                       "nms_thresh",
                                       "feat_stride",
                                       "min_size",
                                       "ratio",
                                       "scale",
                                       "clip_before_nms",
                                       "clip_after_nms",
                                       "normalize",
                                       "box_size_scale",
                                       "box_coordinate_scale",
                                       "framework"};
  const std::string expected =
      "[5,5] base_size=16 pre_nms_topn=60 post_nms_topn=5 nms_thresh=0.75 feat_stride=8 min_size=4 ratio=0.5 scale=8, "
      "16 clip_before_nms=false clip_after_nms=true normalize=true box_size_scale=5 box_coordinate_scale=10 "
      "framework=tensorflow";
  EXPECT_EQ(text(v0::Proposal(probs, deltas, image, attributes), names), expected);
  EXPECT_EQ(text(v4::Proposal(probs, deltas, image, attributes), names), expected);
  v9::GenerateProposals::Attributes generated{2, 0.75f, 100, 10, false, 0.875f};
  EXPECT_EQ(
      text(v9::GenerateProposals(input({1, 3}), input({3, 3, 2, 4}), input({1, 8, 3, 3}), input({1, 2, 3, 3}),
                                 generated, element::i32),
           {"min_size", "nms_threshold", "pre_nms_count", "post_nms_count", "normalized", "nms_eta", "roi_num_type"}),
      "[..10,4] min_size=2 nms_threshold=0.75 pre_nms_count=100 post_nms_count=10 normalized=false nms_eta=0.875 "
      "roi_num_type=i32");
}

TEST(LayerConstructors, Yolo) {
  EXPECT_EQ(text(v0::RegionYolo(input({1, 21, 4, 4}), 4, 2, 9, false, {0, 1, 2}, 1, 3, {10, 14.5f}),
                 {"coords", "classes", "num", "do_softmax", "mask", "axis", "end_axis", "anchors"}),
            "[1,21,4,4] coords=4 classes=2 num=9 do_softmax=false mask=0, 1, 2 axis=1 end_axis=3 anchors=10, 14.5");
  EXPECT_EQ(text(v0::ReorgYolo(input({1, 4, 4, 4}), 2), {"stride"}), "[1,16,2,2] stride=2");
  EXPECT_EQ(text(v0::ReorgYolo(input({1, 4, 4, 4}), Strides{2})), "[1,16,2,2]");
}

TEST(LayerConstructors, Regions) {
  const auto image = input({1, 8, 9, 9}), rois = input({3, 5}), boxes = input({3, 4});
  const auto batch = input({3}, element::i32);
  EXPECT_EQ(text(v0::ROIPooling(image, rois, Shape{4, 5}, 0.25f, "bilinear"), {"spatial_scale", "method"}),
            "[3,8,4,5] spatial_scale=0.25 method=bilinear");
  EXPECT_EQ(text(v0::PSROIPooling(image, rois, 2, 2, 0.25f, 3, 4, "average"),
                 {"output_dim", "group_size", "spatial_scale", "spatial_bins_x", "spatial_bins_y", "mode"}),
            "[3,2,2,2] output_dim=2 group_size=2 spatial_scale=0.25 spatial_bins_x=3 spatial_bins_y=4 mode=average");
  const std::vector<std::string> names{"output_dim",     "spatial_scale",  "group_size", "mode",
                                       "spatial_bins_x", "spatial_bins_y", "trans_std",  "part_size"};
  const std::string expected =
      "[3,2,2,2] output_dim=2 spatial_scale=0.25 group_size=2 mode=bilinear_deformable spatial_bins_x=3 "
      "spatial_bins_y=4 trans_std=0.5 part_size=2";
  EXPECT_EQ(text(v1::DeformablePSROIPooling(image, rois, 2, 0.25f, 2, "bilinear_deformable", 3, 4, 0.5f, 2), names),
            expected);
  EXPECT_EQ(text(v1::DeformablePSROIPooling(image, rois, input({3, 4, 2, 2}), 2, 0.25f, 2, "bilinear_deformable", 3, 4,
                                            0.5f, 2),
                 names),
            expected);
  const std::vector<std::string> aligned{"sampling_ratio", "spatial_scale", "mode"};
  EXPECT_EQ(text(v3::ROIAlign(image, boxes, batch, 4, 5, 2, 0.25f, "max"), aligned),
            "[3,8,4,5] sampling_ratio=2 spatial_scale=0.25 mode=max");
  EXPECT_EQ(text(v3::ROIAlign(image, boxes, batch, 4, 5, 2, 0.25f, v3::ROIAlign::PoolingMode::AVG), aligned),
            "[3,8,4,5] sampling_ratio=2 spatial_scale=0.25 mode=avg");
  EXPECT_EQ(text(v9::ROIAlign(image, boxes, batch, 4, 5, 2, 0.25f, v9::ROIAlign::PoolingMode::MAX,
                              v9::ROIAlign::AlignedMode::HALF_PIXEL),
                 {"mode", "aligned_mode"}),
            "[3,8,4,5] mode=max aligned_mode=half_pixel");
  EXPECT_EQ(text(v15::ROIAlignRotated(image, rois, batch, 4, 5, 2, 0.25f, true), {"sampling_ratio", "clockwise_mode"}),
            "[3,8,4,5] sampling_ratio=2 clockwise_mode=true");
}

TEST(LayerConstructors, Detectron) {
  EXPECT_EQ(text(v6::ExperimentalDetectronDetectionOutput(input({9, 4}), input({9, 12}), input({9, 3}), input({1, 3}),
                                                          {0.0625f, 0.5f, 4.5f, 3, 20, 10, true, {10, 10, 5, 5}}),
                 {"score_threshold", "nms_threshold", "max_delta_log_wh", "num_classes", "post_nms_count",
                  "class_agnostic_box_regression", "deltas_weights"}),
            "[10,4] score_threshold=0.0625 nms_threshold=0.5 max_delta_log_wh=4.5 num_classes=3 post_nms_count=20 "
            "class_agnostic_box_regression=true deltas_weights=10, 10, 5, 5");
  EXPECT_EQ(text(v6::ExperimentalDetectronGenerateProposalsSingleImage(input({3}), input({18, 4}), input({8, 3, 3}),
                                                                       input({2, 3, 3}), {2, 0.75f, 10, 100}),
                 {"min_size", "nms_threshold", "pre_nms_count"}),
            "[10,4] min_size=2 nms_threshold=0.75 pre_nms_count=100");
  EXPECT_EQ(text(v6::ExperimentalDetectronPriorGridGenerator(input({2, 4}), input({1, 8, 3, 3}), input({1, 3, 24, 24}),
                                                             {false, 4, 5, 8, 9}),
                 {"flatten", "h", "w", "stride_x", "stride_y"}),
            "[4,5,2,4] flatten=false h=4 w=5 stride_x=8 stride_y=9");
  EXPECT_EQ(text(v6::ExperimentalDetectronROIFeatureExtractor(
                     OutputVector{input({9, 4}), input({1, 8, 16, 16}), input({1, 8, 8, 8})}, {7, 2, {4, 8}, true}),
                 {"sampling_ratio", "pyramid_scales", "aligned"}),
            "[9,8,7,7] sampling_ratio=2 pyramid_scales=4, 8 aligned=true");
  EXPECT_EQ(text(v6::ExperimentalDetectronTopKROIs(input({9, 4}), input({9}), 5)), "[5,4]");
}

}  // namespace
}  // namespace terroir
