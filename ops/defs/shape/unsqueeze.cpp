// What: Unsqueeze: inserts axes of extent 1. Inputs: data, axes (scalar or 1-D: positions in the output, negative from
// its end). Edge cases: the same axis twice is an error. Source: operation page Unsqueeze-1.
#include "ir/schema/infer_context.hpp"
#include "ops/reference/copy.hpp"
#include "ops/shape/inputs.hpp"
#include "ops/shape/real_range.hpp"

namespace terroir::ops {
namespace {

void infer(ir::InferContext& ctx) {
  require_integer_type(ctx, 1, "axes");
  require_rank(ctx, 1, "axes", 0, 1);
  const PartialShape& data = ctx.shape(0);
  const auto axes = ctx.integers(1);
  if (data.rank().is_dynamic() || !axes) {
    const auto added = known_length(ctx, 1);
    const bool rank_known = data.rank().is_static() && added;
    ctx.set_output(
        0, ctx.type(0),
        rank_known ? PartialShape::dynamic(static_cast<int64_t>(data.size()) + *added) : PartialShape::dynamic());
    return;
  }
  const size_t rank = data.size() + axes->size();
  const auto positions = normalize_axes(*axes, static_cast<int64_t>(rank));
  require_unique(positions);
  std::vector<bool> inserted(rank, false);
  for (int64_t position : positions) inserted[static_cast<size_t>(position)] = true;
  std::vector<Dimension> dims;
  std::ptrdiff_t next = 0;
  for (size_t i = 0; i < rank; ++i) dims.push_back(inserted[i] ? Dimension(1) : data[next++]);
  ctx.set_output(0, ctx.type(0), PartialShape(dims));
}

}  // namespace

ir::OpSchema unsqueeze_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.infer = &infer;
  schema.reference = &reference::copy;
  schema.dimensions = &same_numbers;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
