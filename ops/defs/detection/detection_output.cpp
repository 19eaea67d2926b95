#include "ops/defs/detection/detection_output.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

constexpr const char* kDetectionInputs[] = {"box_logits", "class_preds", "proposals", "aux_class_preds",
                                            "aux_box_preds"};

/// Axis of an input, unknown where the rank is.
Dimension axis_of(const ir::InferContext& ctx, int input, int64_t axis) {
  const PartialShape& shape = ctx.shape(input);
  return shape.rank().is_static() ? shape[axis] : Dimension::dynamic();
}

/// `total` / `part`, checked to divide where it is known.
Dimension whole_parts(const ir::InferContext& ctx, const Dimension& total, int64_t part, const char* what) {
  if (!total.is_static()) return Dimension::dynamic();
  ctx.require(part > 0 && total.get_length() % part == 0, what, " has extent ", total, ", which does not divide by ",
              part);
  return total.get_length() / part;
}

void require_extent(const ir::InferContext& ctx, int input, int64_t axis, const Dimension& wanted) {
  const Dimension found = axis_of(ctx, input, axis);
  ctx.require(found.compatible(wanted), kDetectionInputs[input], " (input ", input, ") must have extent ", wanted,
              " on axis ", axis, ", got ", ctx.shape(input));
}

void infer(ir::InferContext& ctx, const DetectionOutputAttrs& attrs, bool has_num_classes) {
  ctx.require(ctx.input_count() != 4, "takes 3 or 5 inputs, got 4");
  ctx.require(!attrs.keep_top_k.empty(), "keep_top_k must have an element");
  ctx.require(!has_num_classes || attrs.num_classes > 0, "num_classes must be positive, got ", attrs.num_classes);
  ctx.require(attrs.normalized || (attrs.input_height > 0 && attrs.input_width > 0),
              "input_height and input_width must be positive, got ", attrs.input_height, " and ", attrs.input_width);
  constexpr int64_t kRanks[] = {2, 2, 3, 2, 2};
  element::Type type;
  Dimension images;
  for (int i = 0; i < ctx.input_count(); ++i) {
    require_rank(ctx, i, kDetectionInputs[i], kRanks[i], kRanks[i]);
    if (i == 2) continue;  // f32 in models of any type, because PriorBox gives nothing else
    ctx.require(element::Type::merge(type, type, ctx.type(i)), "all inputs must have one element type, ",
                kDetectionInputs[i], " has ", ctx.type(i).get_type_name(), " after ", type.get_type_name());
    ctx.require(Dimension::merge(images, images, axis_of(ctx, i, 0)), kDetectionInputs[i], " has ", axis_of(ctx, i, 0),
                " images after ", images);
  }
  const Dimension batches = axis_of(ctx, 2, 0);
  ctx.require(batches.compatible(1) || batches.compatible(images), "proposals must have 1 or ", images,
              " on axis 0, got ", ctx.shape(2));
  require_extent(ctx, 2, 1, attrs.variance_encoded_in_target ? 1 : 2);

  Dimension classes = has_num_classes ? Dimension(attrs.num_classes) : Dimension::dynamic();
  Dimension priors = whole_parts(ctx, axis_of(ctx, 2, 2), attrs.prior_size(), "axis 2 of proposals");
  if (priors.is_dynamic() && (attrs.share_location || classes.is_static()))
    priors = whole_parts(ctx, axis_of(ctx, 0, 1), times(4, attrs.share_location ? Dimension(1) : classes).get_length(),
                         "axis 1 of box_logits");
  ctx.require(priors != Dimension(0), "there are no priors: proposals are ", ctx.shape(2));
  if (classes.is_dynamic() && priors.is_static())
    classes = whole_parts(ctx, axis_of(ctx, 1, 1), priors.get_length(), "axis 1 of class_preds");
  require_extent(ctx, 1, 1, times(priors, classes));
  require_extent(ctx, 0, 1, times(times(priors, 4), attrs.share_location ? Dimension(1) : classes));
  if (ctx.input_count() == 5) {
    require_extent(ctx, 3, 1, times(priors, 2));
    require_extent(ctx, 4, 1, axis_of(ctx, 0, 1));
  }
  const int64_t keep = attrs.keep_top_k.front();
  const Dimension rows = keep > 0          ? times(images, keep)
                         : attrs.top_k > 0 ? times(times(images, attrs.top_k), classes)
                                           : times(times(images, priors), classes);
  ctx.set_output(0, type, PartialShape{1, 1, rows, 7});
}

template <class Attrs>
ir::OpSchema detection_output_schema(ir::InferFn infer_fn) {
  ir::OpSchema schema;
  schema.arity = {3, 5, 1};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = infer_fn;
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<Attrs>();
    reference::detection_output(ctx, attrs, attrs.num_classes);
  };
  return schema;
}

}  // namespace

ir::OpSchema detection_output_1() {
  return detection_output_schema<DetectionOutput1Attrs>(
      [](ir::InferContext& ctx) { infer(ctx, ctx.attrs<DetectionOutput1Attrs>(), true); });
}

ir::OpSchema detection_output_8() {
  return detection_output_schema<DetectionOutputAttrs>(
      [](ir::InferContext& ctx) { infer(ctx, ctx.attrs<DetectionOutputAttrs>(), false); });
}

}  // namespace terroir::ops
