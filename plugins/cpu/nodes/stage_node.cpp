#include "plugins/cpu/nodes/stage_node.hpp"

#include <algorithm>
#include <array>

#include "ir/base/error.hpp"

namespace terroir::cpu {

using Stage = ConvolutionChainAttrs::Stage;

StageNode::StageNode(const NodeContext& chain, const Stage& stage, const TensorDesc* previous, ir::Dims result)
    : context{node, {}, {}, {}, {}, chain.isa, chain.weights, chain.reader, chain.accuracy} {
  node.schema = stage.schema;
  node.name = stage.name;
  node.attributes = stage.attributes->clone();
  for (const int input : stage.inputs) {
    const bool outside = input != ConvolutionChainAttrs::kPrevious;
    context.inputs.push_back(outside ? chain.inputs[static_cast<size_t>(input)] : *previous);
    context.constants.push_back(outside ? chain.constants[static_cast<size_t>(input)] : nullptr);
  }
  const Layout plain = Layout::plain(static_cast<int>(result.size()));
  context.outputs = {{element::f32, std::move(result), plain}};
  context.output_used = {true};
}

std::vector<std::unique_ptr<StageNode>> stage_nodes(const NodeContext& chain) {
  const auto& attrs = chain.node.attrs<ConvolutionChainAttrs>();
  std::vector<ir::Dims> inputs;
  for (const TensorDesc& input : chain.inputs) inputs.push_back(input.dims);
  std::vector<ir::Dims> results = stage_results(attrs, inputs);
  std::vector<std::unique_ptr<StageNode>> nodes;
  for (size_t s = 0; s < attrs.stages.size(); ++s) {
    const TensorDesc* previous = s > 0 ? &nodes.back()->context.outputs[0] : nullptr;
    nodes.push_back(std::make_unique<StageNode>(chain, attrs.stages[s], previous, std::move(results[s])));
  }
  return nodes;
}

void add_stage_operands(const StageNode& stage, const std::vector<int>& inputs, const Layout& result,
                        LayoutChoice& choice) {
  for (const FusedOp& step : chain_of(stage.node)) {
    if (step.operand < 0 || step.mode != OperandMode::tensor) continue;
    choice.inputs[static_cast<size_t>(inputs[static_cast<size_t>(step.operand)])] = result;
  }
}

void bind_stage(const PostOpChain& chain, const std::vector<int>& inputs, const RunArgs& args,
                PostOpChain::Bound& bound) noexcept {
  std::array<const void*, kMaxPostOps + 4> own{};
  for (size_t i = 0; i < std::min(own.size(), inputs.size()); ++i)
    own[i] = inputs[i] >= 0 ? args.inputs[inputs[i]] : nullptr;
  chain.bind({own.data(), nullptr, nullptr, {}, args.arena}, bound);
}

void shift_operands(const PostOpChain& chain, int64_t floats, PostOpChain::Bound& bound) noexcept {
  for (size_t i = 0; i < chain.size(); ++i)
    if (bound[i].mode == OperandMode::tensor && bound[i].operand) bound[i].operand += floats;
}

}  // namespace terroir::cpu
