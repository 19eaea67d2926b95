#include "ops/defs/pooling/adaptive_pool.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/pooling/adaptive_pool.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

PartialShape adaptive_output(ir::InferContext& ctx) {
  require_rank(ctx, 0, "data", 3, 5);
  require_integer_type(ctx, 1, "output_shape");
  require_rank(ctx, 1, "output_shape", 1, 1);
  const PartialShape& data = ctx.shape(0);
  const auto length = known_length(ctx, 1);
  ctx.require(!length || (*length >= 1 && *length <= 3), "output_shape (input 1) must have 1 to 3 entries, got ",
              length.value_or(0));
  if (data.rank().is_dynamic() && !length) return PartialShape::dynamic();
  const size_t spatial_rank = data.rank().is_static() ? data.size() - 2 : static_cast<size_t>(*length);
  ctx.require(!length || *length == static_cast<int64_t>(spatial_rank), "output_shape (input 1) must have ",
              spatial_rank, " entries for data of shape ", data, ", got ", length.value_or(0));

  PartialShape output = PartialShape::dynamic(static_cast<int64_t>(spatial_rank) + 2);
  if (data.rank().is_static()) {
    output[0] = data[0];
    output[1] = data[1];
  }
  const auto values = ctx.integers(1);
  for (size_t i = 0; values && i < values->size(); ++i)
    ctx.require((*values)[i] > 0, "output_shape[", i, "] must be positive, got ", (*values)[i]);
  const auto extents = ctx.dimensions(1);
  for (size_t i = 0; extents && extents->size() == spatial_rank && i < spatial_rank; ++i)
    output[static_cast<std::ptrdiff_t>(2 + i)] = (*extents)[i];
  return output;
}

/// The output was allocated for the extents asked for, so they are read from it.
void require_pooled(const ir::EvalContext& ctx, const char* op) {
  const ir::Dims &data = ctx.inputs[0].dims, &output = ctx.outputs[0].dims;
  if (data.size() < 3 || data.size() > 5 || output.size() != data.size() || output[0] != data[0] ||
      output[1] != data[1])
    throw_error(ErrorCode::shape_mismatch, op, ": data ", data, " cannot be pooled to ", output);
}

}  // namespace

ir::OpSchema adaptive_avg_pool_8() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.infer = [](ir::InferContext& ctx) { ctx.set_output(0, ctx.type(0), adaptive_output(ctx)); };
  schema.reference = [](const ir::EvalContext& ctx) {
    require_pooled(ctx, "AdaptiveAvgPool");
    reference::adaptive_avg_pool(ctx.inputs[0], ctx.outputs[0]);
  };
  return schema;
}

ir::OpSchema adaptive_max_pool_8() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 2};
  schema.make_attributes = &ir::make_attributes<AdaptiveMaxPoolAttrs>;
  schema.infer = [](ir::InferContext& ctx) {
    const element::Type index = ctx.attrs<AdaptiveMaxPoolAttrs>().index_element_type;
    ctx.require(index == element::i32 || index == element::i64, "index_element_type must be i32 or i64, got ", index);
    const PartialShape output = adaptive_output(ctx);
    if (const PartialShape& data = ctx.shape(0); data.rank().is_static()) {
      const Dimension positions = product({data.begin() + 2, data.end()});
      require_positions_fit(ctx, index, positions);
      ctx.require(positions != 0 || data[0].get_min_length() == 0 || data[1].get_min_length() == 0, "data of shape ",
                  data, " has no maximum: a spatial extent is 0");
    }
    ctx.set_output(0, ctx.type(0), output);
    ctx.set_output(1, index, output);
  };
  schema.reference = [](const ir::EvalContext& ctx) {
    require_pooled(ctx, "AdaptiveMaxPool");
    reference::adaptive_max_pool(ctx.inputs[0], ctx.outputs[0], ctx.outputs[1]);
  };
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
