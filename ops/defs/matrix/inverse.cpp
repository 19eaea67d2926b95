// What: inverse or adjugate of square matrices. Shapes: [..., n, n] -> the same. Types: floating point.
// Edge cases: a singular matrix gives infinities or NaN. Source: operation page Inverse-14.
#include "ops/reference/matrix/inverse.hpp"

#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

/// `adjoint` asks for the adjugate: inverse times determinant.
struct InverseAttrs {
  bool adjoint = false;

  template <class V>
  void visit(V& v) {
    v("adjoint", adjoint);
  }
};

void infer_inverse(ir::InferContext& ctx) {
  require_rank(ctx, 0, "data", 2, INT64_MAX);
  PartialShape shape = ctx.shape(0);
  if (shape.rank().is_static()) {
    Dimension side;
    ctx.require(Dimension::merge(side, shape[-2], shape[-1]), "the matrices must be square, got ", shape);
    shape[-2] = shape[-1] = side;
  }
  ctx.set_output(0, ctx.type(0), shape);
}

}  // namespace

ir::OpSchema inverse_14() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<InverseAttrs>;
  schema.infer = &infer_inverse;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::inverse(ctx.inputs[0], ctx.outputs[0], ctx.attrs<InverseAttrs>().adjoint);
  };
  return schema;
}

}  // namespace terroir::ops
