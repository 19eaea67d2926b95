// What: Einstein summation of any number of operands. Formula and equation: ops/shape/einsum.hpp.
// Shapes: equal names have equal extents or 1; a name twice in one operand takes its diagonal.
// Types: numeric, all equal. Edge cases: a sum over no elements is 0; integers wrap.
// Source: operation page Einsum-7.
#include "ops/reference/matrix/einsum.hpp"
#include "ops/defs/elementwise/binary.hpp"

namespace terroir::ops {
namespace {

void infer_einsum(ir::InferContext& ctx) {
  element::Type type = ctx.type(0);
  std::vector<PartialShape> shapes;
  for (int i = 0; i < ctx.input_count(); ++i) {
    ctx.require(element::Type::merge(type, type, ctx.type(i)), "the types of all inputs must be equal, got ",
                type.get_type_name(), " and ", ctx.type(i).get_type_name());
    shapes.push_back(ctx.shape(i));
  }
  ctx.set_output(0, type, einsum_shape(EinsumEquation(ctx.attrs<EinsumAttrs>().equation), shapes));
}

}  // namespace

ir::OpSchema einsum_7() {
  ir::OpSchema schema;
  schema.arity = {1, ir::kVariadic, 1};
  schema.make_attributes = &ir::make_attributes<EinsumAttrs>;
  schema.infer = &infer_einsum;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::einsum(EinsumEquation(ctx.attrs<EinsumAttrs>().equation), ctx.inputs, ctx.outputs[0]);
  };
  return schema;
}

}  // namespace terroir::ops
