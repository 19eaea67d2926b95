#include "ops/defs/sort/search_sorted.hpp"

#include <algorithm>

#include "ops/defs/elementwise/binary.hpp"
#include "ops/reference/sort/search.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_search_sorted(ir::InferContext& ctx) {
  const element::Type type = ctx.attrs<SearchSortedAttrs>().output_type;
  ctx.require(type == element::i32 || type == element::i64, "output_type must be i32 or i64, got ",
              type.get_type_name());
  merged_type(ctx, 0, 1);
  require_rank(ctx, 0, "sorted", 1, INT64_MAX);
  const PartialShape& sorted = ctx.shape(0);
  if (sorted.rank().is_static()) require_positions_fit(ctx, type, sorted[-1]);
  PartialShape shape = ctx.shape(1);
  if (sorted.rank().is_static() && sorted.size() > 1) {
    PartialShape wanted = sorted;
    wanted[-1] = Dimension();
    ctx.require(PartialShape::merge_into(shape, wanted), "the outer axes of the sequences ", sorted, " and the values ",
                ctx.shape(1), " differ");
  }
  ctx.set_output(0, type, shape);
}

void evaluate(const ir::EvalContext& ctx) {
  const ir::Dims &sorted = ctx.inputs[0].dims, &values = ctx.inputs[1].dims;
  if (sorted.size() > 1 && !std::equal(sorted.begin(), sorted.end() - 1, values.begin(), values.end() - 1))
    throw_error(ErrorCode::shape_mismatch, "SearchSorted: ", values, " values for sequences ", sorted);
  reference::search_sorted(ctx.inputs[0], ctx.inputs[1], ctx.attrs<SearchSortedAttrs>().right_mode, ctx.outputs[0]);
}

}  // namespace

ir::OpSchema search_sorted_15() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<SearchSortedAttrs>;
  schema.infer = &infer_search_sorted;
  schema.reference = &evaluate;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
