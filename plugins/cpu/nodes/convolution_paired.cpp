// 1x1 convolution in f32 that takes part of its multiplications as additions, with constant weights and a fused chain
// at the store; see kernels/conv_paired/paired.hpp. Taken where the processor has pipes of their own for additions, and
// the weights allow it.
#include "plugins/cpu/kernels/conv_paired/paired.hpp"
#include "plugins/cpu/nodes/convolution.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/paired_executor.hpp"
#include "plugins/cpu/nodes/prepared_convolution.hpp"
#include "plugins/cpu/nodes/prepared_winograd.hpp"

namespace terroir::cpu {
namespace {

bool is_between(const NodeContext& context, const LayoutChoice& choice, ConvFormat format) {
  const Layout layout = layout_of(format, context.outputs[0].rank(), context.isa);
  return *choice.inputs[0] == layout && choice.outputs[0] == layout;
}

// Null where the direct kernels run the choice.
const ConvKernel* kernel_of(const NodeContext& context, const ConvProblem& problem, const LayoutChoice& choice) {
  for (const ConvFormat format : {ConvFormat::blocked, ConvFormat::nhwc}) {
    if (!is_between(context, choice, format)) continue;
    const ConvKernel* const kernel = paired_kernel(context.isa, format);
    if (!kernel) refuse_stored_choice(context);
    if (!kernel->reject(problem, *kernel)) return kernel;
  }
  return nullptr;
}

Proposal propose(const NodeContext& context) {
  const ConvProblem problem = conv_problem(context);
  const auto offer = paired_offer(context, problem, paired_kernel(context.isa, ConvFormat::blocked));
  if (const auto* refusal = std::get_if<Reject>(&offer)) return *refusal;
  Proposal direct = propose_convolution(context);
  auto* const choices = std::get_if<std::vector<LayoutChoice>>(&direct);
  if (!choices) return direct;
  for (LayoutChoice& choice : *choices)
    if (kernel_of(context, problem, choice)) choice.cost /= std::get<double>(offer);
  return direct;
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice& choice) {
  const ConvProblem problem = conv_problem(context);
  if (const ConvKernel* kernel = kernel_of(context, problem, choice))
    return paired_executor(context, problem, *kernel, kernel->name);
  return create_convolution(context, choice);
}

constexpr Impl kPaired[] = {{"paired_1x1", &propose, &create}};

}  // namespace

std::span<const Impl> paired_convolution_impls() { return kPaired; }

}  // namespace terroir::cpu
