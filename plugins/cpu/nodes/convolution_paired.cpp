// 1x1 convolution in f32 that takes part of its multiplications as additions, with constant weights and a fused chain
// at the store; see kernels/conv_paired/paired.hpp. Taken where the processor has pipes of their own for additions, and
// the weights allow it.
#include <algorithm>
#include <memory>
#include <span>

#include "plugins/cpu/kernels/conv_paired/paired.hpp"
#include "plugins/cpu/nodes/convolution.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/lines_ahead.hpp"
#include "plugins/cpu/nodes/prepared_convolution.hpp"
#include "plugins/cpu/nodes/prepared_winograd.hpp"

namespace terroir::cpu {
namespace {

class PairedExecutor final : public Executor {
 public:
  PairedExecutor(const NodeContext& context, const ConvKernel& kernel)
      : conv_(context, kernel, conv_problem(context)) {}

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    conv_.chain.bind(args, ops);
    const ConvPlan& plan = conv_.plan;
    const ConvSplit split = paired_split(plan, args.arena.threads());
    auto* const kept = static_cast<PairedKept*>(args.scratch);
    std::uninitialized_value_construct_n(kept, most_at_once(split, args.arena.threads()));
    const ConvArgs whole{static_cast<const float*>(args.inputs[0]), conv_.packed->as<float>(),
                         static_cast<float*>(args.outputs[0]),      ops.data(),
                         static_cast<int64_t>(conv_.chain.size()),  nullptr};
    args.arena.parallel_for_slots(split.count(), [&](int64_t slice, int64_t slot) {
      LinesAhead ahead(args, slice / split.per_part(), 1, slice % split.per_part(), split.per_part());
      ConvArgs conv = whole;
      conv.ahead = ahead.get();
      conv.scratch = args.slots.of<float>(slot);
      conv.oc_ahead = conv_oc_ahead(plan, split, slice);
      conv.prepared = kept + slot;
      conv_.kernel.run(plan, conv, conv_slice(plan, split, slice));
    });
  }

  size_t scratch_bytes(int threads) const override {
    return static_cast<size_t>(most_at_once(paired_split(conv_.plan, threads), threads)) * sizeof(PairedKept);
  }
  SlotNeed slot_need(int threads) const override {
    return {whole_lines(conv_.plan.scratch_floats) * sizeof(float),
            static_cast<size_t>(most_at_once(paired_split(conv_.plan, threads), threads))};
  }
  /// The first ones of the slice's first unit.
  FirstConstants first_constants(int threads, int64_t slice) const noexcept override {
    const ConvSplit split = paired_split(conv_.plan, threads);
    if (slice >= split.part_count()) return {};
    const int64_t first = paired::unit_begin(conv_.plan, conv_part(conv_.plan, split, slice).oc0);
    const auto bytes = std::as_bytes(
        std::span(conv_.packed->as<float>(), conv_.plan.packed_floats).subspan(static_cast<size_t>(first)));
    return {bytes.first(std::min(bytes.size(), kSomeBytesAhead)), false};
  }
  std::string kernel_name() const override { return conv_.kernel.name; }

 private:
  static int64_t most_at_once(const ConvSplit& split, int64_t threads) { return std::min(threads, split.count()); }

  PreparedConvolution conv_;
};

Layout blocked_layout(const NodeContext& context) {
  return Layout::blocked(context.outputs[0].rank(), static_cast<int>(channel_block(context.isa)));
}

bool is_blocked(const NodeContext& context, const LayoutChoice& choice) {
  const Layout blocked = blocked_layout(context);
  return *choice.inputs[0] == blocked && choice.outputs[0] == blocked;
}

// Between other layouts than blocked ones, the direct kernels.
Proposal propose(const NodeContext& context) {
  const ConvKernel* const kernel = paired_kernel(context.isa);
  if (!kernel || context.outputs[0].type != element::f32) return Reject{"no kernel in this bucket, or for this type"};
  if (!separate_add_pipes()) return Reject{"this processor adds and multiplies in the same pipes"};
  const ConvProblem problem = conv_problem(context);
  if (const char* why = kernel->reject(problem, *kernel)) return Reject{why};
  double times = 0;
  const auto refusal = winograd_refusal(
      context, problem, [&](const ConvProblem& p) { return times = paired_speedup(p, *kernel); },
      [&](const ConvProblem& p) {
        return paired_error_bound(p, worst_amplification(context, p, [&](const float* weights, int64_t outputs) {
                                    return paired_amplification(p, weights, outputs);
                                  }));
      });
  if (refusal) return *refusal;
  Proposal direct = propose_convolution(context);
  auto* const choices = std::get_if<std::vector<LayoutChoice>>(&direct);
  if (!choices) return direct;
  for (LayoutChoice& choice : *choices)
    if (is_blocked(context, choice)) choice.cost /= times;
  return direct;
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice& choice) {
  if (!is_blocked(context, choice)) return create_convolution(context, choice);
  const ConvKernel* const kernel = paired_kernel(context.isa);
  if (!kernel) refuse_stored_choice(context);
  return std::make_unique<PairedExecutor>(context, *kernel);
}

constexpr Impl kPaired[] = {{"paired_1x1", &propose, &create}};

}  // namespace

std::span<const Impl> paired_convolution_impls() { return kPaired; }

}  // namespace terroir::cpu
