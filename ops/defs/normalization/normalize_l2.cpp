#include "ops/defs/normalization/normalize_l2.hpp"

#include "ops/defs/normalization/axes_input.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {

ir::OpSchema normalize_l2_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<NormalizeL2Attrs>;
  schema.infer = [](ir::InferContext& ctx) {
    check_axes_input(ctx, 1);
    ctx.set_output(0, ctx.type(0), ctx.shape(0));
  };
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<NormalizeL2Attrs>();
    reference::normalize_l2(ctx.inputs[0], read_axes(ctx.inputs[1], ctx.inputs[0].dims.size()), attrs.eps,
                            attrs.eps_mode, ctx.outputs[0], "NormalizeL2");
  };
  return schema;
}

ir::OpSchema grn_1() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<GrnAttrs>;
  schema.infer = [](ir::InferContext& ctx) {
    require_rank(ctx, 0, "data", 2, 4);
    ctx.set_output(0, ctx.type(0), ctx.shape(0));
  };
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::normalize_l2(ctx.inputs[0], {1}, ctx.attrs<GrnAttrs>().bias, reference::EpsMode::add, ctx.outputs[0],
                            "GRN");
  };
  return schema;
}

}  // namespace terroir::ops
