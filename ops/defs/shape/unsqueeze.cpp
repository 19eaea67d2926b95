// What: Unsqueeze: inserts axes of extent 1. Inputs: data, axes (scalar or 1-D: positions in the output, negative from
// its end). Edge cases: as OpenVINO has it, the same number twice counts once; two numbers for one axis, one from each
// end, count twice where positions are found, and add one axis. Source: operation page Unsqueeze-1.
#include <algorithm>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/copy.hpp"
#include "ops/shape/inputs.hpp"
#include "ops/shape/real_range.hpp"

namespace terroir::ops {
namespace {

void remove_repeated(std::vector<int64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

void infer_unsqueeze(ir::InferContext& ctx) {
  require_integer_type(ctx, 1, "axes");
  require_rank(ctx, 1, "axes", 0, 1);
  const PartialShape& data = ctx.shape(0);
  auto axes = ctx.integers(1);
  if (data.rank().is_dynamic() || !axes) {
    // Several axes may be one.
    const auto added = known_length(ctx, 1);
    const bool rank_known = data.rank().is_static() && added && *added <= 1;
    ctx.set_output(
        0, ctx.type(0),
        rank_known ? PartialShape::dynamic(static_cast<int64_t>(data.size()) + *added) : PartialShape::dynamic());
    return;
  }
  remove_repeated(*axes);
  auto positions = normalize_axes(*axes, static_cast<int64_t>(data.size() + axes->size()));
  remove_repeated(positions);
  std::vector<Dimension> dims(data.begin(), data.end());
  for (const int64_t position : positions) {
    // An axis that counted twice leaves the ones behind it one further than the end.
    const auto end = static_cast<int64_t>(dims.size());
    dims.insert(dims.begin() + std::min(position, end), Dimension(1));
  }
  ctx.set_output(0, ctx.type(0), PartialShape(dims));
}

}  // namespace

ir::OpSchema unsqueeze_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.infer = &infer_unsqueeze;
  schema.reference = &reference::copy;
  schema.dimensions = &same_numbers;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
