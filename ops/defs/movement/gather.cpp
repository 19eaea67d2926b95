#include "ops/defs/movement/gather.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/movement.hpp"
#include "ops/shape/inputs.hpp"
#include "ops/shape/real_range.hpp"

namespace terroir::ops {
namespace {

void infer_gather_with(ir::InferContext& ctx, int64_t batch_dims) {
  require_integer_type(ctx, 1, "indices");
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  const auto given = known_integer(ctx, 2, "axis");
  const PartialShape& data = ctx.shape(0);
  const PartialShape& indices = ctx.shape(1);
  if (data.rank().is_dynamic()) {
    ctx.set_output(0, ctx.type(0), PartialShape::dynamic());
    return;
  }
  const auto data_rank = static_cast<int64_t>(data.size());
  const int64_t axis = given ? normalize_axis(*given, data_rank) : data_rank;
  if (indices.rank().is_dynamic()) {
    ctx.set_output(0, ctx.type(0), PartialShape::dynamic());
    return;
  }
  const auto index_rank = static_cast<int64_t>(indices.size());
  const int64_t batch = batch_dims < 0 ? batch_dims + index_rank : batch_dims;
  ctx.require(batch >= 0 && batch <= index_rank, "batch_dims must be in [", -index_rank, ", ", index_rank,
              "] for indices ", indices, ", got ", batch_dims);
  // An unknown axis is the last one at most.
  ctx.require(batch <= axis - (given ? 0 : 1), "batch_dims must not exceed the axis: batch_dims ", batch, ", axis ",
              axis, " of data ", data);
  std::vector<Dimension> dims;
  for (int64_t i = 0; i < batch; ++i) {
    Dimension extent;
    ctx.require(Dimension::merge(extent, data[i], indices[i]), "the first ", batch, " extents of data ", data,
                " and indices ", indices, " must agree");
    dims.push_back(extent);
  }
  if (!given) {
    PartialShape output = PartialShape::dynamic(data_rank + index_rank - 1 - batch);
    for (int64_t i = 0; i < batch && i < data_rank + index_rank - 1 - batch; ++i)
      output[i] = dims[static_cast<size_t>(i)];
    ctx.set_output(0, ctx.type(0), std::move(output));
    return;
  }
  for (int64_t i = batch; i < axis; ++i) dims.push_back(data[i]);
  for (int64_t i = batch; i < index_rank; ++i) dims.push_back(indices[i]);
  for (int64_t i = axis + 1; i < data_rank; ++i) dims.push_back(data[i]);
  ctx.set_output(0, ctx.type(0), PartialShape(dims));
}

/// The chosen ones of known numbers.
template <class Numbers>
std::optional<Numbers> chosen(ir::InferContext& ctx, const std::optional<Numbers>& from) {
  const auto indices = ctx.integers(1);
  if (!from || !indices || ctx.shape(0).rank() != Rank(1)) return std::nullopt;
  Numbers numbers;
  const auto extent = static_cast<int64_t>(from->size());
  for (int64_t index : *indices) {
    if (index < -extent || index >= extent) return std::nullopt;
    numbers.push_back((*from)[static_cast<size_t>(index < 0 ? index + extent : index)]);
  }
  return numbers;
}

ir::OpSchema gather_schema(ir::InferFn infer, ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = {3, 3, 1};
  schema.infer = infer;
  schema.reference = reference;
  schema.dimensions = [](ir::InferContext& ctx) {
    return ctx.type(0).is_real() ? answer_ranges(ctx, chosen(ctx, ranges_of(ctx, 0))) : chosen(ctx, ctx.dimensions(0));
  };
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace

ir::OpSchema gather_1() {
  return gather_schema([](ir::InferContext& ctx) { infer_gather_with(ctx, 0); },
                       [](const ir::EvalContext& ctx) { reference::gather(ctx, 0); });
}

ir::OpSchema gather_7() {
  auto schema =
      gather_schema([](ir::InferContext& ctx) { infer_gather_with(ctx, ctx.attrs<GatherAttrs>().batch_dims); },
                    [](const ir::EvalContext& ctx) { reference::gather(ctx, ctx.attrs<GatherAttrs>().batch_dims); });
  schema.make_attributes = &ir::make_attributes<GatherAttrs>;
  return schema;
}

ir::OpSchema gather_8() { return gather_7(); }

}  // namespace terroir::ops
