#include "plugins/cpu/nodes/prepared_winograd.hpp"

#include <algorithm>
#include <vector>

#include "ir/base/error.hpp"
#include "plugins/cpu/constant_reader.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_spans.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// Of the weights that are looked at as one task.
constexpr int64_t kPieceBytes = int64_t{256} << 10;

/// Weights of one output channel.
int64_t weights_per_output(const ConvProblem& p) { return p.ic / p.groups * p.d.kernel * p.h.kernel * p.w.kernel; }

// A model within a few percent of the truth must not trade accuracy for nothing.
constexpr double kLeastSpeedup = 1.1;

Packing packing_for(const WinoKernel& kernel, const WinoPlan& plan, const ir::Constant* bias) {
  const auto* values = bias ? bias->view.as<float>() : nullptr;
  const ConvProblem& p = plan.problem;
  Packing packing;
  packing.key = concat(kernel.name, plan.weights == WinoWeights::packed ? " " : " plain ", plan.unit_blocks, " g",
                       p.groups, " i", p.ic, " o", p.oc, " k", p.d.kernel, 'x', p.h.kernel, 'x', p.w.kernel);
  if (p.transposed) packing.key += concat(" transposed s", p.h.stride, 'x', p.w.stride, " p", p.h.pad, 'x', p.w.pad);
  packing.bytes = plan.packed_floats * sizeof(float);
  packing.pieces = wino_units(plan);
  // The packing is known by the bias's address, which nothing else may get while the packing is being made.
  if (bias) packing.with = *bias;
  if (!p.transposed) {
    packing.row_bytes = static_cast<size_t>(weights_per_output(p)) * sizeof(float);
    packing.first_row = [plan](int64_t unit) { return wino_first_output(plan, unit); };
  }
  packing.pack = [&kernel, plan, values, first_row = packing.first_row](const void* weights, void* packed,
                                                                        int64_t begin, int64_t end) {
    kernel.pack(plan, {static_cast<const float*>(weights), values, first_row ? first_row(begin) : 0},
                static_cast<float*>(packed), begin, end);
  };
  return packing;
}

}  // namespace

const WinoKernel* winograd_kernel(Isa isa, int64_t tile, int64_t stride) {
  for (const WinoKernel& kernel : wino_kernels(isa))
    if (kernel.tile == tile && kernel.stride == stride) return &kernel;
  return nullptr;
}

void refuse_stored_choice(const NodeContext& context) {
  throw_error(ErrorCode::parse_error, "'", context.node.name,
              "': the compiled model takes a convolution kernel that this instruction set does not have");
}

const WinoKernel& chosen_winograd_kernel(const NodeContext& context, int64_t tile, int64_t stride) {
  const WinoKernel* kernel = winograd_kernel(context.isa, tile, stride);
  if (!kernel) refuse_stored_choice(context);
  return *kernel;
}

double worst_amplification(const NodeContext& context, const ConvProblem& problem,
                           FunctionRef<double(const float* weights, int64_t outputs)> amplification) {
  const auto* const weights = context.constants[1]->view.as<float>();
  if (!context.reader) return amplification(weights, problem.oc);
  const int64_t row = weights_per_output(problem);
  constexpr int64_t kColumns = 512;  // side by side
  const int64_t taps = problem.d.kernel * problem.h.kernel * problem.w.kernel;
  const int64_t outputs = problem.transposed
                              ? std::max<int64_t>(1, kColumns / taps)
                              : std::max<int64_t>(1, kPieceBytes / (row * static_cast<int64_t>(sizeof(float))));
  std::vector<double> amplifications(static_cast<size_t>(ceil_div(problem.oc, outputs)));
  context.reader->arena().parallel_for_slots(
      static_cast<int64_t>(amplifications.size()), [&](int64_t piece, int64_t slot) {
        const int64_t first = piece * outputs, count = std::min(outputs, problem.oc - first);
        double& result = amplifications[static_cast<size_t>(piece)];
        if (problem.transposed) {
          result = amplification(weights + first * taps, count);
        } else {
          const size_t bytes = static_cast<size_t>(count * row) * sizeof(float);
          const void* const rows = context.reader->read(weights + first * row, bytes, slot);
          result = amplification(static_cast<const float*>(rows), count);
        }
      });
  return *std::max_element(amplifications.begin(), amplifications.end());
}

std::optional<Reject> winograd_refusal(const NodeContext& context, ConvProblem problem,
                                       FunctionRef<double(const ConvProblem&)> speedup,
                                       FunctionRef<double(const ConvProblem&)> error_bound) {
  if (!context.constants[1]) return Reject{"the weights are known at run time only"};
  if (context.accuracy) return Reject{"EXECUTION_MODE_HINT is ACCURACY, or MEMORY_LIMIT leaves no room"};
  problem.batch = 1;
  const double times = speedup(problem);
  if (times < kLeastSpeedup) return Reject{concat("no gain expected: ", times, " of the direct kernel's speed")};
  const double error = error_bound(problem);
  if (!(error <= kWinoTolerance))
    return Reject{concat("the error bound of these weights, ", error, ", is above ", kWinoTolerance)};
  return std::nullopt;
}

double winograd_cost(const ConvProblem& p, Isa isa, double speedup) {
  const int64_t outputs = p.oc / p.groups, padded = round_up(outputs, channel_block(isa));
  return compute_ns(static_cast<double>(conv_flops(p)), isa) * static_cast<double>(padded) /
         static_cast<double>(outputs) / speedup;
}

std::variant<WinogradOffer, Reject> winograd_offer(const NodeContext& context, int64_t tile) {
  if (context.outputs[0].type != element::f32)
    return Reject{"only f32, not " + context.outputs[0].type.get_type_name()};
  const ConvProblem problem = conv_problem(context);
  const WinoKernel* kernel = winograd_kernel(context.isa, tile, wino_stride(problem));
  if (!kernel) return Reject{"no kernel of this stride in this bucket"};
  if (const char* why = wino_reject(problem, *kernel)) return Reject{why};
  double times = 0;
  const auto refusal = winograd_refusal(
      context, problem, [&](const ConvProblem& p) { return times = wino_speedup(p, *kernel); },
      [&](const ConvProblem& p) {
        return wino_error_bound(p, worst_amplification(context, p, [&](const float* weights, int64_t outputs) {
                                  return wino_amplification(p, tile, weights, outputs);
                                }));
      });
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
