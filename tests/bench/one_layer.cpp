#include "tests/bench/one_layer.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "tests/support/attribute_setter.hpp"

namespace terroir::bench {
namespace {

const ir::OpSchema& builtin(std::string_view type, const char* opset = "opset16") {
  return ops::builtin_registry().get(type, opset);
}

AlignedBuffer filled(const OneLayer::Operand& operand) {
  const int64_t count = ir::element_count(operand.dims);
  AlignedBuffer buffer(ir::byte_size(operand.type, count));
  if (operand.type == element::f32) {
    for (int64_t i = 0; i < count; ++i)
      buffer.as<float>()[i] =
          operand.value ? static_cast<float>(*operand.value) : static_cast<float>(i % 17) * 0.0625f - 0.5f;
  } else if (operand.type == element::i32) {
    for (int64_t i = 0; i < count; ++i) buffer.as<int32_t>()[i] = static_cast<int32_t>(operand.value.value_or(0));
  } else if (operand.type == element::i64) {
    for (int64_t i = 0; i < count; ++i) buffer.as<int64_t>()[i] = static_cast<int64_t>(operand.value.value_or(0));
  } else {
    for (size_t i = 0; i < buffer.size(); ++i)
      buffer.as<uint8_t>()[i] =
          static_cast<uint8_t>(operand.value ? *operand.value : static_cast<double>(i * 37 % 251));
  }
  return buffer;
}

ir::Dims with_channels(ir::Dims dims, int64_t channels) {
  dims[1] = channels;
  return dims;
}

/// Pointwise, from `source` of extents `dims`.
ir::Value add_convolution(ir::Graph& graph, const char* name, ir::Value source, const ir::Dims& dims,
                          int64_t channels) {
  ir::Dims weights(dims.size(), 1);
  weights[0] = channels;
  weights[1] = dims[1];
  const auto values = std::make_shared<AlignedBuffer>(filled({weights, true}));
  const ir::NodeId constant = graph.add_constant(builtin(ir::kConstType), name + std::string("/weights"),
                                                 {{element::f32, weights, values->data()}, values});
  const ir::OpSchema& schema = builtin("Convolution");
  auto attributes = schema.make_attributes();
  std::string ones = "1", zeros = "0";
  for (size_t i = 3; i < dims.size(); ++i) {
    ones += ",1";
    zeros += ",0";
  }
  test::set_attributes(*attributes,
                       {{"strides", ones}, {"dilations", ones}, {"pads_begin", zeros}, {"pads_end", zeros}});
  return {graph.add(schema, name, std::move(attributes), {source, {constant, 0}}), 0};
}

}  // namespace

LayerStep::LayerStep(const ir::Graph& graph, std::vector<AlignedBuffer> inputs, cpu::Isa isa, int threads, bool bf16)
    : LayerStep(threads) {
  buffers_ = std::move(inputs);
  compile(graph, isa, bf16);
}

void LayerStep::compile(const ir::Graph& graph, cpu::Isa isa, bool bf16) {
  std::vector<ir::Dims> extents;
  for (const ir::NodeId id : graph.parameters()) extents.push_back(ir::to_dims(graph.port({id, 0}).shape.to_shape()));
  cpu::CompileOptions options;
  options.isa = isa;
  options.threads = arena_.threads();
  options.bytes = isa >= cpu::Isa::avx2 && cpu::active_byte_products() != cpu::ByteProducts::none;
  options.bf16 = bf16;
  state_ = std::make_unique<cpu::PlanState>(
      cpu::compile_plan(cpu::bound_graph(cpu::rewrite_portable(graph), extents), weights_, options, arena_), arena_);
  const cpu::Plan& plan = state_->plan();
  for (size_t i = 0; i < plan.inputs.size(); ++i) state_->bind_input(i, buffers_[i].data());
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    buffers_.push_back(AlignedBuffer(plan.outputs[i].bytes()));
    state_->bind_output(i, buffers_.back().data());
  }
  times_.resize(plan.steps.size());
  const auto step = std::ranges::find(plan.steps, "layer", &cpu::Step::name);
  if (step == plan.steps.end()) throw std::logic_error("the layer is part of another step");
  step_ = static_cast<size_t>(step - plan.steps.begin());
}

double LayerStep::run() {
  state_->run(arena_, cancelled_, times_.data());
  return std::chrono::duration<double>(times_[step_]).count();
}

OneLayer::OneLayer(const char* type, const std::vector<std::pair<std::string, std::string>>& attributes,
                   const std::vector<Operand>& operands, cpu::Isa isa, int threads, const char* opset, Place place)
    : LayerStep(threads), schema_(builtin(type, opset)), attributes_(schema_.make_attributes()) {
  ir::Graph graph("layer");
  std::vector<ir::Value> inputs;
  for (const Operand& operand : operands) {
    const std::string name = "operand" + std::to_string(inputs.size());
    AlignedBuffer values = filled(operand);
    operands_.push_back({operand.type, operand.dims, values.data()});
    if (operand.constant) {
      constants_.push_back(std::make_shared<AlignedBuffer>(std::move(values)));
      inputs.push_back({graph.add_constant(builtin(ir::kConstType), name, {operands_.back(), constants_.back()}), 0});
    } else {
      const ir::Dims extents = place.before ? with_channels(operand.dims, kChannelsBefore) : operand.dims;
      const ir::ParameterAttrs parameter{PartialShape(ir::to_shape(extents)), operand.type};
      inputs.push_back({graph.add(builtin(ir::kParameterType), name, ir::make_attributes_of(parameter)), 0});
      if (place.before) inputs.back() = add_convolution(graph, "before", inputs.back(), extents, operand.dims[1]);
      if (place.before) graph.add(builtin(ir::kResultType), name + "/result", nullptr, {inputs.back()});
      buffers_.push_back(place.before ? filled({extents, false}) : std::move(values));
    }
  }
  test::set_attributes(*attributes_, attributes);
  const ir::NodeId layer = graph.add(schema_, "layer", attributes_->clone(), inputs);
  // Results of their own keep the layer and the one before it from becoming one step with what reads them.
  if (place.before && place.behind) graph.add(builtin(ir::kResultType), "layer/result", nullptr, {{layer, 0}});
  ir::infer_graph(graph);
  ir::Value last{layer, 0};
  if (place.behind)
    last = add_convolution(graph, "behind", last, ir::to_dims(graph.port(last).shape.to_shape()), kChannelsBehind);
  graph.add(builtin(ir::kResultType), "result", nullptr, {last});
  ir::infer_graph(graph);
  compile(graph, isa, false);
}

double OneLayer::run_reference() {
  const cpu::TensorDesc& out = state_->plan().outputs.back();
  std::vector<ir::MutableTensorView> outputs{{out.type, out.dims, buffers_.back().data()}};
  const auto start = std::chrono::steady_clock::now();
  schema_.reference({*attributes_, operands_, outputs});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace terroir::bench
