#include "plugins/cpu/ops.hpp"

#include <algorithm>
#include <cmath>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/schema/infer_context.hpp"
#include "ops/reference/copy.hpp"
#include "plugins/cpu/post_op_table.hpp"

namespace terroir::cpu {
namespace {

/// What the base op's inference sees of a fused node: its own inputs only.
class BaseContext final : public ir::InferContext {
 public:
  BaseContext(ir::InferContext& outer, const FusedAttrs& attrs, std::vector<ir::PortType> inputs)
      : InferContext(*attrs.base, *attrs.base_attributes, std::move(inputs)), outer_(outer) {}
  std::optional<ir::TensorView> value(int input) override { return outer_.value(input); }
  std::optional<std::vector<Dimension>> dimensions(int input) override { return outer_.dimensions(input); }

 private:
  ir::InferContext& outer_;
};

const char* mode_name(OperandMode mode) {
  switch (mode) {
    case OperandMode::scalar:
      return "scalar";
    case OperandMode::per_channel:
      return "per_channel";
    case OperandMode::tensor:
      return "tensor";
  }
  return "";
}

}  // namespace

ir::PortType infer_fused(ir::InferContext& outer, const FusedAttrs& attrs, std::vector<ir::PortType> inputs) {
  BaseContext base(outer, attrs, std::move(inputs));
  attrs.base->infer(base);
  return {base.outputs().front().type, base.outputs().front().shape};
}

void compute_fused(const FusedAttrs& attrs, std::span<const ir::TensorView> inputs, const ir::MutableTensorView& dst) {
  ir::MutableTensorView outputs[] = {dst};
  attrs.base->reference({*attrs.base_attributes, inputs.first(static_cast<size_t>(attrs.base_inputs)), outputs});
  auto* data = dst.as<float>();
  const int64_t count = dst.count();
  int64_t inner = 1;
  for (size_t axis = static_cast<size_t>(attrs.channel_axis) + 1; axis < dst.dims.size(); ++axis)
    inner *= dst.dims[axis];
  for (const FusedOp& op : attrs.chain) {
    const ir::TensorView* const input = op.operand >= 0 ? &inputs[static_cast<size_t>(op.operand)] : nullptr;
    if (input && input->type == element::u8) {
      for (int64_t i = 0; i < count; ++i) data[i] += op.alpha * static_cast<float>(input->as<uint8_t>()[i]) + op.beta;
      continue;
    }
    const float* operand = input ? input->as<float>() : nullptr;
    const int64_t channels = op.mode == OperandMode::per_channel ? inputs[static_cast<size_t>(op.operand)].count() : 1;
    for (int64_t i = 0; i < count; ++i) {
      const float value = !operand                              ? op.alpha
                          : op.mode == OperandMode::tensor      ? operand[i]
                          : op.mode == OperandMode::per_channel ? operand[i / inner % channels]
                                                                : operand[0];
      data[i] = apply_post_op(op, data[i], value);
    }
  }
}

std::string to_string(const FusedOp& op) {
  std::string text = post_op_name(op.kind);
  if (op.operand >= 0) {
    text += concat("(", mode_name(op.mode), " #", op.operand);
    if (op.alpha != 0) text += concat(" * ", op.alpha, " + ", op.beta);
    return text + ")";
  }
  if (op.alpha != 0 || op.beta != 0) text += concat("(", op.alpha, " ", op.beta, ")");
  return text;
}

CpuOps::CpuOps(const ir::OpRegistry& registry) {
  ir::OpSchema reorder;
  reorder.type = kReorderType;
  reorder.opset = "cpu";
  reorder.arity = {1, 1, 1};
  reorder.make_attributes = &ir::make_attributes<ReorderAttrs>;
  reorder.infer = [](ir::InferContext& ctx) { ctx.set_output(0, ctx.type(0), ctx.shape(0)); };
  reorder.reference = &ops::reference::copy;
  reorder.accuracy = ir::Accuracy::exact;
  reorder_ = &own_.add(std::move(reorder));
  attention_ = &own_.add(attention_schema());
  rms_norm_ = &own_.add(rms_norm_schema());
  convolution_chain_ = &own_.add(convolution_chain_schema());
  elementwise_ = &own_.add(elementwise_schema());
  quantize_ = &own_.add(quantize_schema());
  dequantize_ = &own_.add(dequantize_schema());
  quantized_convolution_ = &own_.add(quantized_schema(kQuantizedConvolutionType));
  quantized_matmul_ = &own_.add(quantized_schema(kQuantizedMatMulType));
  bf16_convolution_ = &own_.add(bf16_schema(kBf16ConvolutionType));
  bf16_matmul_ = &own_.add(bf16_schema(kBf16MatMulType));
  compressed_matmul_ = &own_.add(compressed_schema());

  std::vector<std::string> types = {"Convolution",
                                    "GroupConvolution",
                                    "ConvolutionBackpropData",
                                    "GroupConvolutionBackpropData",
                                    "MVN",
                                    "GroupNormalization",
                                    "Interpolate",
                                    "MatMul"};
  for (const PostOpRow& row : post_op_rows()) types.emplace_back(row.type);
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  for (const std::string& type : types) {
    if (!registry.find(type, "opset16")) continue;
    ir::OpSchema fused;
    fused.type = type;
    fused.opset = "cpu";
    fused.arity = {1, ir::kVariadic, 1};
    fused.make_attributes = &ir::make_attributes<FusedAttrs>;
    fused.infer = [](ir::InferContext& ctx) {
      const auto& attrs = ctx.attrs<FusedAttrs>();
      std::vector<ir::PortType> inputs;
      for (int i = 0; i < attrs.base_inputs; ++i) inputs.push_back({ctx.type(i), ctx.shape(i)});
      ir::PortType result = infer_fused(ctx, attrs, std::move(inputs));
      ctx.set_output(0, result.type, std::move(result.shape));
    };
    fused.reference = [](const ir::EvalContext& ctx) {
      compute_fused(ctx.attrs<FusedAttrs>(), ctx.inputs, ctx.outputs[0]);
    };
    own_.add(std::move(fused));
  }
}

const ir::OpSchema* CpuOps::fused(const ir::OpSchema& base) const {
  return ir::opset_number(base.opset) > 0 ? own_.find(base.type, "cpu") : nullptr;
}

bool is_fused(const ir::Node& node) {
  return is_cpu_op(node) && dynamic_cast<const ir::AttributesOf<FusedAttrs>*>(node.attributes.get()) != nullptr;
}

bool is_quantized(const ir::Node& node) {
  return is_cpu_op(node) && (node.is(kQuantizedConvolutionType) || node.is(kQuantizedMatMulType));
}

bool is_bf16(const ir::Node& node) {
  return is_cpu_op(node) && (node.is(kBf16ConvolutionType) || node.is(kBf16MatMulType));
}

bool is_compressed(const ir::Node& node) { return is_cpu_op(node) && node.is(kCompressedMatMulType); }

const FusedAttrs* fused_attrs(const ir::Node& node) {
  if (is_fused(node)) return &node.attrs<FusedAttrs>();
  if (is_bf16(node)) return &node.attrs<Bf16Attrs>().fused;
  if (is_compressed(node)) return &node.attrs<CompressedAttrs>().fused;
  return is_quantized(node) ? &node.attrs<QuantizedAttrs>().fused : nullptr;
}

const ir::Attributes& base_attributes(const ir::Node& node) {
  const FusedAttrs* const fused = fused_attrs(node);
  return fused ? *fused->base_attributes : *node.attributes;
}

const ir::OpSchema& base_schema(const ir::Node& node) {
  const FusedAttrs* const fused = fused_attrs(node);
  return fused ? *fused->base : *node.schema;
}

int base_input_count(const ir::Node& node) {
  const FusedAttrs* const fused = fused_attrs(node);
  return fused ? fused->base_inputs : static_cast<int>(node.inputs.size());
}

}  // namespace terroir::cpu
