#include "ops/defs/normalization/mvn.hpp"

#include "ops/defs/normalization/axes_input.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {

std::vector<int64_t> mvn_axes(const Mvn2Attrs& attrs, size_t rank) {
  if (!attrs.reduction_axes.empty()) {
    auto axes = normalize_axes(attrs.reduction_axes, static_cast<int64_t>(rank), "reduction_axes");
    require_unique(axes, "reduction_axes");
    return axes;
  }
  std::vector<int64_t> axes;
  for (size_t axis = attrs.across_channels ? 1 : 2; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  return axes;
}

ir::OpSchema mvn_2() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<Mvn2Attrs>;
  schema.infer = [](ir::InferContext& ctx) {
    if (ctx.shape(0).rank().is_static()) mvn_axes(ctx.attrs<Mvn2Attrs>(), ctx.shape(0).size());
    ctx.set_output(0, ctx.type(0), ctx.shape(0));
  };
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<Mvn2Attrs>();
    reference::mean_variance_normalize(ctx.inputs[0], mvn_axes(attrs, ctx.inputs[0].dims.size()),
                                       attrs.normalize_variance, attrs.eps, reference::EpsPlace::inside_sqrt,
                                       ctx.outputs[0]);
  };
  return schema;
}

ir::OpSchema mvn_6() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<Mvn6Attrs>;
  schema.infer = [](ir::InferContext& ctx) {
    check_axes_input(ctx, 1);
    ctx.set_output(0, ctx.type(0), ctx.shape(0));
  };
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<Mvn6Attrs>();
    reference::mean_variance_normalize(ctx.inputs[0], read_axes(ctx.inputs[1], ctx.inputs[0].dims.size()),
                                       attrs.normalize_variance, attrs.eps, attrs.eps_mode, ctx.outputs[0]);
  };
  return schema;
}

}  // namespace terroir::ops
