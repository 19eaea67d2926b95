// What: SoftMax and LogSoftmax over one axis.
// Formula: y_k = e^(x_k - max) / sum_j e^(x_j - max); the logarithm of it for LogSoftmax.
// Shapes: the output has the input's, of rank 1 and more. Types: floating point.
// Edge cases: a slice with NaN or +inf, or of nothing but -inf, is NaN (as the formula says).
// Source: operation pages SoftMax-1 (axis from 0 on), SoftMax-8, LogSoftmax-5.
#include "ops/defs/reduction/softmax.hpp"

#include "ops/defs/elementwise/unary.hpp"
#include "ops/reference/reduction/softmax.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_softmax(ir::InferContext& ctx) {
  const PartialShape& shape = ctx.shape(0);
  if (shape.rank().is_static()) normalize_axis(ctx.attrs<SoftMaxAttrs>().axis, static_cast<int64_t>(shape.size()));
  ctx.set_output(0, ctx.type(0), shape);
}

template <bool kLogarithm>
void evaluate(const ir::EvalContext& ctx) {
  const ir::TensorView& src = ctx.inputs[0];
  const int64_t axis = normalize_axis(ctx.attrs<SoftMaxAttrs>().axis, static_cast<int64_t>(src.dims.size()));
  reference::softmax(src, ctx.outputs[0], axis, kLogarithm);
}

ir::OpSchema softmax_schema(ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<SoftMaxAttrs>;
  schema.infer = &infer_softmax;
  schema.reference = reference;
  return schema;
}

}  // namespace

ir::OpSchema softmax_1() {
  auto schema = softmax_schema(&evaluate<false>);
  schema.infer = [](ir::InferContext& ctx) {
    const int64_t axis = ctx.attrs<SoftMaxAttrs>().axis;
    ctx.require(axis >= 0, "axis must not be negative before opset8, got ", axis);
    infer_softmax(ctx);
  };
  return schema;
}

ir::OpSchema softmax_8() { return softmax_schema(&evaluate<false>); }

ir::OpSchema log_softmax_5() { return softmax_schema(&evaluate<true>); }

}  // namespace terroir::ops
