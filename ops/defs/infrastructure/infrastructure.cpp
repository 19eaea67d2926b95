// Parameter, Const, Result: the ends of a graph. Their attributes are in ir/schema/infrastructure.hpp because readers
// and builders know them by name.
// Source: Parameter-1, Constant-1, Result-1.
#include "ir/schema/infrastructure.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/copy.hpp"

namespace terroir::ops {

ir::OpSchema parameter_1() {
  ir::OpSchema schema;
  schema.arity = {0, 0, 1};
  schema.make_attributes = &ir::make_attributes<ir::ParameterAttrs>;
  schema.infer = [](ir::InferContext& ctx) {
    const auto& attrs = ctx.attrs<ir::ParameterAttrs>();
    ctx.set_output(0, attrs.element_type, attrs.shape);
  };
  schema.accuracy = ir::Accuracy::exact;
  schema.flags.pure = false;  // its value comes from outside
  return schema;
}

ir::OpSchema constant_1() {
  ir::OpSchema schema;
  schema.arity = {0, 0, 1};
  schema.make_attributes = &ir::make_attributes<ir::ConstAttrs>;
  schema.infer = [](ir::InferContext& ctx) {
    const auto& attrs = ctx.attrs<ir::ConstAttrs>();
    ctx.set_output(0, attrs.element_type, attrs.shape);
  };
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema result_1() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.infer = [](ir::InferContext& ctx) { ctx.set_output(0, ctx.type(0), ctx.shape(0)); };
  schema.reference = &reference::copy;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
