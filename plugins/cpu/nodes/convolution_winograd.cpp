// Convolution and GroupConvolution with 3x3 kernels, and what is made of these, by Winograd's algorithm, with constant
// f32 weights and a fused chain at the store; see kernels/conv_wino/conv_wino.hpp, and prepared_winograd.hpp for where
// it is proposed.
#include <algorithm>
#include <memory>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_spans.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/lines_ahead.hpp"
#include "plugins/cpu/nodes/prepared_winograd.hpp"
#include "plugins/cpu/nodes/winograd_bands.hpp"

namespace terroir::cpu {
namespace {

WinoPlan plan_for(const NodeContext& context, const WinoKernel& kernel) {
  return wino_with_small_blocks(wino_plan(conv_problem(context), kernel), context.lean);
}

class WinogradExecutor final : public Executor {
 public:
  WinogradExecutor(const NodeContext& context, const WinoKernel& kernel)
      : conv_(context, kernel, plan_for(context, kernel)), overwrites_(context.overwrites_input) {}

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    conv_.chain.bind(args, ops);
    const auto conv_args = [&](int64_t slot) {
      return ConvArgs{static_cast<const float*>(args.inputs[0]), conv_.packed->as<float>(),
                      static_cast<float*>(args.outputs[0]),      ops.data(),
                      static_cast<int64_t>(conv_.chain.size()),  args.slots.of<float>(slot)};
    };
    if (overwrites_) {
      const WinogradBands bands(conv_.plan, args.arena.threads());
      auto* const buffers = static_cast<float*>(args.scratch);
      for (int64_t round = 0; round < bands.rounds(); ++round)
        args.arena.parallel_for_slots(bands.slices(), [&](int64_t slice, int64_t slot) {
          bands.run(conv_.kernel, conv_args(slot), buffers, round, slice);
        });
      return;
    }
    const WinoSplit split = wino_split(conv_.plan, args.arena.threads());
    auto* const kept = static_cast<WinoKept*>(args.scratch);
    std::uninitialized_value_construct_n(kept, most_at_once(split, args.arena.threads()));
    args.arena.parallel_for_slots(split.count(), [&](int64_t slice, int64_t slot) {
      ConvArgs conv = conv_args(slot);
      conv.oc_ahead = wino_oc_ahead(conv_.plan, split, slice);
      conv.kept = kept + slot;
      conv.remote = wino_remote_sources(conv_.plan, split, slice);
      conv_.kernel.run(conv_.plan, conv, wino_slice(conv_.plan, split, slice));
    });
  }

  size_t scratch_bytes(int threads) const override {
    if (overwrites_) return static_cast<size_t>(WinogradBands(conv_.plan, threads).buffer_floats()) * sizeof(float);
    return static_cast<size_t>(most_at_once(wino_split(conv_.plan, threads), threads)) * sizeof(WinoKept);
  }
  SlotNeed slot_need(int threads) const override {
    const int64_t slots = overwrites_ ? WinogradBands(conv_.plan, threads).slices()
                                      : most_at_once(wino_split(conv_.plan, threads), threads);
    return {conv_.scratch_bytes(), static_cast<size_t>(slots)};
  }
  /// The first ones of the slice's first channels.
  FirstConstants first_constants(int threads, int64_t slice) const noexcept override {
    const WinoSplit split = wino_split(conv_.plan, threads);
    if (overwrites_ || slice >= split.part_count()) return {};
    const ConvProblem& p = conv_.plan.problem;
    const int64_t blocks = p.groups * conv_.plan.oc_blocks, unit = wino_part(conv_.plan, split, slice).oc0;
    const int64_t block = unit / conv_.plan.units * conv_.plan.oc_blocks +
                          unit % conv_.plan.units / phases_of(conv_.plan) * conv_.plan.unit_blocks;
    const int64_t bias = (blocks * conv_.plan.block + 15) / 16 * 16;
    const auto weights = std::as_bytes(
        std::span(conv_.packed->as<float>(), conv_.plan.packed_floats).subspan(static_cast<size_t>(bias)));
    const auto bytes = weights.subspan(weights.size() / static_cast<size_t>(blocks) * static_cast<size_t>(block));
    return {bytes.first(std::min(bytes.size(), kSomeBytesAhead)), false};
  }
  std::string kernel_name() const override {
    return overwrites_ ? concat(conv_.kernel.name, "+in_place") : conv_.kernel.name;
  }

 private:
  static int64_t most_at_once(const WinoSplit& split, int64_t threads) { return std::min(threads, split.count()); }

  PreparedWinograd conv_;
  bool overwrites_;
};

/// The source, for a chain without operands that lie like the result.
LayoutChoice::Overwrite overwrite_of(const NodeContext& context, const WinoKernel& kernel, const LayoutChoice& choice) {
  const bool has_operands = std::any_of(choice.inputs.begin() + 1, choice.inputs.end(),
                                        [](const std::optional<Layout>& input) { return input.has_value(); });
  const WinoPlan plan = wino_plan(conv_problem(context), kernel);
  if (has_operands || !can_overwrite_source(plan)) return {};
  const int64_t step = plan.problem.batch == 1 ? plan.src.c : plan.problem.batch * plan.src.n;
  return {0, static_cast<size_t>(step) * sizeof(float)};
}

Proposal propose(const NodeContext& context, int64_t tile) {
  const auto offered = winograd_offer(context, tile);
  if (const auto* reject = std::get_if<Reject>(&offered)) return *reject;
  const WinogradOffer& offer = std::get<WinogradOffer>(offered);
  const Layout blocked = Layout::blocked(context.outputs[0].rank(), static_cast<int>(channel_block(context.isa)));
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = blocked;
  choice.outputs = {blocked};
  choice.cost = winograd_cost(conv_problem(context), context.isa, offer.speedup);
  add_convolution_chain(context, blocked, choice);
  choice.overwrite = overwrite_of(context, offer.kernel, choice);
  choice.lean = wino_halvings(wino_plan(conv_problem(context), offer.kernel));
  return std::vector{std::move(choice)};
}

std::unique_ptr<const Executor> make(const NodeContext& context, int64_t tile) {
  const int64_t stride = wino_stride(conv_problem(context));
  return std::make_unique<WinogradExecutor>(context, chosen_winograd_kernel(context, tile, stride));
}

constexpr Impl kWinograd[] = {winograd_impl<4, &propose, &make>("winograd_4x4"),
                              winograd_impl<2, &propose, &make>("winograd_2x2")};

}  // namespace

std::span<const Impl> winograd_impls() { return kWinograd; }

}  // namespace terroir::cpu
