#include "ops/defs/normalization/lrn.hpp"

#include "ops/defs/normalization/axes_input.hpp"
#include "ops/reference/normalization/normalization.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {

ir::OpSchema lrn_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<LrnAttrs>;
  schema.infer = [](ir::InferContext& ctx) {
    const auto& attrs = ctx.attrs<LrnAttrs>();
    ctx.require(attrs.size > 0 && attrs.size <= INT32_MAX, "size must be within [1, 2147483647], got ", attrs.size);
    check_axes_input(ctx, 1);
    ctx.set_output(0, ctx.type(0), ctx.shape(0));
  };
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<LrnAttrs>();
    reference::lrn(ctx.inputs[0], read_axes(ctx.inputs[1], ctx.inputs[0].dims.size()),
                   {attrs.alpha, attrs.beta, attrs.bias, attrs.size}, ctx.outputs[0]);
  };
  return schema;
}

}  // namespace terroir::ops
