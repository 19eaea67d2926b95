#include "ops/defs/quantization/fake_quantize.hpp"

#include <algorithm>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/quantization/fake_quantize.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

constexpr const char* kNames[] = {"X", "input_low", "input_high", "output_low", "output_high"};

/// Without the leading extents that reach beyond `rank`, where these are (or may be) one.
template <class Extent>
std::vector<Extent> trimmed(std::vector<Extent> dims, size_t rank) {
  while (dims.size() > rank && Dimension(dims.front()).compatible(1)) dims.erase(dims.begin());
  return dims;
}

void check_limit(const ir::InferContext& ctx, const BroadcastRule& rule, int input) {
  const PartialShape& x = ctx.shape(0);
  const PartialShape& limit = ctx.shape(input);
  if (x.rank().is_dynamic() || limit.rank().is_dynamic()) return;
  const PartialShape fitting = trimmed(std::vector<Dimension>(limit.begin(), limit.end()), x.size());
  const bool fits = broadcast_shape(x, fitting, rule).compatible(x);
  ctx.require(fits, kNames[input], " (input ", input, ") of shape ", limit, " does not broadcast to X of shape ", x);
}

void infer_fake_quantize(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<FakeQuantizeAttrs>();
  ctx.require(attrs.levels >= 2, "levels must be at least 2, got ", attrs.levels);
  element::Type type = ctx.type(0);
  for (int input = 1; input < 5; ++input) {
    ctx.require(element::Type::merge(type, type, ctx.type(input)), kNames[input], " (input ", input,
                ") must have the type ", type, " of X, got ", ctx.type(input));
    check_limit(ctx, attrs.broadcast, input);
  }
  ctx.set_output(0, type, ctx.shape(0));
}

void evaluate_fake_quantize(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<FakeQuantizeAttrs>();
  std::array<ir::TensorView, 4> limits;
  std::array<ir::Dims, 4> dims;
  for (size_t i = 0; i < 4; ++i) {
    limits[i] = ctx.inputs[i + 1];
    dims[i] = align_limit(attrs, ctx.inputs[0].dims, limits[i].dims);
  }
  reference::fake_quantize(ctx.inputs[0], limits, dims, attrs.levels, ctx.outputs[0]);
}

}  // namespace

ir::Dims align_limit(const FakeQuantizeAttrs& attrs, const ir::Dims& x, const ir::Dims& limit) {
  ir::Dims aligned = align_operand(x, trimmed(limit, x.size()), attrs.broadcast);
  bool fits = aligned.size() <= x.size();
  if (fits) aligned.insert(aligned.begin(), x.size() - aligned.size(), 1);
  for (size_t axis = 0; fits && axis < x.size(); ++axis) fits = aligned[axis] == 1 || aligned[axis] == x[axis];
  if (!fits)
    throw_error(ErrorCode::shape_mismatch, "a limit of shape ", limit, " does not broadcast to X of shape ", x);
  return aligned;
}

ir::OpSchema fake_quantize_1() {
  ir::OpSchema schema;
  schema.arity = {5, 5, 1};
  schema.make_attributes = &ir::make_attributes<FakeQuantizeAttrs>;
  schema.infer = &infer_fake_quantize;
  schema.reference = &evaluate_fake_quantize;
  schema.flags.elementwise = true;
  return schema;
}

}  // namespace terroir::ops
