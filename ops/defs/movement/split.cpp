#include "ops/defs/movement/split.hpp"

#include "ir/schema/number_context.hpp"
#include "ops/reference/movement/movement.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

// Far beyond any model; keeps a damaged file from asking for memory without bounds.
constexpr int64_t kMaxSplits = 1 << 16;

void infer_split(ir::InferContext& ctx) {
  const int64_t pieces = ctx.attrs<SplitAttrs>().num_splits;
  ctx.require(pieces >= 1 && pieces <= kMaxSplits, "num_splits must be in [1, ", kMaxSplits, "], got ", pieces);
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  PartialShape shape = ctx.shape(0);
  const auto given = known_integer(ctx, 1, "axis");
  if (shape.rank().is_static() && given) {
    const int64_t axis = normalize_axis(*given, static_cast<int64_t>(shape.size()));
    shape[axis] = divided(shape[axis], pieces, axis);
  } else if (shape.rank().is_static()) {
    shape = PartialShape::dynamic(shape.rank());
  }
  for (int i = 0; i < static_cast<int>(pieces); ++i) ctx.set_output(i, ctx.type(0), shape);
}

/// A list of known numbers in equal parts.
std::optional<std::vector<Dimension>> dimensions_of_split(ir::InferContext& ctx) {
  const auto all = ctx.dimensions(0);
  const auto pieces = static_cast<size_t>(ctx.attrs<SplitAttrs>().num_splits);
  if (!all || ctx.shape(0).rank() != Rank(1) || all->size() % pieces != 0) return std::nullopt;
  const auto length = static_cast<std::ptrdiff_t>(all->size() / pieces);
  const auto first = all->begin() + static_cast<ir::NumberContext&>(ctx).asked_output() * length;
  return std::vector<Dimension>(first, first + length);
}

}  // namespace

ir::OpSchema split_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, ir::kVariadic};
  schema.make_attributes = &ir::make_attributes<SplitAttrs>;
  schema.infer = &infer_split;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::split(ctx, read_integer(ctx.inputs[1], "axis"), "Split");
  };
  schema.dimensions = &dimensions_of_split;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
