#include "ops/defs/condition/bucketize.hpp"

#include "ops/defs/elementwise/unary.hpp"
#include "ops/reference/sort/search.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_bucketize(ir::InferContext& ctx) {
  const element::Type type = ctx.attrs<BucketizeAttrs>().output_type;
  ctx.require(type == element::i32 || type == element::i64, "output_type must be i32 or i64, got ",
              type.get_type_name());
  require_rank(ctx, 1, "buckets", 1, 1);
  if (ctx.shape(1).rank().is_static()) require_positions_fit(ctx, type, ctx.shape(1)[0]);
  ctx.set_output(0, type, ctx.shape(0));
}

/// The elements as T, for sequences and values of different types.
template <class T>
void bucketize_as(const std::vector<T>& data, const std::vector<T>& buckets, bool after_equal,
                  const ir::MutableTensorView& dst) {
  const auto view = [](const std::vector<T>& values) {
    return ir::TensorView{element::from<T>(), {static_cast<int64_t>(values.size())}, values.data()};
  };
  reference::search_sorted(view(buckets), view(data), after_equal, dst);
}

void evaluate(const ir::EvalContext& ctx) {
  const bool after_equal = !ctx.attrs<BucketizeAttrs>().with_right_bound;
  const ir::TensorView& data = ctx.inputs[0];
  const ir::TensorView& buckets = ctx.inputs[1];
  // Only u64 beyond 2^63 and i64 beyond 2^53 beside numbers of another type are compared rounded.
  const auto exact = [](element::Type type) { return !type.is_real() && type != element::u64; };
  if (data.type == buckets.type)
    reference::search_sorted(buckets, data, after_equal, ctx.outputs[0]);
  else if (exact(data.type) && exact(buckets.type))
    bucketize_as(ir::to_integers(data), ir::to_integers(buckets), after_equal, ctx.outputs[0]);
  else
    bucketize_as(ir::to_reals(data), ir::to_reals(buckets), after_equal, ctx.outputs[0]);
}

}  // namespace

ir::OpSchema bucketize_3() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<BucketizeAttrs>;
  schema.infer = &infer_bucketize;
  schema.reference = &evaluate;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
