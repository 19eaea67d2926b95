#include "plugins/cpu/nodes/first_winograd.hpp"

#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/prepared_winograd.hpp"

namespace terroir::cpu {

std::variant<double, Reject> first_winograd_offer(const NodeContext& context, const FirstWinograd& first) {
  const ConvKernel* kernel = first.kernel(context.isa);
  if (!kernel || context.outputs[0].type != element::f32) return Reject{"no kernel in this bucket, or for this type"};
  const ConvProblem problem = conv_problem(context);
  if (const char* why = kernel->reject(problem, *kernel)) return Reject{why};
  double times = 0;
  const auto refusal = winograd_refusal(
      context, problem, [&](const ConvProblem& p) { return times = first.speedup(p, *kernel); },
      [&](const ConvProblem& p) { return first.error_bound(p, context.constants[1]->view.as<float>()); });
  if (refusal) return *refusal;
  return times;
}

const ConvKernel& chosen_first_winograd(const NodeContext& context, const FirstWinograd& first) {
  const ConvKernel* kernel = first.kernel(context.isa);
  if (!kernel) refuse_stored_choice(context);
  return *kernel;
}

}  // namespace terroir::cpu
