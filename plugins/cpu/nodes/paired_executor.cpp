#include "plugins/cpu/nodes/paired_executor.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "plugins/cpu/kernels/conv_paired/paired.hpp"
#include "plugins/cpu/nodes/lines_ahead.hpp"
#include "plugins/cpu/nodes/prepared_convolution.hpp"
#include "plugins/cpu/nodes/prepared_winograd.hpp"

namespace terroir::cpu {
namespace {

class PairedExecutor final : public Executor {
 public:
  PairedExecutor(const NodeContext& context, const ConvProblem& problem, const ConvKernel& kernel, std::string name)
      : conv_(context, kernel, problem), name_(std::move(name)) {}

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
  std::string kernel_name() const override { return name_; }

 private:
  static int64_t most_at_once(const ConvSplit& split, int64_t threads) { return std::min(threads, split.count()); }

  PreparedConvolution conv_;
  std::string name_;
};

}  // namespace

std::variant<double, Reject> paired_offer(const NodeContext& context, const ConvProblem& problem,
                                          const ConvKernel* kernel) {
  if (!kernel || context.outputs[0].type != element::f32) return Reject{"no kernel in this bucket, or for this type"};
  if (!separate_add_pipes()) return Reject{"this processor adds and multiplies in the same pipes"};
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
  return times;
}

std::unique_ptr<const Executor> paired_executor(const NodeContext& context, const ConvProblem& problem,
                                                const ConvKernel& kernel, std::string name) {
  return std::make_unique<PairedExecutor>(context, problem, kernel, std::move(name));
}

}  // namespace terroir::cpu
