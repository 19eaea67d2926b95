#include "plugins/cpu/quantized_op.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace terroir::cpu {
namespace {

/// Elements from one channel to the next, of axis 1.
int64_t plane_of(const ir::Dims& dims) {
  int64_t plane = 1;
  for (size_t axis = 2; axis < dims.size(); ++axis) plane *= dims[axis];
  return plane;
}

/// fn(element, channel) over a tensor.
template <class Fn>
void each_element(const ir::TensorView& view, Fn fn) {
  const int64_t plane = plane_of(view.dims), channels = view.dims.size() < 2 ? 1 : view.dims[1];
  for (int64_t i = 0; i < view.count(); ++i) fn(i, i / plane % channels);
}

uint8_t level_of(const QuantizeAttrs& attrs, float x, int64_t channel) {
  const float level = (x - attrs.low[channel]) * attrs.steps(channel);
  return static_cast<uint8_t>(std::nearbyint(std::isnan(level) ? 0.0f : std::clamp(level, 0.0f, attrs.most())));
}

void quantize(const QuantizeAttrs& attrs, const ir::TensorView& src, const ir::MutableTensorView& dst) {
  each_element(
      src, [&](int64_t i, int64_t channel) { dst.as<uint8_t>()[i] = level_of(attrs, src.as<float>()[i], channel); });
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
  each_element(q, [&](int64_t i, int64_t channel) {
    data[static_cast<size_t>(i)] =
        attrs.scale[channel] * (static_cast<float>(q.as<uint8_t>()[i]) - attrs.zero[channel]);
  });
  std::vector<ir::TensorView> inputs(ctx.inputs.begin(), ctx.inputs.end());
  inputs[0] = {element::f32, q.dims, data.data()};
  std::vector<float> values(attrs.stores_floats() ? 0 : static_cast<size_t>(ctx.outputs[0].count()));
  const ir::MutableTensorView floats =
      attrs.stores_floats() ? ctx.outputs[0] : ir::MutableTensorView{element::f32, ctx.outputs[0].dims, values.data()};
  compute_fused(attrs.fused, inputs, floats);
  if (attrs.store) quantize(*attrs.store, {element::f32, floats.dims, floats.data}, ctx.outputs.back());
}

}  // namespace

ByteStore byte_store_of(const std::vector<FusedOp>& chain, bool rounds) {
  const auto is_one = [&](size_t at, PostOpKind kind, OperandMode mode) {
    return at < chain.size() && chain[at].kind == kind && chain[at].mode == mode;
  };
  ByteStore store;
  store.first = is_one(0, PostOpKind::add, OperandMode::per_channel) ? 1 : 0;
  store.last = store.first;
  // With the tensor at hand: what is rounded after that is behind it.
  const bool is_sum = is_one(store.first, PostOpKind::add, OperandMode::tensor);
  for (size_t at = store.first; rounds && !is_sum && at + kRoundingSteps <= chain.size(); ++at) {
    if (chain[at].kind != PostOpKind::clamp || chain[at + 1].kind != PostOpKind::linear ||
        chain[at + 2].kind != PostOpKind::round_even || chain[at + 3].kind != PostOpKind::linear)
      continue;
    store.rounding = at;
    store.first_count = at - store.first;
    store.last = at + kRoundingSteps;
    break;
  }
  if (is_one(store.last, PostOpKind::add, OperandMode::tensor)) store.residual = store.last++;
  store.is_late = !rounds && !store.residual && chain.size() > store.last &&
                  is_one(chain.size() - 1, PostOpKind::add, OperandMode::tensor);
  if (store.is_late) store.residual = chain.size() - 1;
  return store;
}

std::array<FusedOp, kRoundingSteps> rounding_steps(const QuantizeAttrs& levels, float scale, float zero) {
  const float low = levels.low[0], high = levels.high[0], steps = levels.steps(0);
  const auto step = [](PostOpKind kind, float alpha, float beta) {
    return FusedOp{kind, OperandMode::scalar, alpha, beta};
  };
  return {step(PostOpKind::clamp, low, high), step(PostOpKind::linear, steps, -low * steps),
          step(PostOpKind::round_even, 0, 0), step(PostOpKind::linear, scale, -scale * zero)};
}

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

ir::OpSchema dequantize_schema() {
  ir::OpSchema schema;
  schema.type = kDequantizeType;
  schema.opset = "cpu";
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<DequantizeAttrs>;
  schema.flags.elementwise = true;
  schema.infer = [](ir::InferContext& ctx) { ctx.set_output(0, element::f32, ctx.shape(0)); };
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<DequantizeAttrs>();
    const auto* const q = ctx.inputs[0].as<uint8_t>();
    std::transform(q, q + ctx.inputs[0].count(), ctx.outputs[0].as<float>(),
                   [&](uint8_t level) { return attrs.scale * (static_cast<float>(level) - attrs.zero); });
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
