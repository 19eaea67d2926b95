#include "ops/defs/quantization/fake_convert.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/quantization/fake_convert.hpp"
#include "ops/shape/broadcast.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_fake_convert(ir::InferContext& ctx) {
  const element::Type to = ctx.attrs<FakeConvertAttrs>().destination_type;
  ctx.require(to == element::f8e4m3 || to == element::f8e5m2, "destination_type must be f8e4m3 or f8e5m2, got ", to);
  const char* names[] = {"data", "scale", "shift"};
  element::Type type = ctx.type(0);
  for (int input = 1; input < ctx.input_count(); ++input) {
    ctx.require(element::Type::merge(type, type, ctx.type(input)), names[input], " (input ", input,
                ") must have the type ", type, " of data, got ", ctx.type(input));
    const PartialShape &data = ctx.shape(0), &operand = ctx.shape(input);
    if (data.rank().is_static() && operand.rank().is_static())
      ctx.require(broadcast_shape(data, operand, {}).compatible(data), names[input], " (input ", input, ") of shape ",
                  operand, " does not broadcast to data of shape ", data);
  }
  if (ctx.input_count() == 3)
    ctx.require(ctx.shape(1).compatible(ctx.shape(2)), "shift (input 2) must have the shape ", ctx.shape(1),
                " of scale, got ", ctx.shape(2));
  ctx.set_output(0, type, ctx.shape(0));
}

}  // namespace

ir::OpSchema fake_convert_13() {
  ir::OpSchema schema;
  schema.arity = {2, 3, 1};
  schema.make_attributes = &ir::make_attributes<FakeConvertAttrs>;
  schema.infer = &infer_fake_convert;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::fake_convert(ctx.inputs[0], ctx.inputs[1], ctx.inputs.size() == 3 ? &ctx.inputs[2] : nullptr,
                            ctx.attrs<FakeConvertAttrs>().destination_type, ctx.outputs[0]);
  };
  schema.flags.elementwise = true;
  return schema;
}

}  // namespace terroir::ops
