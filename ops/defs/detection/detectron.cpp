#include "ops/defs/detection/detectron.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

// Far beyond any model; keeps a damaged file from asking for memory without bounds.
constexpr int64_t kLargestCount = int64_t{1} << 24;

void require_count(const ir::InferContext& ctx, const char* name, int64_t value, int64_t least) {
  ctx.require(value >= least && value <= kLargestCount, name, " must be in [", least, ", ", kLargestCount, "], got ",
              value);
}

/// The input with the extents of `wanted` where those are known; Exception when they contradict.
PartialShape merged(const ir::InferContext& ctx, int input, const char* name, PartialShape wanted) {
  const PartialShape expected = wanted;
  ctx.require(PartialShape::merge_into(wanted, ctx.shape(input)), name, " (input ", input, ") must have shape ",
              expected, ", got ", ctx.shape(input));
  return wanted;
}

element::Type one_type(const ir::InferContext& ctx) {
  element::Type type;
  for (int i = 0; i < ctx.input_count(); ++i)
    ctx.require(element::Type::merge(type, type, ctx.type(i)), "all inputs must have one element type, input ", i,
                " has ", ctx.type(i).get_type_name(), " after ", type.get_type_name());
  return type;
}

const Dimension kAny;

void infer_prior_grid(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<PriorGridAttrs>();
  require_count(ctx, "h", attrs.h, 0);
  require_count(ctx, "w", attrs.w, 0);
  const PartialShape priors = merged(ctx, 0, "priors", PartialShape{kAny, 4});
  const PartialShape map = merged(ctx, 1, "feature map", PartialShape{kAny, kAny, kAny, kAny});
  merged(ctx, 2, "image", PartialShape{kAny, kAny, kAny, kAny});
  const Dimension rows = attrs.h > 0 ? Dimension(attrs.h) : map[2];
  const Dimension columns = attrs.w > 0 ? Dimension(attrs.w) : map[3];
  ctx.set_output(0, ctx.type(0),
                 attrs.flatten ? PartialShape{times(times(rows, columns), priors[0]), 4}
                               : PartialShape{rows, columns, priors[0], 4});
}

void infer_top_k(ir::InferContext& ctx) {
  const int64_t most = ctx.attrs<TopKRoisAttrs>().max_rois;
  require_count(ctx, "max_rois", most, 0);
  const PartialShape rois = merged(ctx, 0, "rois", PartialShape{kAny, 4});
  merged(ctx, 1, "probs", PartialShape{rois[0]});
  ctx.set_output(0, one_type(ctx), PartialShape{most, 4});
}

void infer_roi_features(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<RoiFeatureAttrs>();
  constexpr int64_t kMostSamples = 1024;
  ctx.require(attrs.output_size >= 1 && attrs.output_size <= kMostSamples, "output_size must be in [1, ", kMostSamples,
              "], got ", attrs.output_size);
  ctx.require(attrs.sampling_ratio >= 0 && attrs.sampling_ratio <= kMostSamples, "sampling_ratio must be in [0, ",
              kMostSamples, "], got ", attrs.sampling_ratio);
  const int levels = ctx.input_count() - 1;
  ctx.require(static_cast<int>(attrs.pyramid_scales.size()) >= levels,
              "pyramid_scales must have an element for each of ", levels, " feature maps, got ",
              attrs.pyramid_scales.size());
  for (const int64_t scale : attrs.pyramid_scales)
    ctx.require(scale >= 1, "pyramid_scales must be positive, got ", scale);
  const PartialShape rois = merged(ctx, 0, "rois", PartialShape{kAny, 4});
  Dimension channels;
  for (int i = 1; i <= levels; ++i) channels = merged(ctx, i, "feature map", PartialShape{1, channels, kAny, kAny})[1];
  const element::Type type = one_type(ctx);
  ctx.set_output(0, type, PartialShape{rois[0], channels, attrs.output_size, attrs.output_size});
  ctx.set_output(1, type, rois);
}

void require_counts(const ir::InferContext& ctx, const reference::GenerateProposalsParams& params) {
  require_count(ctx, "pre_nms_count", params.pre_nms_count, 1);
  require_count(ctx, "post_nms_count", params.post_nms_count, 1);
}

void infer_single_image(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<ProposalsSingleImageAttrs>();
  require_counts(ctx, attrs);
  merged(ctx, 0, "im_info", PartialShape{3});
  const PartialShape anchors = merged(ctx, 1, "anchors", PartialShape{kAny, 4});
  PartialShape grid = merged(ctx, 3, "scores", PartialShape{kAny, kAny, kAny});
  const Dimension cells = times(times(grid[0], grid[1]), grid[2]);
  ctx.require(anchors[0].compatible(cells), "anchors (input 1) must have ", cells, " rows, got ", ctx.shape(1));
  grid[0] = times(grid[0], 4);
  merged(ctx, 2, "deltas", grid);
  const element::Type type = one_type(ctx);
  ctx.set_output(0, type, PartialShape{attrs.post_nms_count, 4});
  ctx.set_output(1, type, PartialShape{attrs.post_nms_count});
}

void infer_generate_proposals(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<GenerateProposalsAttrs>();
  require_counts(ctx, attrs);
  const element::Type count_type = attrs.roi_num_type;
  ctx.require(count_type == element::i64 || count_type == element::i32, "roi_num_type must be i64 or i32, got ",
              count_type.get_type_name());
  ctx.require(attrs.nms_eta >= 0 && attrs.nms_eta <= 1, "nms_eta must be in [0, 1], got ", attrs.nms_eta);
  const PartialShape scores = merged(ctx, 3, "scores", PartialShape{kAny, kAny, kAny, kAny});
  merged(ctx, 1, "anchors", PartialShape{scores[2], scores[3], scores[1], 4});
  const PartialShape deltas =
      merged(ctx, 2, "deltas", PartialShape{scores[0], times(scores[1], 4), scores[2], scores[3]});
  const Dimension batch = merged(ctx, 0, "im_info", PartialShape{deltas[0], Dimension(3, 4)})[0];
  const element::Type type = one_type(ctx);
  const Dimension rows = up_to(times(batch, attrs.post_nms_count));
  ctx.set_output(0, type, PartialShape{rows, 4});
  ctx.set_output(1, type, PartialShape{rows});
  ctx.set_output(2, count_type, PartialShape{batch});
}

void infer_detection_output(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<DetectronOutputAttrs>();
  require_count(ctx, "num_classes", attrs.num_classes, 1);
  require_count(ctx, "max_detections_per_image", attrs.max_detections_per_image, 1);
  ctx.require(attrs.deltas_weights.size() == 4, "deltas_weights must have 4 elements, got ",
              attrs.deltas_weights.size());
  const Dimension count = merged(ctx, 0, "rois", PartialShape{kAny, 4})[0];
  merged(ctx, 1, "deltas", PartialShape{count, 4 * attrs.num_classes});
  merged(ctx, 2, "scores", PartialShape{count, attrs.num_classes});
  merged(ctx, 3, "im_info", PartialShape{1, 3});
  const element::Type type = one_type(ctx);
  ctx.set_output(0, type, PartialShape{attrs.max_detections_per_image, 4});
  ctx.set_output(1, element::i32, PartialShape{attrs.max_detections_per_image});
  ctx.set_output(2, type, PartialShape{attrs.max_detections_per_image});
}

template <class Attrs>
ir::OpSchema schema_of(ir::Arity arity, ir::InferFn infer, ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = arity;
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = infer;
  schema.reference = reference;
  return schema;
}

}  // namespace

ir::OpSchema detectron_prior_grid_generator_6() {
  return schema_of<PriorGridAttrs>({3, 3, 1}, &infer_prior_grid, [](const ir::EvalContext& ctx) {
    reference::prior_grid_generator(ctx, ctx.attrs<PriorGridAttrs>());
  });
}

ir::OpSchema detectron_top_k_rois_6() {
  return schema_of<TopKRoisAttrs>({2, 2, 1}, &infer_top_k, &reference::top_k_rois);
}

ir::OpSchema detectron_roi_feature_extractor_6() {
  return schema_of<RoiFeatureAttrs>({2, ir::kVariadic, 2}, &infer_roi_features, [](const ir::EvalContext& ctx) {
    reference::roi_feature_extractor(ctx, ctx.attrs<RoiFeatureAttrs>());
  });
}

ir::OpSchema detectron_generate_proposals_single_image_6() {
  return schema_of<ProposalsSingleImageAttrs>({4, 4, 2}, &infer_single_image, [](const ir::EvalContext& ctx) {
    reference::generate_proposals_single_image(ctx, ctx.attrs<ProposalsSingleImageAttrs>());
  });
}

ir::OpSchema generate_proposals_9() {
  return schema_of<GenerateProposalsAttrs>({4, 4, 3}, &infer_generate_proposals, [](const ir::EvalContext& ctx) {
    reference::generate_proposals(ctx, ctx.attrs<GenerateProposalsAttrs>());
  });
}

ir::OpSchema detectron_detection_output_6() {
  return schema_of<DetectronOutputAttrs>({4, 4, 3}, &infer_detection_output, [](const ir::EvalContext& ctx) {
    reference::detectron_detection_output(ctx, ctx.attrs<DetectronOutputAttrs>());
  });
}

}  // namespace terroir::ops
