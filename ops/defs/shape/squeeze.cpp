#include "ops/defs/shape/squeeze.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/copy.hpp"
#include "ops/shape/inputs.hpp"
#include "ops/shape/real_range.hpp"

namespace terroir::ops {
namespace {

const Dimension kOne(1);

void infer_squeeze(ir::InferContext& ctx, bool allow_axis_skip) {
  const PartialShape& data = ctx.shape(0);
  const element::Type type = ctx.type(0);
  std::optional<std::vector<int64_t>> axes = std::vector<int64_t>{};
  if (ctx.input_count() > 1) {
    require_integer_type(ctx, 1, "axes");
    require_rank(ctx, 1, "axes", 0, 1);
    axes = ctx.integers(1);
  }
  if (!axes || data.rank().is_dynamic()) {
    ctx.set_output(0, type, PartialShape::dynamic());
    return;
  }
  const auto rank = static_cast<int64_t>(data.size());
  const bool all = axes->empty();
  std::vector<bool> listed(data.size(), all);
  for (int64_t axis : normalize_axes(*axes, rank)) listed[static_cast<size_t>(axis)] = true;
  std::vector<Dimension> kept;
  for (size_t i = 0; i < data.size(); ++i) {
    const Dimension& extent = data[static_cast<std::ptrdiff_t>(i)];
    if (!listed[i] || !extent.compatible(kOne)) {
      kept.push_back(extent);
    } else if (extent != kOne && (all || allow_axis_skip)) {
      ctx.set_output(0, type, PartialShape::dynamic());
      return;
    }
  }
  ctx.set_output(0, type, PartialShape(kept));
}

ir::OpSchema squeeze_schema(ir::InferFn infer_fn) {
  ir::OpSchema schema;
  schema.arity = {1, 2, 1};
  schema.infer = infer_fn;
  schema.reference = &reference::copy;
  schema.dimensions = &same_numbers;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace

ir::OpSchema squeeze_1() {
  return squeeze_schema([](ir::InferContext& ctx) { infer_squeeze(ctx, false); });
}

ir::OpSchema squeeze_15() {
  auto schema =
      squeeze_schema([](ir::InferContext& ctx) { infer_squeeze(ctx, ctx.attrs<SqueezeAttrs>().allow_axis_skip); });
  schema.make_attributes = &ir::make_attributes<SqueezeAttrs>;
  return schema;
}

}  // namespace terroir::ops
