#include "ops/defs/movement/gather_nd.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/rearrange.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_gather_nd(ir::InferContext& ctx, bool one_batch_axis) {
  const int64_t batch = ctx.attrs<GatherNdAttrs>().batch_dims;
  ctx.require(batch >= 0, "batch_dims must not be negative, got ", batch);
  require_integer_type(ctx, 1, "indices");
  require_rank(ctx, 0, "data", std::max<int64_t>(1, batch), INT64_MAX);
  require_rank(ctx, 1, "indices", batch + 1, INT64_MAX);
  const PartialShape& data = ctx.shape(0);
  const PartialShape& indices = ctx.shape(1);
  if (data.rank().is_dynamic() || indices.rank().is_dynamic()) {
    ctx.set_output(0, ctx.type(0), PartialShape::dynamic());
    return;
  }
  std::vector<Dimension> dims;
  for (int64_t i = 0; i < batch; ++i) {
    Dimension extent;
    ctx.require(Dimension::merge(extent, data[i], indices[i]), "the first ", batch, " extents of data ", data,
                " and indices ", indices, " must agree");
    dims.push_back(extent);
  }
  if (one_batch_axis && batch > 1) dims = {product(dims)};
  const Dimension& depth = indices[-1];
  if (depth.is_dynamic()) {
    ctx.set_output(0, ctx.type(0), PartialShape::dynamic());
    return;
  }
  const auto rank = static_cast<int64_t>(data.size());
  ctx.require(depth.get_length() <= rank - batch, "the last extent of indices ", indices, " must not exceed ",
              rank - batch, ", the axes of data ", data, " after batch_dims ", batch);
  dims.insert(dims.end(), indices.begin() + batch, indices.end() - 1);
  dims.insert(dims.end(), data.begin() + batch + depth.get_length(), data.end());
  ctx.set_output(0, ctx.type(0), PartialShape(dims));
}

}  // namespace

ir::OpSchema gather_nd_8() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<GatherNdAttrs>;
  schema.infer = [](ir::InferContext& ctx) { infer_gather_nd(ctx, false); };
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::gather_nd(ctx, ctx.attrs<GatherNdAttrs>().batch_dims);
  };
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema gather_nd_5() {
  ir::OpSchema schema = gather_nd_8();
  schema.infer = [](ir::InferContext& ctx) { infer_gather_nd(ctx, true); };
  return schema;
}

}  // namespace terroir::ops
