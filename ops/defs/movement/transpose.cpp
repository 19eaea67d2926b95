// What: Transpose: output axis i is data axis order[i]; an empty order reverses the axes. Inputs: data, input_order.
// Edge cases: negative axes are refused, as the page has it; rewrites and kernels read the order as it is.
// Source: operation page Transpose-1.
#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/movement.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_transpose(ir::InferContext& ctx) {
  require_integer_type(ctx, 1, "input_order");
  require_rank(ctx, 1, "input_order", 1, 1);
  const PartialShape& data = ctx.shape(0);
  const auto length = known_length(ctx, 1);
  const auto rank = data.rank().is_static() ? std::optional(static_cast<int64_t>(data.size()))
                    : length && *length > 0 ? length
                                            : std::nullopt;
  if (rank && length)
    ctx.require(*length == 0 || *length == *rank, "input_order must have one element for each of the ", *rank,
                " axes of data, got ", *length);
  const auto order = ctx.integers(1);
  if (order && rank) require_order(*order, *rank, "input_order");
  if (!order || data.rank().is_dynamic()) {
    ctx.set_output(0, ctx.type(0), rank ? PartialShape::dynamic(*rank) : PartialShape::dynamic());
    return;
  }
  std::vector<Dimension> dims;
  for (int64_t axis : *order) dims.push_back(data[axis]);
  if (order->empty()) dims.assign(std::reverse_iterator(data.end()), std::reverse_iterator(data.begin()));
  ctx.set_output(0, ctx.type(0), PartialShape(dims));
}

}  // namespace

ir::OpSchema transpose_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.infer = &infer_transpose;
  schema.reference = &reference::transpose;
  schema.dimensions = &same_dimensions;  // a list has one order
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
