#include "plugins/cpu/quantized_op.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace terroir::cpu {
namespace {

uint8_t level_of(const QuantizeAttrs& attrs, float x) {
  const float most = static_cast<float>(attrs.levels - 1), level = (x - attrs.low) * attrs.steps();
  return static_cast<uint8_t>(std::nearbyint(std::isnan(level) ? 0.0f : std::clamp(level, 0.0f, most)));
}

void quantize(const QuantizeAttrs& attrs, const ir::TensorView& src, const ir::MutableTensorView& dst) {
  std::transform(src.as<float>(), src.as<float>() + src.count(), dst.as<uint8_t>(),
                 [&](float x) { return level_of(attrs, x); });
}

void infer_quantized(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<QuantizedAttrs>();
  ir::PortType result = infer_fused(ctx, attrs.fused, {{element::f32, ctx.shape(0)}, {ctx.type(1), ctx.shape(1)}});
  if (attrs.store) ctx.set_output(attrs.also_floats ? 1 : 0, element::u8, result.shape);
  if (attrs.stores_floats()) ctx.set_output(0, result.type, std::move(result.shape));
}

void compute_quantized(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<QuantizedAttrs>();
  const ir::TensorView& q = ctx.inputs[0];
  std::vector<float> data(static_cast<size_t>(q.count()));
  std::transform(q.as<uint8_t>(), q.as<uint8_t>() + q.count(), data.begin(),
                 [&](uint8_t level) { return attrs.scale * (static_cast<float>(level) - attrs.zero); });
  std::vector<ir::TensorView> inputs(ctx.inputs.begin(), ctx.inputs.end());
  inputs[0] = {element::f32, q.dims, data.data()};
  std::vector<float> values(attrs.stores_floats() ? 0 : static_cast<size_t>(ctx.outputs[0].count()));
  const ir::MutableTensorView floats =
      attrs.stores_floats() ? ctx.outputs[0] : ir::MutableTensorView{element::f32, ctx.outputs[0].dims, values.data()};
  compute_fused(attrs.fused, inputs, floats);
  if (attrs.store) quantize(*attrs.store, {element::f32, floats.dims, floats.data}, ctx.outputs.back());
}

}  // namespace

ir::OpSchema quantize_schema() {
  ir::OpSchema schema;
  schema.type = kQuantizeType;
  schema.opset = "cpu";
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<QuantizeAttrs>;
  schema.infer = [](ir::InferContext& ctx) { ctx.set_output(0, element::u8, ctx.shape(0)); };
  schema.reference = [](const ir::EvalContext& ctx) {
    quantize(ctx.attrs<QuantizeAttrs>(), ctx.inputs[0], ctx.outputs[0]);
  };
  return schema;
}

ir::OpSchema quantized_schema(std::string_view type) {
  ir::OpSchema schema;
  schema.type = type;
  schema.opset = "cpu";
  schema.arity = {3, ir::kVariadic, ir::kVariadic};
  schema.make_attributes = &ir::make_attributes<QuantizedAttrs>;
  schema.infer = &infer_quantized;
  schema.reference = &compute_quantized;
  return schema;
}

}  // namespace terroir::cpu
