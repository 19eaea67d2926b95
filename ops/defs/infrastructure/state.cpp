#include "ops/defs/infrastructure/state.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/copy.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_same(ir::InferContext& ctx) { ctx.set_output(0, ctx.type(0), ctx.shape(0)); }

void infer_read_value(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<ReadValueAttrs>();
  element::Type type = attrs.variable_type;
  PartialShape shape = attrs.variable_shape;
  if (ctx.input_count() > 0) {
    ctx.require(element::Type::merge(type, type, ctx.type(0)), "the initial value has type ",
                ctx.type(0).get_type_name(), ", the variable ", attrs.variable_type.get_type_name());
    ctx.require(shape.compatible(ctx.shape(0)), "the initial value has shape ", ctx.shape(0), ", the variable ", shape);
  }
  // A file that does not say the variable's shape says its output's.
  if (shape.rank().is_dynamic()) {
    if (const auto declared = ctx.declared(0)) {
      shape = declared->shape;
    } else if (ctx.input_count() > 0) {
      shape = ctx.shape(0);
    }
  }
  ctx.set_output(0, type, std::move(shape));
}

ir::OpSchema variable_schema() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<VariableAttrs>;
  schema.infer = &infer_same;
  schema.reference = &reference::copy;
  schema.accuracy = ir::Accuracy::exact;
  schema.flags.pure = false;
  return schema;
}

}  // namespace

ir::OpSchema assign_3() { return variable_schema(); }
ir::OpSchema assign_6() { return variable_schema(); }
ir::OpSchema read_value_3() { return variable_schema(); }

ir::OpSchema read_value_6() {
  ir::OpSchema schema = variable_schema();
  schema.arity = {0, 1, 1};
  schema.make_attributes = &ir::make_attributes<ReadValueAttrs>;
  schema.infer = &infer_read_value;
  schema.reference = [](const ir::EvalContext& ctx) {
    if (ctx.inputs.empty())
      throw_error(ErrorCode::unsupported, "ReadValue: variable '", ctx.attrs<ReadValueAttrs>().variable_id,
                  "' has no value yet");
    reference::copy(ctx);
  };
  return schema;
}

ir::OpSchema identity_16() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.infer = &infer_same;
  schema.reference = &reference::copy;
  schema.dimensions = &same_dimensions;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
