#include "plugins/cpu/nodes/winograd_conv.hpp"

#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/prepared_winograd.hpp"

namespace terroir::cpu {

std::variant<double, Reject> winograd_conv_offer(const NodeContext& context, const WinogradConv& form) {
  const ConvKernel* kernel = form.kernel(context.isa);
  if (!kernel || context.outputs[0].type != element::f32) return Reject{"no kernel in this bucket, or for this type"};
  const ConvProblem problem = conv_problem(context);
  if (const char* why = kernel->reject(problem, *kernel)) return Reject{why};
  double times = 0;
  const auto refusal = winograd_refusal(
      context, problem, [&](const ConvProblem& p) { return times = form.speedup(p, *kernel); },
      [&](const ConvProblem& p) {
        // Whose output channels do not follow each other.
        if (p.transposed) return form.error_bound(p, context.constants[1]->view.as<float>());
        return worst_amplification(context, p, [&](const float* weights, int64_t outputs) {
          ConvProblem some = p;
          some.oc = outputs;
          return form.error_bound(some, weights);
        });
      });
  if (refusal) return *refusal;
  return times;
}

const ConvKernel& chosen_winograd_conv(const NodeContext& context, const WinogradConv& form) {
  const ConvKernel* kernel = form.kernel(context.isa);
  if (!kernel) refuse_stored_choice(context);
  return *kernel;
}

}  // namespace terroir::cpu
