#include "ops/defs/normalization/batch_norm_inference.hpp"

#include "ops/reference/normalization/normalization.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_with(ir::InferContext& ctx, const BatchNormInputs& at) {
  const auto& attrs = ctx.attrs<BatchNormInferenceAttrs>();
  ctx.require(attrs.epsilon >= 0, "epsilon must be non-negative, got ", attrs.epsilon);
  require_rank(ctx, at.data, "data", 2, INT64_MAX);

  const struct {
    int input;
    const char* name;
  } parameters[] = {{at.gamma, "gamma"}, {at.beta, "beta"}, {at.mean, "mean"}, {at.variance, "variance"}};
  PartialShape output = ctx.shape(at.data);
  element::Type type = ctx.type(at.data);
  Dimension channels = output.rank().is_static() ? output[1] : Dimension();
  for (const auto& [input, name] : parameters) {
    ctx.require(element::Type::merge(type, type, ctx.type(input)), name, " (input ", input, ") must have the type ",
                type, " of data, got ", ctx.type(input));
    require_rank(ctx, input, name, 1, 1);
    const Dimension length = ctx.shape(input).rank().is_static() ? ctx.shape(input)[0] : Dimension();
    ctx.require(Dimension::merge(channels, channels, length), name, " (input ", input,
                ") must have one element for each of ", channels, " channels, got ", ctx.shape(input));
  }
  if (output.rank().is_static()) output[1] = channels;
  ctx.set_output(0, type, std::move(output));
}

void evaluate_with(const ir::EvalContext& ctx, const BatchNormInputs& at) {
  const auto input = [&](int i) -> const ir::TensorView& { return ctx.inputs[static_cast<size_t>(i)]; };
  reference::batch_norm(input(at.data), input(at.gamma), input(at.beta), input(at.mean), input(at.variance),
                        ctx.attrs<BatchNormInferenceAttrs>().epsilon, ctx.outputs[0]);
}

ir::OpSchema schema_with(ir::InferFn infer, ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = {5, 5, 1};
  schema.make_attributes = &ir::make_attributes<BatchNormInferenceAttrs>;
  schema.infer = infer;
  schema.reference = reference;
  return schema;
}

}  // namespace

ir::OpSchema batch_norm_inference_1() {
  return schema_with(
      [](ir::InferContext& ctx) { infer_with(ctx, batch_norm_1_inputs(ctx.shape(0).rank(), ctx.shape(2).rank())); },
      [](const ir::EvalContext& ctx) {
        evaluate_with(ctx, batch_norm_1_inputs(static_cast<int64_t>(ctx.inputs[0].dims.size()),
                                               static_cast<int64_t>(ctx.inputs[2].dims.size())));
      });
}

ir::OpSchema batch_norm_inference_5() {
  return schema_with([](ir::InferContext& ctx) { infer_with(ctx, kDataFirst); },
                     [](const ir::EvalContext& ctx) { evaluate_with(ctx, kDataFirst); });
}

}  // namespace terroir::ops
