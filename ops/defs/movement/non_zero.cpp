#include "ops/defs/movement/non_zero.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/non_zero.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_non_zero(ir::InferContext& ctx) {
  const element::Type type = ctx.attrs<NonZeroAttrs>().output_type;
  ctx.require(type == element::i64 || type == element::i32, "output_type must be i64 or i32, got ",
              type.get_type_name());
  const PartialShape& data = ctx.shape(0);
  if (data.rank().is_dynamic()) {
    ctx.set_output(0, type, PartialShape::dynamic(2));
    return;
  }
  for (const Dimension& extent : data) require_positions_fit(ctx, type, extent);
  const Dimension all = product({data.begin(), data.end()});
  const auto rank = static_cast<int64_t>(std::max<size_t>(1, data.size()));
  const auto known = ctx.value(0);
  ctx.set_output(0, type, PartialShape{rank, known ? Dimension(reference::count_non_zero(*known)) : up_to(all)});
}

}  // namespace

ir::OpSchema non_zero_3() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<NonZeroAttrs>;
  schema.infer = &infer_non_zero;
  schema.reference = &reference::non_zero;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
