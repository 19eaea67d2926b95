#include "ops/defs/detection/class_nms.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

/// At most `limit` where that is not negative.
Dimension limited(const Dimension& extent, int64_t limit) {
  if (limit < 0 || (extent.has_upper_bound() && extent.get_max_length() <= limit)) return up_to(extent);
  return {0, limit};
}

/// `boxes` of one class of one item at most.
void set_outputs(ir::InferContext& ctx, const reference::NmsParams& params, element::Type type,
                 const Dimension& batches, const Dimension& classes, const Dimension& boxes) {
  Dimension counted = classes;
  if (params.background_class >= 0 && classes.has_upper_bound() && params.background_class < classes.get_max_length())
    counted = up_to(classes - Dimension(1));
  const Dimension per_item = limited(times(limited(boxes, params.nms_top_k), counted), params.keep_top_k);
  const Dimension rows = up_to(times(per_item, batches));
  ctx.set_output(0, type, PartialShape{rows, 6});
  ctx.set_output(1, params.output_type, PartialShape{rows, 1});
  ctx.set_output(2, params.output_type, PartialShape{batches});
}

element::Type check_common(ir::InferContext& ctx, const reference::NmsParams& params) {
  const element::Type out = params.output_type;
  ctx.require(out == element::i64 || out == element::i32, "output_type must be i64 or i32, got ", out.get_type_name());
  require_rank(ctx, 0, "boxes", 3, 3);
  const element::Type type = merged_type(ctx, 0, 1, "boxes", "scores");
  if (ctx.shape(0).rank().is_static())
    ctx.require(ctx.shape(0)[2].compatible(4), "boxes (input 0) must have extent 4 on axis 2, got ", ctx.shape(0));
  return type;
}

void infer_shared(ir::InferContext& ctx, const reference::NmsParams& params) {
  const element::Type type = check_common(ctx, params);
  require_rank(ctx, 1, "scores", 3, 3);
  const PartialShape boxes = ctx.shape(0).rank().is_static() ? ctx.shape(0) : PartialShape::dynamic(3);
  const PartialShape scores = ctx.shape(1).rank().is_static() ? ctx.shape(1) : PartialShape::dynamic(3);
  Dimension batches, count;
  ctx.require(Dimension::merge(batches, boxes[0], scores[0]) && Dimension::merge(count, boxes[1], scores[2]), "boxes ",
              boxes, " and scores ", scores, " must agree on the batch and the number of boxes");
  set_outputs(ctx, params, type, batches, scores[1], count);
}

void infer_separate(ir::InferContext& ctx, const reference::NmsParams& params) {
  const element::Type type = check_common(ctx, params);
  require_rank(ctx, 1, "scores", 2, 2);
  require_integer_type(ctx, 2, "roisnum");
  require_rank(ctx, 2, "roisnum", 1, 1);
  const PartialShape boxes = ctx.shape(0).rank().is_static() ? ctx.shape(0) : PartialShape::dynamic(3);
  const PartialShape scores = ctx.shape(1).rank().is_static() ? ctx.shape(1) : PartialShape::dynamic(2);
  Dimension classes, count;
  ctx.require(Dimension::merge(classes, boxes[0], scores[0]) && Dimension::merge(count, boxes[1], scores[1]), "boxes ",
              boxes, " and scores ", scores, " must agree on the classes and the number of boxes");
  const Dimension batches = ctx.shape(2).rank().is_static() ? ctx.shape(2)[0] : Dimension::dynamic();
  set_outputs(ctx, params, type, batches, classes, count);
}

template <class Attrs>
ir::OpSchema schema_of(int most_inputs, ir::InferFn infer, ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = {2, most_inputs, 3};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = infer;
  schema.reference = reference;
  return schema;
}

}  // namespace

ir::OpSchema matrix_nms_8() {
  return schema_of<MatrixNmsAttrs>(
      2, [](ir::InferContext& ctx) { infer_shared(ctx, ctx.attrs<MatrixNmsAttrs>()); },
      [](const ir::EvalContext& ctx) {
        const auto& attrs = ctx.attrs<MatrixNmsAttrs>();
        reference::MatrixNmsParams params = attrs;
        params.gaussian = attrs.decay_function == DecayFunction::gaussian;
        reference::matrix_nms(ctx, params);
      });
}

ir::OpSchema multiclass_nms_8() {
  return schema_of<MulticlassNmsAttrs>(
      2, [](ir::InferContext& ctx) { infer_shared(ctx, ctx.attrs<MulticlassNmsAttrs>()); },
      [](const ir::EvalContext& ctx) { reference::multiclass_nms(ctx, ctx.attrs<MulticlassNmsAttrs>()); });
}

ir::OpSchema multiclass_nms_9() {
  auto schema = multiclass_nms_8();
  schema.arity.max_inputs = 3;
  schema.infer = [](ir::InferContext& ctx) {
    const auto& attrs = ctx.attrs<MulticlassNmsAttrs>();
    ctx.input_count() == 3 ? infer_separate(ctx, attrs) : infer_shared(ctx, attrs);
  };
  return schema;
}

}  // namespace terroir::ops
