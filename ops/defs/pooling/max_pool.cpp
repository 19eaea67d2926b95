#include "ops/defs/pooling/max_pool.hpp"

#include "ops/defs/pooling/pool_inputs.hpp"
#include "ops/reference/pooling/max_pool.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_max_pool_1(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<MaxPool1Attrs>();
  ctx.require(attrs.rounding_type != Rounding::ceil_torch, "rounding_type must be floor or ceil, got ceil_torch");
  ctx.set_output(0, ctx.type(0), pool_output(ctx, attrs.window(), attrs.kernel));
}

void evaluate_max_pool_1(const ir::EvalContext& ctx) {
  reference::max_pool(pool_geometry(ctx.attrs<MaxPool1Attrs>(), ctx.inputs[0].dims), 0, ctx.inputs[0], ctx.outputs[0],
                      nullptr);
}

template <bool AllowTorch>
void infer_max_pool_8(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<MaxPool8Attrs>();
  ctx.require(AllowTorch || attrs.rounding_type != Rounding::ceil_torch,
              "rounding_type must be floor or ceil, got ceil_torch");
  const element::Type index = attrs.index_element_type;
  ctx.require(index == element::i32 || index == element::i64, "index_element_type must be i32 or i64, got ", index);
  const PartialShape output = pool_output(ctx, attrs.window(), attrs.kernel);
  const auto rank = static_cast<int64_t>(output.size());
  ctx.require(attrs.axis >= -rank && attrs.axis < rank, "axis must be within [", -rank, ", ", rank - 1, "], got ",
              attrs.axis);
  if (const PartialShape& data = ctx.shape(0); data.rank().is_static())
    require_positions_fit(ctx, index,
                          product({data.begin() + (attrs.axis < 0 ? attrs.axis + rank : attrs.axis), data.end()}));
  ctx.set_output(0, ctx.type(0), output);
  ctx.set_output(1, index, output);
}

void evaluate_max_pool_8(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<MaxPool8Attrs>();
  const auto rank = static_cast<int64_t>(ctx.inputs[0].dims.size());
  reference::max_pool(pool_geometry(attrs, ctx.inputs[0].dims), attrs.axis < 0 ? attrs.axis + rank : attrs.axis,
                      ctx.inputs[0], ctx.outputs[0], &ctx.outputs[1]);
}

template <bool AllowTorch>
ir::OpSchema max_pool_8_schema() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 2};
  schema.make_attributes = &ir::make_attributes<MaxPool8Attrs>;
  schema.infer = &infer_max_pool_8<AllowTorch>;
  schema.reference = &evaluate_max_pool_8;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace

PoolGeometry pool_geometry(const MaxPool1Attrs& attrs, const ir::Dims& data) {
  return pool_geometry(data, attrs.window(), attrs.kernel);
}
PoolGeometry pool_geometry(const MaxPool8Attrs& attrs, const ir::Dims& data) {
  return pool_geometry(data, attrs.window(), attrs.kernel);
}

ir::OpSchema max_pool_1() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<MaxPool1Attrs>;
  schema.infer = &infer_max_pool_1;
  schema.reference = &evaluate_max_pool_1;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema max_pool_8() { return max_pool_8_schema<false>(); }
ir::OpSchema max_pool_14() { return max_pool_8_schema<true>(); }

}  // namespace terroir::ops
