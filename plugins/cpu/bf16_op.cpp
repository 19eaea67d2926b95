#include "plugins/cpu/bf16_op.hpp"

#include <algorithm>
#include <vector>

#include "terroir/bfloat16.hpp"

namespace terroir::cpu {
namespace {

void infer_bf16(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<Bf16Attrs>();
  std::vector<ir::PortType> inputs = {{element::f32, ctx.shape(0)}};
  for (int i = 1; i < attrs.fused.base_inputs; ++i) inputs.push_back({ctx.type(i), ctx.shape(i)});
  ir::PortType result = infer_fused(ctx, attrs.fused, std::move(inputs));
  ctx.set_output(0, attrs.stores_bf16 ? element::bf16 : result.type, std::move(result.shape));
}

/// As floats, if they are or were numbers of bf16.
std::vector<float> as_floats(const ir::TensorView& view) {
  std::vector<float> floats(static_cast<size_t>(view.count()));
  if (view.type == element::bf16)
    std::copy_n(view.as<bfloat16>(), view.count(), floats.begin());
  else
    std::copy_n(view.as<float>(), view.count(), floats.begin());
  return floats;
}

void round_to_bf16(std::vector<float>& values) {
  for (float& value : values) value = bfloat16(value);
}

void compute_bf16(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<Bf16Attrs>();
  const ir::Dims& weights = ctx.inputs[1].dims;
  const bool depthwise = attrs.fused.base->type == "GroupConvolution" && weights[1] == 1 && weights[2] == 1;
  const size_t rounded = depthwise ? 0 : static_cast<size_t>(attrs.fused.base_inputs);
  std::vector<std::vector<float>> values;
  std::vector<ir::TensorView> inputs;
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    if (ctx.inputs[i].type != element::f32 && ctx.inputs[i].type != element::bf16) {  // extents
      inputs.push_back(ctx.inputs[i]);
      values.emplace_back();
      continue;
    }
    values.push_back(as_floats(ctx.inputs[i]));
    if (i < rounded) round_to_bf16(values.back());
    inputs.push_back({element::f32, ctx.inputs[i].dims, values.back().data()});
  }
  const ir::MutableTensorView& output = ctx.outputs[0];
  if (!attrs.stores_bf16) return compute_fused(attrs.fused, inputs, output);
  std::vector<float> result(static_cast<size_t>(output.count()));
  compute_fused(attrs.fused, inputs, {element::f32, output.dims, result.data()});
  std::copy(result.begin(), result.end(), output.as<bfloat16>());
}

}  // namespace

ir::OpSchema bf16_schema(std::string_view type) {
  ir::OpSchema schema;
  schema.type = type;
  schema.opset = "cpu";
  schema.arity = {2, ir::kVariadic, 1};
  schema.make_attributes = &ir::make_attributes<Bf16Attrs>;
  schema.infer = &infer_bf16;
  schema.reference = &compute_bf16;
  return schema;
}

}  // namespace terroir::cpu
