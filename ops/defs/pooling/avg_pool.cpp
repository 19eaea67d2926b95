#include "ops/defs/pooling/avg_pool.hpp"

#include "ops/defs/pooling/pool_inputs.hpp"
#include "ops/reference/pooling/avg_pool.hpp"

namespace terroir::ops {
namespace {

template <class Attrs, bool AllowTorch>
void infer_avg_pool(ir::InferContext& ctx) {
  const Attrs& attrs = ctx.attrs<Attrs>();
  ctx.require(AllowTorch || attrs.rounding_type != Rounding::ceil_torch,
              "rounding_type must be floor or ceil, got ceil_torch");
  ctx.set_output(0, ctx.type(0), pool_output(ctx, attrs.window(), attrs.kernel));
}

template <class Attrs>
void evaluate_avg_pool(const ir::EvalContext& ctx) {
  const Attrs& attrs = ctx.attrs<Attrs>();
  reference::avg_pool(pool_geometry(attrs, ctx.inputs[0].dims), attrs.exclude_pad, ctx.inputs[0], ctx.outputs[0]);
}

template <class Attrs, bool AllowTorch>
ir::OpSchema avg_pool_schema() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = &infer_avg_pool<Attrs, AllowTorch>;
  schema.reference = &evaluate_avg_pool<Attrs>;
  return schema;
}

}  // namespace

PoolGeometry pool_geometry(const AvgPoolAttrs& attrs, const ir::Dims& data) {
  return pool_geometry(data, attrs.window(), attrs.kernel);
}

ir::OpSchema avg_pool_1() { return avg_pool_schema<AvgPoolAttrs, false>(); }
ir::OpSchema avg_pool_14() { return avg_pool_schema<AvgPoolAttrs, true>(); }
ir::OpSchema avg_pool_16() { return avg_pool_schema<AvgPool16Attrs, true>(); }

}  // namespace terroir::ops
