#include "plugins/cpu/convolution_chain_op.hpp"

#include <algorithm>
#include <span>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/schema/infer_context.hpp"

namespace terroir::cpu {
namespace {

using ChainStage = ConvolutionChainAttrs::Stage;

ir::Dims mean_dims(ir::Dims dims) {
  std::fill(dims.begin() + 2, dims.end(), 1);
  return dims;
}

/// `results`: of the stages before.
std::vector<ir::PortType> stage_outputs(const ChainStage& stage, const std::vector<ir::Dims>& inputs,
                                        std::span<const ir::Dims> results) {
  std::vector<ir::PortType> ports;
  for (const int input : stage.inputs) {
    const ir::Dims& dims =
        input == ConvolutionChainAttrs::kPrevious ? results.back() : inputs[static_cast<size_t>(input)];
    ports.push_back({element::f32, PartialShape(ir::to_shape(dims))});
  }
  ir::InferContext context(*stage.schema, *stage.attributes, std::move(ports));
  stage.schema->infer(context);
  return context.outputs();
}

void infer_chain(ir::InferContext& ctx) {
  std::vector<ir::Dims> inputs;
  for (int i = 0; i < ctx.input_count(); ++i) inputs.push_back(ir::to_dims(ctx.shape(i).to_shape()));
  const ir::Dims result = stage_results(ctx.attrs<ConvolutionChainAttrs>(), inputs).back();
  ctx.set_output(0, element::f32, PartialShape(ir::to_shape(result)));
  if (ctx.attrs<ConvolutionChainAttrs>().mean)
    ctx.set_output(1, element::f32, PartialShape(ir::to_shape(mean_dims(result))));
}

void compute_chain(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<ConvolutionChainAttrs>();
  std::vector<ir::Dims> extents;
  for (const ir::TensorView& input : ctx.inputs) extents.push_back(input.dims);
  const std::vector<ir::Dims> results = stage_results(attrs, extents);
  AlignedBuffer previous, next;
  for (size_t s = 0; s < attrs.stages.size(); ++s) {
    const ChainStage& stage = attrs.stages[s];
    std::vector<ir::TensorView> inputs;
    for (const int input : stage.inputs)
      inputs.push_back(input == ConvolutionChainAttrs::kPrevious
                           ? ir::TensorView{element::f32, results[s - 1], previous.data()}
                           : ctx.inputs[static_cast<size_t>(input)]);
    const bool last = s + 1 == attrs.stages.size();
    if (!last) next = AlignedBuffer(ir::byte_size(element::f32, ir::element_count(results[s])));
    std::vector<ir::MutableTensorView> outputs{{element::f32, results[s], last ? ctx.outputs[0].data : next.data()}};
    const std::vector<ir::PortType> ports = stage_outputs(stage, extents, {results.data(), s});
    AlignedBuffer unused;  // the places of a MaxPool's maxima
    if (ports.size() > 1) {
      unused = AlignedBuffer(ir::byte_size(ports[1].type, ir::element_count(results[s])));
      outputs.push_back({ports[1].type, results[s], unused.data()});
    }
    stage.schema->reference({*stage.attributes, inputs, outputs});
    previous = std::move(next);
  }
  if (!attrs.mean) return;
  const auto* values = ctx.outputs[0].as<float>();
  const int64_t means = ctx.outputs[1].count(), n = ctx.outputs[0].count() / std::max<int64_t>(means, 1);
  for (int64_t i = 0; i < means; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += static_cast<double>(values[i * n + k]);
    ctx.outputs[1].as<float>()[i] = static_cast<float>(sum / static_cast<double>(n));
  }
}

}  // namespace

std::string ConvolutionChainAttrs::text_of(const ChainStage& stage) {
  std::string text = stage.schema->type + "(";
  for (size_t i = 0; i < stage.inputs.size(); ++i)
    text += (i > 0 ? ", " : "") +
            (stage.inputs[i] == kPrevious ? std::string("previous") : "#" + std::to_string(stage.inputs[i]));
  text += ")";
  for (const ir::AttributeText& attribute : ir::to_text(*stage.attributes))
    text += " " + attribute.name + "=[" + attribute.value + "]";
  return text;
}

std::vector<ir::Dims> stage_results(const ConvolutionChainAttrs& attrs, const std::vector<ir::Dims>& inputs) {
  std::vector<ir::Dims> results;
  for (const ChainStage& stage : attrs.stages)
    results.push_back(ir::to_dims(stage_outputs(stage, inputs, results).front().shape.to_shape()));
  return results;
}

ir::OpSchema convolution_chain_schema() {
  ir::OpSchema schema;
  schema.type = kConvolutionChainType;
  schema.opset = "cpu";
  schema.arity = {2, ir::kVariadic, ir::kVariadic};
  schema.make_attributes = &ir::make_attributes<ConvolutionChainAttrs>;
  schema.infer = &infer_chain;
  schema.reference = &compute_chain;
  return schema;
}

}  // namespace terroir::cpu
