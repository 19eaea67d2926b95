// Reshape, Squeeze, Unsqueeze: the same bytes under another shape. No step, no copy. Layouts: plain.
#include <span>

#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {
namespace {

Proposal propose(const NodeContext& context) {
  LayoutChoice choice;
  choice.inputs.assign(context.inputs.size(), std::nullopt);
  choice.inputs[0] = context.inputs[0].layout;
  choice.outputs = {context.outputs[0].layout};
  choice.view_of = 0;
  return std::vector{choice};
}

constexpr Impl kView[] = {
    {"view", &propose, [](const NodeContext&, const LayoutChoice&) { return std::unique_ptr<const Executor>(); }}};

}  // namespace

std::span<const Impl> view_impls() { return kView; }

}  // namespace terroir::cpu
