#include "plugins/cpu/post_op_chain.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {

const std::vector<FusedOp>& chain_of(const ir::Node& node) {
  static const std::vector<FusedOp> kNone;
  const FusedAttrs* const fused = fused_attrs(node);
  return fused ? fused->chain : kNone;
}

PostOpChain::PostOpChain(const NodeContext& context, size_t first, int64_t channel_unit)
    : PostOpChain(context,
                  {chain_of(context.node).begin() + static_cast<std::ptrdiff_t>(first), chain_of(context.node).end()},
                  channel_unit) {}

PostOpChain::PostOpChain(const NodeContext& context, std::vector<FusedOp> steps, int64_t channel_unit) {
  TERROIR_ASSERT(steps.size() <= kMaxPostOps, steps.size());
  for (const FusedOp& step : steps) {
    PostOp op{step.kind, step.mode, step.alpha, step.beta, nullptr, nullptr};
    int runtime = -1;
    if (step.operand >= 0 && step.mode == OperandMode::per_channel) {
      const ir::TensorView& view = context.constants[static_cast<size_t>(step.operand)]->view;
      const auto* values = view.as<float>();
      const int64_t count = view.count(), padded = round_up(count, channel_unit);
      std::vector<float> copy(static_cast<size_t>(padded), 0.0f);
      std::copy(values, values + count, copy.begin());
      channels_.push_back(std::move(copy));
      op.operand = channels_.back().data();
    } else if (step.operand >= 0) {
      runtime = step.operand;
    }
    steps_.push_back(op);
    runtime_input_.push_back(runtime);
  }
}

bool PostOpChain::has_channel_operand() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const PostOp& op) { return op.mode == OperandMode::per_channel && op.operand != nullptr; });
}

void PostOpChain::repeat_channels(int64_t times) {
  for (std::vector<float>& channels : channels_) {
    std::vector<float> repeated;
    for (int64_t i = 0; i < times; ++i) repeated.insert(repeated.end(), channels.begin(), channels.end());
    for (PostOp& step : steps_)
      if (step.operand == channels.data()) step.operand = repeated.data();
    channels = std::move(repeated);
  }
}

bool PostOpChain::maps_zero_to_zero() const {
  return cpu::maps_zero_to_zero(steps_.data(), static_cast<int64_t>(steps_.size()));
}

void add_chain_inputs(const NodeContext& context, const Layout& result, LayoutChoice& choice) {
  for (const FusedOp& step : chain_of(context.node)) {
    if (step.operand < 0) continue;
    const auto input = static_cast<size_t>(step.operand);
    if (choice.inputs.size() <= input) choice.inputs.resize(input + 1);
    if (step.mode == OperandMode::tensor) choice.inputs[input] = result;
  }
}

}  // namespace terroir::cpu
