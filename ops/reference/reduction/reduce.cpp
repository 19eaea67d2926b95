#include "ops/reference/reduction/reduce.hpp"

#include "ir/schema/infer_context.hpp"

namespace terroir::ops::reference {

ReducePlan plan_reduce(const ir::EvalContext& ctx) {
  const ir::TensorView& data = ctx.inputs[0];
  const auto rank = static_cast<int64_t>(data.dims.size());
  const auto axes = axis_set(ir::to_integers(ctx.inputs[1]), rank);
  ReducePlan plan;
  plan.kept = with_ones(data.dims, axes);
  plan.outputs = ir::element_count(plan.kept);
  ir::Dims reduced;
  for (int64_t axis : axes) reduced.push_back(data.dims[static_cast<size_t>(axis)]);
  plan.per_output = ir::element_count(reduced);
  if (plan.outputs != ctx.outputs[0].count())
    throw_error(ErrorCode::shape_mismatch, "the output of shape ", ctx.outputs[0].dims,
                " cannot hold the reduction of ", data.dims, " over the axes ", axes);
  return plan;
}

}  // namespace terroir::ops::reference
