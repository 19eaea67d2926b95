#include "ops/defs/shape/shape_of.hpp"

#include <limits>

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_as(ir::InferContext& ctx, element::Type type) {
  const Rank rank = ctx.shape(0).rank();
  ctx.set_output(0, type, PartialShape{rank.is_static() ? rank : Dimension::dynamic()});
}

std::optional<std::vector<Dimension>> dimensions_of_shape_of(ir::InferContext& ctx) {
  const PartialShape& shape = ctx.shape(0);
  if (shape.rank().is_dynamic()) return std::nullopt;
  return std::vector<Dimension>(shape.begin(), shape.end());
}

void reference(const ir::EvalContext& ctx) {
  const ir::Dims& dims = ctx.inputs[0].dims;
  const ir::MutableTensorView& output = ctx.outputs[0];
  if (output.count() != static_cast<int64_t>(dims.size()))
    throw_error(ErrorCode::shape_mismatch, "ShapeOf: the output was planned for rank ", output.count(), ", not ",
                dims.size());
  if (output.type == element::i64) {
    std::copy(dims.begin(), dims.end(), output.as<int64_t>());
    return;
  }
  auto* narrow = output.as<int32_t>();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] > std::numeric_limits<int32_t>::max())
      throw_error(ErrorCode::invalid_argument, "ShapeOf: extent ", dims[i], " of axis ", i, " does not fit i32");
    narrow[i] = static_cast<int32_t>(dims[i]);
  }
}

ir::OpSchema schema_of(ir::InferFn infer) {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.infer = infer;
  schema.reference = &reference;
  schema.dimensions = &dimensions_of_shape_of;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace

ir::OpSchema shape_of_1() {
  return schema_of([](ir::InferContext& ctx) { infer_as(ctx, element::i64); });
}

ir::OpSchema shape_of_3() {
  auto schema = schema_of([](ir::InferContext& ctx) {
    const element::Type type = ctx.attrs<ShapeOfAttrs>().output_type;
    ctx.require(type == element::i64 || type == element::i32, "output_type must be i64 or i32, got ",
                type.get_type_name());
    if (ctx.shape(0).rank().is_static())
      for (const Dimension& extent : ctx.shape(0)) require_positions_fit(ctx, type, extent);
    infer_as(ctx, type);
  });
  schema.make_attributes = &ir::make_attributes<ShapeOfAttrs>;
  return schema;
}

}  // namespace terroir::ops
