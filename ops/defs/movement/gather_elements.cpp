#include "ops/defs/movement/gather_elements.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/rearrange.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_gather_elements(ir::InferContext& ctx) {
  require_integer_type(ctx, 1, "indices");
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  require_rank(ctx, 1, "indices", 1, INT64_MAX);
  PartialShape data = ctx.shape(0);
  PartialShape output = ctx.shape(1);
  const Rank rank = data.rank().is_static() ? data.rank() : output.rank();
  if (rank.is_static()) {
    const int64_t axis = normalize_axis(ctx.attrs<GatherElementsAttrs>().axis, rank.get_length());
    if (data.rank().is_static()) data[axis] = Dimension::dynamic();
    ctx.require(PartialShape::merge_into(output, data), "indices ", ctx.shape(1), " must agree with data ",
                ctx.shape(0), " but for axis ", axis);
  }
  ctx.set_output(0, ctx.type(0), std::move(output));
}

}  // namespace

ir::OpSchema gather_elements_6() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<GatherElementsAttrs>;
  schema.infer = &infer_gather_elements;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::gather_elements(ctx, ctx.attrs<GatherElementsAttrs>().axis);
  };
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
