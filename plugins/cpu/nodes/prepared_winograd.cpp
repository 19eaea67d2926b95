#include "plugins/cpu/nodes/prepared_winograd.hpp"

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"

namespace terroir::cpu {
namespace {

// A model within a few percent of the truth must not trade accuracy for nothing.
constexpr double kLeastSpeedup = 1.1;

Packing packing_for(const WinoKernel& kernel, const WinoPlan& plan, const ir::Constant* bias) {
  const auto* values = bias ? bias->view.as<float>() : nullptr;
  const ConvProblem& p = plan.problem;
  Packing packing;
  packing.key = concat(kernel.name, plan.weights == WinoWeights::packed ? " " : " plain ", plan.unit_blocks, " g",
                       p.groups, " i", p.ic, " o", p.oc, " d", p.d.kernel);
  packing.bytes = plan.packed_floats * sizeof(float);
  packing.pieces = wino_units(plan);
  // The packing is known by the bias's address, which nothing else may get while the packing is being made.
  if (bias) packing.with = *bias;
  packing.pack = [&kernel, plan, values](const void* weights, void* packed, int64_t begin, int64_t end) {
    kernel.pack(plan, static_cast<const float*>(weights), values, static_cast<float*>(packed), begin, end);
  };
  return packing;
}

}  // namespace

const WinoKernel* winograd_kernel(Isa isa, int64_t tile, int64_t stride) {
  for (const WinoKernel& kernel : wino_kernels(isa))
    if (kernel.tile == tile && kernel.stride == stride) return &kernel;
  return nullptr;
}

void refuse_winograd_choice(const NodeContext& context) {
  throw_error(ErrorCode::parse_error, "'", context.node.name,
              "': the compiled model takes a Winograd kernel that this instruction set does not have");
}

const WinoKernel& chosen_winograd_kernel(const NodeContext& context, int64_t tile, int64_t stride) {
  const WinoKernel* kernel = winograd_kernel(context.isa, tile, stride);
  if (!kernel) refuse_winograd_choice(context);
  return *kernel;
}

std::optional<Reject> winograd_refusal(const NodeContext& context, ConvProblem problem,
                                       FunctionRef<double(const ConvProblem&)> speedup,
                                       FunctionRef<double(const ConvProblem&, const float* weights)> error_bound) {
  if (!context.constants[1]) return Reject{"the weights are known at run time only"};
  if (context.accuracy) return Reject{"EXECUTION_MODE_HINT is ACCURACY, or MEMORY_LIMIT leaves no room"};
  problem.batch = 1;
  const double times = speedup(problem);
  if (times < kLeastSpeedup) return Reject{concat("no gain expected: ", times, " of the direct kernel's speed")};
  const double error = error_bound(problem, context.constants[1]->view.as<float>());
  if (!(error <= kWinoTolerance))
    return Reject{concat("the error bound of these weights, ", error, ", is above ", kWinoTolerance)};
  return std::nullopt;
}

std::variant<WinogradOffer, Reject> winograd_offer(const NodeContext& context, int64_t tile) {
  if (context.outputs[0].type != element::f32)
    return Reject{"only f32, not " + context.outputs[0].type.get_type_name()};
  const ConvProblem problem = conv_problem(context);
  const WinoKernel* kernel = winograd_kernel(context.isa, tile, problem.h.stride);
  if (!kernel) return Reject{"no kernel of this stride in this bucket"};
  if (const char* why = wino_reject(problem, *kernel)) return Reject{why};
  double times = 0;
  const auto refusal = winograd_refusal(
      context, problem, [&](const ConvProblem& p) { return times = wino_speedup(p, *kernel); },
      [tile](const ConvProblem& p, const float* weights) { return wino_error_bound(p, tile, weights); });
  if (refusal) return *refusal;
  return WinogradOffer{*kernel, times};
}

PreparedWinograd::PreparedWinograd(const NodeContext& context, const WinoKernel& wino_kernel, const WinoPlan& wino_plan)
    : kernel(wino_kernel), plan(wino_plan), chain(context, leading_bias(context) ? 1 : 0, channel_block(context.isa)) {
  const ir::Constant* bias = leading_bias(context);
  packed = context.weights.get(*context.constants[1], packing_for(kernel, plan, bias));
  if (bias) bias_owner = bias->owner;
}

}  // namespace terroir::cpu
