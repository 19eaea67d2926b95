// What: matrix product of the last two axes, batched over the others.
// Formula: y[..., m, n] = sum_k a[..., m, k] * b[..., k, n].
// Shapes: the last two axes of an operand are swapped first when its transpose attribute says so. A vector stands for
// one row (a) or one column (b), is never transposed, and its axis does not appear in the output. The outer axes
// broadcast by numpy's rule. Scalars are refused.
// Types: numeric, equal. Edge cases: k = 0 gives zeros; integers wrap.
// Source: operation page MatMul-1.
#include "ops/defs/matrix/matmul.hpp"

#include "ops/defs/elementwise/binary.hpp"
#include "ops/reference/matrix/matmul.hpp"

namespace terroir::ops {
namespace {

struct Operand {
  std::vector<Dimension> batch;
  Dimension rows, cols;

  Operand(const PartialShape& shape, bool transpose, bool is_left) {
    if (shape.size() == 0)
      throw_error(ErrorCode::shape_mismatch, is_left ? "the first" : "the second", " operand must not be a scalar");
    if (shape.size() == 1) {
      rows = is_left ? Dimension(1) : shape[0];
      cols = is_left ? shape[0] : Dimension(1);
      return;
    }
    batch.assign(shape.begin(), shape.end() - 2);
    rows = shape[-2];
    cols = shape[-1];
    if (transpose) std::swap(rows, cols);
  }
};

void infer_matmul(ir::InferContext& ctx) {
  const element::Type type = merged_type(ctx, 0, 1);
  ctx.set_output(0, type, matmul_shape(ctx.shape(0), ctx.shape(1), ctx.attrs<MatMulAttrs>()));
}

}  // namespace

PartialShape matmul_shape(const PartialShape& a, const PartialShape& b, const MatMulAttrs& attrs) {
  if (a.rank().is_dynamic() || b.rank().is_dynamic()) return PartialShape::dynamic();
  const Operand left(a, attrs.transpose_a, true);
  const Operand right(b, attrs.transpose_b, false);
  if (!left.cols.compatible(right.rows))
    throw_error(ErrorCode::shape_mismatch, "cannot multiply ", a, attrs.transpose_a ? " (transposed)" : "", " by ", b,
                attrs.transpose_b ? " (transposed)" : "", ": the inner extents are ", left.cols, " and ", right.rows);
  PartialShape result(left.batch);
  if (!PartialShape::broadcast_merge_into(result, PartialShape(right.batch), op::AutoBroadcastType::NUMPY))
    throw_error(ErrorCode::shape_mismatch, "the outer axes of ", a, " and ", b, " do not broadcast");
  if (a.size() > 1) result.push_back(left.rows);
  if (b.size() > 1) result.push_back(right.cols);
  return result;
}

ir::OpSchema matmul_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<MatMulAttrs>;
  schema.infer = &infer_matmul;
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<MatMulAttrs>();
    reference::matmul(ctx.inputs[0], ctx.inputs[1], attrs.transpose_a, attrs.transpose_b, ctx.outputs[0]);
  };
  return schema;
}

}  // namespace terroir::ops
