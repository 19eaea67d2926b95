#include "ops/defs/normalization/group_normalization.hpp"

#include "ops/reference/normalization/normalization.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_group_normalization(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<GroupNormalizationAttrs>();
  ctx.require(attrs.num_groups > 0, "num_groups must be positive, got ", attrs.num_groups);
  ctx.require(attrs.epsilon > 0, "epsilon must be positive, got ", attrs.epsilon);
  require_rank(ctx, 0, "data", 2, INT64_MAX);
  PartialShape output = ctx.shape(0);
  element::Type type = ctx.type(0);
  Dimension channels = output.rank().is_static() ? output[1] : Dimension();
  for (int input = 1; input < 3; ++input) {
    const char* name = input == 1 ? "scale" : "bias";
    ctx.require(element::Type::merge(type, type, ctx.type(input)), name, " (input ", input, ") must have the type ",
                type, " of data, got ", ctx.type(input));
    require_rank(ctx, input, name, 1, 1);
    const Dimension length = ctx.shape(input).rank().is_static() ? ctx.shape(input)[0] : Dimension();
    ctx.require(Dimension::merge(channels, channels, length), name, " (input ", input,
                ") must have one element for each of ", channels, " channels, got ", ctx.shape(input));
  }
  ctx.require(channels.is_dynamic() || channels.get_length() % attrs.num_groups == 0, "num_groups ", attrs.num_groups,
              " does not divide the ", channels, " channels of data");
  if (output.rank().is_static()) output[1] = channels;
  ctx.set_output(0, type, std::move(output));
}

}  // namespace

ir::OpSchema group_normalization_12() {
  ir::OpSchema schema;
  schema.arity = {3, 3, 1};
  schema.make_attributes = &ir::make_attributes<GroupNormalizationAttrs>;
  schema.infer = &infer_group_normalization;
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<GroupNormalizationAttrs>();
    reference::group_norm(ctx.inputs[0], ctx.inputs[1], ctx.inputs[2], attrs.num_groups, attrs.epsilon, ctx.outputs[0]);
  };
  return schema;
}

}  // namespace terroir::ops
