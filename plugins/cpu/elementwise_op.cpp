#include "plugins/cpu/elementwise_op.hpp"

#include "ir/base/aligned_buffer.hpp"
#include "ir/schema/infer_context.hpp"

namespace terroir::cpu {
namespace {

/// The result of every member, from the node's inputs on.
std::vector<ir::PortType> member_results(const ElementwiseAttrs& attrs, const std::vector<ir::PortType>& inputs) {
  std::vector<ir::PortType> results;
  for (const ElementwiseMember& member : attrs.members) {
    std::vector<ir::PortType> operands;
    for (int operand : member.operands)
      operands.push_back(operand >= 0 ? inputs[static_cast<size_t>(operand)]
                                      : results[static_cast<size_t>(-1 - operand)]);
    ir::InferContext ctx(*member.schema, *member.attributes, std::move(operands));
    member.schema->infer(ctx);
    results.push_back(ctx.outputs().front());
  }
  return results;
}

void infer_region(ir::InferContext& ctx) {
  std::vector<ir::PortType> inputs;
  for (int i = 0; i < ctx.input_count(); ++i) inputs.push_back({ctx.type(i), ctx.shape(i)});
  const ir::PortType result = member_results(ctx.attrs<ElementwiseAttrs>(), inputs).back();
  ctx.set_output(0, result.type, result.shape);
}

/// The references of the members, one after the other.
void compute_region(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<ElementwiseAttrs>();
  std::vector<ir::PortType> inputs;
  for (const ir::TensorView& input : ctx.inputs) inputs.push_back({input.type, PartialShape(ir::to_shape(input.dims))});
  const std::vector<ir::PortType> results = member_results(attrs, inputs);
  std::vector<AlignedBuffer> memory;
  std::vector<ir::TensorView> values;
  for (size_t m = 0; m < attrs.members.size(); ++m) {
    const ElementwiseMember& member = attrs.members[m];
    ir::MutableTensorView out = ctx.outputs[0];
    if (m + 1 < attrs.members.size()) {
      out = {results[m].type, ir::to_dims(results[m].shape.to_shape()), nullptr};
      memory.emplace_back(out.bytes());
      out.data = memory.back().data();
    }
    std::vector<ir::TensorView> operands;
    for (int operand : member.operands)
      operands.push_back(operand >= 0 ? ctx.inputs[static_cast<size_t>(operand)]
                                      : values[static_cast<size_t>(-1 - operand)]);
    member.schema->reference({*member.attributes, operands, std::span(&out, 1)});
    values.push_back({out.type, out.dims, out.data});
  }
}

}  // namespace

std::vector<std::string> ElementwiseAttrs::member_texts() const {
  std::vector<std::string> texts;
  for (const ElementwiseMember& member : members) {
    std::string text = member.schema->type + "(";
    for (size_t i = 0; i < member.operands.size(); ++i) {
      const int operand = member.operands[i];
      text += (i > 0 ? " " : "") + (operand >= 0 ? "#" + std::to_string(operand) : "m" + std::to_string(-1 - operand));
    }
    texts.push_back(text + ")");
  }
  return texts;
}

ir::OpSchema elementwise_schema() {
  ir::OpSchema schema;
  schema.type = kElementwiseType;
  schema.opset = "cpu";
  schema.arity = {1, ir::kVariadic, 1};
  schema.make_attributes = &ir::make_attributes<ElementwiseAttrs>;
  schema.infer = &infer_region;
  schema.reference = &compute_region;
  return schema;
}

}  // namespace terroir::cpu
