#include "ops/defs/detection/non_max_suppression.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/detection/nms.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

/// The smaller of two extents.
Dimension least(const Dimension& a, const Dimension& b) {
  const int64_t low = std::min(a.get_min_length(), b.get_min_length());
  if (!a.has_upper_bound() && !b.has_upper_bound()) return {low, -1};
  if (!a.has_upper_bound()) return {low, b.get_max_length()};
  if (!b.has_upper_bound()) return {low, a.get_max_length()};
  return {low, std::min(a.get_max_length(), b.get_max_length())};
}

void infer(ir::InferContext& ctx, const NonMaxSuppression1Attrs& attrs, int version, int64_t numbers = 4) {
  constexpr const char* kNames[] = {"boxes",         "scores",          "max_output_boxes_per_class",
                                    "iou_threshold", "score_threshold", "soft_nms_sigma"};
  const element::Type type = attrs.output_type;
  ctx.require(type == element::i64 || type == element::i32, "output_type must be i64 or i32, got ",
              type.get_type_name());
  for (int i = 0; i < ctx.input_count(); ++i) {
    if (i == 2) continue;
    if (i > 2) require_real_type(ctx, i, kNames[i]);
    require_rank(ctx, i, kNames[i], i < 2 ? 3 : 0, i < 2 ? 3 : 1);
  }
  const PartialShape boxes = ctx.shape(0).rank().is_static() ? ctx.shape(0) : PartialShape::dynamic(3);
  const PartialShape scores = ctx.shape(1).rank().is_static() ? ctx.shape(1) : PartialShape::dynamic(3);
  ctx.require(boxes[2].compatible(numbers), "boxes (input 0) must have extent ", numbers, " on axis 2, got ", boxes);
  Dimension batches, count;
  ctx.require(Dimension::merge(batches, boxes[0], scores[0]) && Dimension::merge(count, boxes[1], scores[2]), "boxes ",
              boxes, " and scores ", scores, " must agree on the batch and the number of boxes");
  std::optional<int64_t> given = 0;
  if (ctx.input_count() > 2) given = known_integer(ctx, 2, kNames[2]);
  ctx.require(!given || *given >= 0, "max_output_boxes_per_class must not be negative, got ", given.value_or(0));
  const Dimension most = given ? Dimension(*given) : Dimension::dynamic();
  const Dimension rows =
      version < 4 ? least(count, times(most, scores[1])) : times(times(least(count, most), batches), scores[1]);
  if (version < 5) {
    ctx.set_output(0, type, PartialShape{rows, 3});
    return;
  }
  ctx.set_output(0, type, PartialShape{up_to(rows), 3});
  ctx.set_output(1, element::f32, PartialShape{up_to(rows), 3});
  ctx.set_output(2, type, PartialShape{1});
}

template <class Attrs, int Version>
ir::OpSchema schema_of() {
  ir::OpSchema schema;
  schema.arity = {2, Version < 5 ? 5 : 6, Version < 5 ? 1 : 3};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = [](ir::InferContext& ctx) { infer(ctx, ctx.attrs<Attrs>(), Version); };
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<Attrs>();
    reference::NonMaxSuppressionParams params;
    params.center_boxes = attrs.box_encoding == BoxEncoding::center;
    params.sort_across = attrs.sort_result_descending;
    params.soft_keeps_overlaps = Version >= 9;
    params.fill_rest = Version < 5;
    reference::non_max_suppression(ctx, params);
  };
  return schema;
}

}  // namespace

ir::OpSchema nms_rotated_13() {
  auto schema = schema_of<NonMaxSuppressionAttrs, 9>();
  schema.arity = {5, 5, 3};
  schema.make_attributes = &ir::make_attributes<NmsRotatedAttrs>;
  schema.infer = [](ir::InferContext& ctx) { infer(ctx, ctx.attrs<NmsRotatedAttrs>(), 9, 5); };
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<NmsRotatedAttrs>();
    reference::NonMaxSuppressionParams params;
    params.rotated = true;
    params.clockwise = attrs.clockwise;
    params.sort_across = attrs.sort_result_descending;
    reference::non_max_suppression(ctx, params);
  };
  return schema;
}

ir::OpSchema non_max_suppression_1() { return schema_of<NonMaxSuppression1Attrs, 1>(); }
ir::OpSchema non_max_suppression_3() { return schema_of<NonMaxSuppressionAttrs, 3>(); }
ir::OpSchema non_max_suppression_4() { return schema_of<NonMaxSuppressionAttrs, 4>(); }
ir::OpSchema non_max_suppression_5() { return schema_of<NonMaxSuppressionAttrs, 5>(); }
ir::OpSchema non_max_suppression_9() { return schema_of<NonMaxSuppressionAttrs, 9>(); }

}  // namespace terroir::ops
