#include "ops/defs/condition/bucketize.hpp"

#include <algorithm>

#include "ops/defs/elementwise/unary.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_bucketize(ir::InferContext& ctx) {
  const element::Type type = ctx.attrs<BucketizeAttrs>().output_type;
  ctx.require(type == element::i32 || type == element::i64, "output_type must be i32 or i64, got ",
              type.get_type_name());
  check_type_class(ctx, 0, TypeClass::number);
  check_type_class(ctx, 1, TypeClass::number);
  require_rank(ctx, 1, "buckets", 1, 1);
  ctx.set_output(0, type, ctx.shape(0));
}

template <class T>
void store_buckets(const std::vector<T>& data, const std::vector<T>& bounds, bool right,
                   const ir::MutableTensorView& dst) {
  for (size_t i = 0; i < data.size(); ++i) {
    const auto found = right ? std::lower_bound(bounds.begin(), bounds.end(), data[i])
                             : std::upper_bound(bounds.begin(), bounds.end(), data[i]);
    const int64_t index = found - bounds.begin();
    if (dst.type == element::i64) {
      dst.as<int64_t>()[i] = index;
    } else {
      dst.as<int32_t>()[i] = static_cast<int32_t>(index);
    }
  }
}

void evaluate(const ir::EvalContext& ctx) {
  const bool right = ctx.attrs<BucketizeAttrs>().with_right_bound;
  const ir::TensorView& data = ctx.inputs[0];
  const ir::TensorView& buckets = ctx.inputs[1];
  // Only u64 beyond 2^63 and i64 beyond 2^53 beside real numbers are compared rounded.
  const auto exact = [](element::Type type) { return !type.is_real() && type != element::u64; };
  if (exact(data.type) && exact(buckets.type)) {
    store_buckets(ir::to_integers(data), ir::to_integers(buckets), right, ctx.outputs[0]);
  } else {
    store_buckets(ir::to_reals(data), ir::to_reals(buckets), right, ctx.outputs[0]);
  }
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
