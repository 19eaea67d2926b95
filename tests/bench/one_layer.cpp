#include "tests/bench/one_layer.hpp"

#include <string_view>

#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "tests/support/attribute_setter.hpp"

namespace terroir::bench {
namespace {

const ir::OpSchema& builtin(std::string_view type) { return ops::builtin_registry().get(type, "opset16"); }

AlignedBuffer filled(int64_t count) {
  AlignedBuffer buffer(static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 0; i < count; ++i) buffer.as<float>()[i] = static_cast<float>(i % 17) * 0.0625f - 0.5f;
  return buffer;
}

}  // namespace

OneLayer::OneLayer(const char* type, const std::vector<std::pair<std::string, std::string>>& attributes,
                   const std::vector<Operand>& operands, cpu::Isa isa, int threads)
    : arena_(threads) {
  ir::Graph graph("layer");
  std::vector<ir::Value> inputs;
  std::vector<ir::Dims> extents;
  for (const Operand& operand : operands) {
    const std::string name = "operand" + std::to_string(inputs.size());
    AlignedBuffer values = filled(ir::element_count(operand.dims));
    if (operand.constant) {
      const auto owner = std::make_shared<AlignedBuffer>(std::move(values));
      inputs.push_back(
          {graph.add_constant(builtin(ir::kConstType), name, {{element::f32, operand.dims, owner->data()}, owner}), 0});
    } else {
      const ir::ParameterAttrs parameter{PartialShape(ir::to_shape(operand.dims)), element::f32};
      inputs.push_back({graph.add(builtin(ir::kParameterType), name, ir::make_attributes_of(parameter)), 0});
      extents.push_back(operand.dims);
      buffers_.push_back(std::move(values));
    }
  }
  const ir::OpSchema& schema = builtin(type);
  auto filled_attributes = schema.make_attributes();
  test::set_attributes(*filled_attributes, attributes);
  const ir::NodeId layer = graph.add(schema, "layer", std::move(filled_attributes), inputs);
  graph.add(builtin(ir::kResultType), "result", nullptr, {{layer, 0}});
  ir::infer_graph(graph);

  cpu::CompileOptions options;
  options.isa = isa;
  options.threads = threads;
  state_ = std::make_unique<cpu::PlanState>(
      cpu::compile_plan(*cpu::bound_graph(*cpu::rewrite_portable(graph), extents), weights_, options));
  const cpu::Plan& plan = state_->plan();
  for (size_t i = 0; i < plan.inputs.size(); ++i) state_->bind_input(i, buffers_[i].data());
  buffers_.push_back(AlignedBuffer(plan.outputs.at(0).bytes()));
  state_->bind_output(0, buffers_.back().data());
  times_.resize(plan.steps.size());
  while (plan.steps[step_].name != "layer") ++step_;
}

double OneLayer::run() {
  state_->run(arena_, cancelled_, times_.data());
  return std::chrono::duration<double>(times_[step_]).count();
}

}  // namespace terroir::bench
