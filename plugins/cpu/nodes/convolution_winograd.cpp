// Convolution and GroupConvolution with 3x3 kernels by Winograd's algorithm, with constant f32 weights and a fused
// chain at the store; see kernels/conv_wino/conv_wino.hpp. Proposed only where the cost model says that it beats the
// direct kernel, the error bound of the actual weights is within tolerance, and the model is not compiled for accuracy.
// None of these looks at the batch or at the threads, so one image gets the same bits alone, in a batch and on any
// number of threads.
#include <algorithm>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/lines_ahead.hpp"
#include "plugins/cpu/nodes/winograd_bands.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {
namespace {

// A model within a few percent of the truth must not trade accuracy for nothing.
constexpr double kLeastSpeedup = 1.1;

class WinogradExecutor final : public Executor {
 public:
  WinogradExecutor(const NodeContext& context, const WinoKernel& kernel)
      : kernel_(kernel),
        chain_(context, leading_bias(context) ? 1 : 0, channel_block(context.isa)),
        overwrites_(context.overwrites_input) {
    plan_ = wino_plan(conv_problem(context), kernel);
    // Where scratch is most of what the step needs, it is worth the time.
    if (overwrites_ && static_cast<int64_t>(plan_.scratch_floats) > plan_.dst.n) plan_ = wino_with_small_blocks(plan_);
    const ir::Constant* bias = leading_bias(context);
    packed_ = context.weights.get(*context.constants[1], packing_for(bias));
    if (bias) bias_owner_ = bias->owner;
  }

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    auto* scratch = static_cast<float*>(args.scratch);
    const auto conv_args = [&](int64_t slot) {
      return ConvArgs{
          static_cast<const float*>(args.inputs[0]), packed_->as<float>(),
          static_cast<float*>(args.outputs[0]),      ops.data(),
          static_cast<int64_t>(chain_.size()),       scratch + slot * static_cast<int64_t>(scratch_stride())};
    };
    if (overwrites_) {
      const WinogradBands bands(plan_, args.arena.threads());
      float* const buffers = scratch + bands.slices() * static_cast<int64_t>(scratch_stride());
      for (int64_t round = 0; round < bands.rounds(); ++round)
        args.arena.parallel_for_slots(bands.slices(), [&](int64_t slice, int64_t slot) {
          bands.run(kernel_, conv_args(slot), buffers, round, slice);
        });
      return;
    }
    const WinoSplit split = wino_split(plan_, args.arena.threads());
    args.arena.parallel_for_slots(split.count(), [&](int64_t slice, int64_t slot) {
      kernel_.run(plan_, conv_args(slot), wino_slice(plan_, split, slice));
    });
  }

  size_t scratch_bytes(int threads) const override {
    if (overwrites_) {
      const WinogradBands bands(plan_, threads);
      return (static_cast<size_t>(bands.slices()) * scratch_stride() + static_cast<size_t>(bands.buffer_floats())) *
             sizeof(float);
    }
    const auto runs = static_cast<size_t>(std::min<int64_t>(threads, wino_split(plan_, threads).count()));
    return runs * scratch_stride() * sizeof(float);
  }
  /// The first ones of the slice's first channels.
  FirstConstants first_constants(int threads, int64_t slice) const noexcept override {
    const WinoSplit split = wino_split(plan_, threads);
    if (overwrites_ || slice >= split.part_count()) return {};
    const ConvProblem& p = plan_.problem;
    const int64_t blocks = p.groups * plan_.oc_blocks, unit = wino_part(plan_, split, slice).oc0;
    const int64_t block = unit / plan_.units * plan_.oc_blocks + unit % plan_.units * plan_.unit_blocks;
    const int64_t bias = (blocks * plan_.block + 15) / 16 * 16;
    const auto weights =
        std::as_bytes(std::span(packed_->as<float>(), plan_.packed_floats).subspan(static_cast<size_t>(bias)));
    const auto bytes = weights.subspan(weights.size() / static_cast<size_t>(blocks) * static_cast<size_t>(block));
    return {bytes.first(std::min(bytes.size(), kSomeBytesAhead)), false};
  }
  std::string kernel_name() const override { return overwrites_ ? concat(kernel_.name, "+in_place") : kernel_.name; }

 private:
  /// Rounded to cache lines, so that threads do not write to each other's.
  size_t scratch_stride() const noexcept { return (plan_.scratch_floats + 15) / 16 * 16; }

  Packing packing_for(const ir::Constant* bias) const {
    const auto* values = bias ? bias->view.as<float>() : nullptr;
    const ConvProblem& p = plan_.problem;
    Packing packing;
    packing.key = concat(kernel_.name, plan_.weights == WinoWeights::packed ? " " : " plain ", plan_.unit_blocks, " g",
                         p.groups, " i", p.ic, " o", p.oc, " d", p.d.kernel);
    packing.bytes = plan_.packed_floats * sizeof(float);
    packing.pieces = wino_units(plan_);
    // The packing is known by the bias's address, which nothing else may get while the packing is being made.
    if (bias) packing.with = *bias;
    packing.pack = [&kernel = kernel_, plan = plan_, values](const void* weights, void* packed, int64_t begin,
                                                             int64_t end) {
      kernel.pack(plan, static_cast<const float*>(weights), values, static_cast<float*>(packed), begin, end);
    };
    return packing;
  }

  const WinoKernel& kernel_;
  WinoPlan plan_{};
  PostOpChain chain_;
  bool overwrites_;
  // Likewise while the packing is shared.
  std::shared_ptr<const void> bias_owner_;
  PackedWeights packed_;
};

const WinoKernel* kernel_of(Isa isa, int64_t tile) {
  for (const WinoKernel& kernel : wino_kernels(isa))
    if (kernel.tile == tile) return &kernel;
  return nullptr;
}

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
  if (context.outputs[0].type != element::f32)
    return Reject{"only f32, not " + context.outputs[0].type.get_type_name()};
  if (!context.constants[1]) return Reject{"the weights are known at run time only"};
  if (context.accuracy) return Reject{"EXECUTION_MODE_HINT is ACCURACY, or MEMORY_LIMIT leaves no room"};
  const WinoKernel* kernel = kernel_of(context.isa, tile);
  if (!kernel) return Reject{"no kernel in this bucket"};
  ConvProblem problem = conv_problem(context);
  if (const char* why = wino_reject(problem, *kernel)) return Reject{why};
  const double flops = static_cast<double>(conv_flops(problem));
  problem.batch = 1;
  const double speedup = wino_speedup(problem, *kernel);
  if (speedup < kLeastSpeedup) return Reject{concat("no gain expected: ", speedup, " of the direct kernel's speed")};
  const double error = wino_error_bound(problem, tile, context.constants[1]->view.as<float>());
  if (!(error <= kWinoTolerance))
    return Reject{concat("the error bound of these weights, ", error, ", is above ", kWinoTolerance)};

  const Layout blocked = Layout::blocked(context.outputs[0].rank(), static_cast<int>(channel_block(context.isa)));
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = blocked;
  choice.outputs = {blocked};
  choice.cost = compute_ns(flops, context.isa) / speedup;
  add_chain_inputs(context, blocked, choice);
  choice.overwrite = overwrite_of(context, *kernel, choice);
  return std::vector{std::move(choice)};
}

template <int64_t Tile>
Proposal propose_tile(const NodeContext& context) {
  return propose(context, Tile);
}

template <int64_t Tile>
std::unique_ptr<const Executor> create_tile(const NodeContext& context, const LayoutChoice&) {
  const WinoKernel* kernel = kernel_of(context.isa, Tile);
  TERROIR_ASSERT(kernel != nullptr, context.node.name);
  return std::make_unique<WinogradExecutor>(context, *kernel);
}

constexpr Impl kWinograd[] = {{"winograd_4x4", &propose_tile<4>, &create_tile<4>},
                              {"winograd_2x2", &propose_tile<2>, &create_tile<2>}};

}  // namespace

std::span<const Impl> winograd_impls() { return kWinograd; }

}  // namespace terroir::cpu
