// What: running sums along an axis. Shapes: the output has the input's; the axis is the optional scalar in input 1, 0
// without it. Types: numeric.
// Formula: y_k = x_0 + ... + x_k; without x_k when exclusive; from the other end when reverse.
// Edge cases: integers wrap. Source: operation page CumSum-3.
#include "ops/defs/elementwise/unary.hpp"
#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

struct CumSumAttrs {
  bool exclusive = false;
  bool reverse = false;

  template <class V>
  void visit(V& v) {
    v("exclusive", exclusive);
    v("reverse", reverse);
  }
};

void infer_cumsum(ir::InferContext& ctx) {
  const PartialShape& shape = ctx.shape(0);
  const auto axis = ctx.input_count() > 1 ? known_integer(ctx, 1, "axis") : 0;
  if (axis && shape.rank().is_static()) normalize_axis(*axis, static_cast<int64_t>(shape.size()));
  ctx.set_output(0, ctx.type(0), shape);
}

void evaluate(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<CumSumAttrs>();
  const ir::TensorView& src = ctx.inputs[0];
  const int64_t given = ctx.inputs.size() > 1 ? read_integer(ctx.inputs[1], "axis") : 0;
  const auto axis = static_cast<size_t>(normalize_axis(given, static_cast<int64_t>(src.dims.size())));
  const int64_t count = src.count();
  if (count == 0) return;
  const int64_t extent = src.dims[axis];
  int64_t inner = 1;
  for (size_t i = axis + 1; i < src.dims.size(); ++i) inner *= src.dims[i];
  reference::dispatch_type<TERROIR_NUMBERS>(src.type, "CumSum", [&](auto tag) {
    using T = decltype(tag);
    for (int64_t outer = 0; outer < count; outer += extent * inner) {
      for (int64_t i = 0; i < inner; ++i) {
        reference::sum_t<T> sum{};
        for (int64_t k = 0; k < extent; ++k) {
          const int64_t at = outer + (attrs.reverse ? extent - 1 - k : k) * inner + i;
          const auto before = sum;
          sum += reference::to_sum(src.as<T>()[at]);
          ctx.outputs[0].as<T>()[at] = reference::from_sum<T>(attrs.exclusive ? before : sum);
        }
      }
    }
  });
}

}  // namespace

ir::OpSchema cumsum_3() {
  ir::OpSchema schema;
  schema.arity = {1, 2, 1};
  schema.make_attributes = &ir::make_attributes<CumSumAttrs>;
  schema.infer = &infer_cumsum;
  schema.reference = &evaluate;
  return schema;
}

}  // namespace terroir::ops
