// Convolution, GroupConvolution and their BackpropData forms in f32, with a fused chain at the store. Weights known at
// run time only are packed by every run, before anything else: profiles say "+pack".
// Layouts: what the kernels of the bucket want; see kernels/conv/conv.hpp. Threads: a static partition of the kernel's
// grid; sums do not depend on it.
#include <algorithm>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {
namespace {

Layout layout_of(ConvFormat format, int rank, Isa isa) {
  switch (format) {
    case ConvFormat::plain:
      return Layout::plain(rank);
    case ConvFormat::nhwc:
      return Layout::channels_last(rank);
    case ConvFormat::blocked:
      return Layout::blocked(rank, static_cast<int>(channel_block(isa)));
  }
  return {};
}

const ConvKernel* find_kernel(const ConvProblem& problem, Isa isa, const LayoutChoice& choice) {
  const int rank = choice.outputs[0].rank();
  for (const ConvKernel& kernel : conv_kernels(isa))
    if (!kernel.reject(problem, kernel) && layout_of(kernel.src, rank, isa) == *choice.inputs[0] &&
        layout_of(kernel.dst, rank, isa) == choice.outputs[0])
      return &kernel;
  return nullptr;
}

const float* values_of(const ir::Constant* bias) { return bias ? bias->view.as<float>() : nullptr; }

Packing packing_for(const ConvKernel& kernel, const ConvPlan& plan, const ir::Constant* bias_constant) {
  const float* bias = values_of(bias_constant);
  // The packing is known by the bias's address, which nothing else may get while the packing is being made.
  std::shared_ptr<const void> bias_owner = bias_constant ? bias_constant->owner : nullptr;
  const ConvPacking p = packing_of(plan);
  Packing packing;
  packing.key =
      concat(kernel.packing, ' ', p.block, 'x', p.oc_blocks, " g", p.groups, " i", p.ic, " o", p.oc, " k", p.kd, 'x',
             p.kh, 'x', p.kw, " by ", p.inner, p.transposed ? " transposed " : " ", static_cast<const void*>(bias));
  packing.bytes = plan.packed_floats * sizeof(float);
  packing.pieces = kernel.pack_pieces(plan);
  packing.pack = [&kernel, plan, bias, bias_owner = std::move(bias_owner)](const void* weights, void* packed,
                                                                           int64_t begin, int64_t end) {
    kernel.pack(plan, kernel, {static_cast<const float*>(weights), bias}, static_cast<float*>(packed), begin, end);
  };
  return packing;
}

class ConvolutionExecutor final : public Executor {
 public:
  ConvolutionExecutor(const NodeContext& context, const ConvKernel& kernel, const ConvProblem& problem)
      : kernel_(kernel), chain_(context, leading_bias(context) ? 1 : 0, channel_block(context.isa)) {
    kernel.plan(problem, kernel, plan_);
    const ir::Constant* bias = leading_bias(context);
    if (bias) bias_owner_ = bias->owner;
    if (context.constants[1])
      packed_ = context.weights.get(*context.constants[1], packing_for(kernel, plan_, bias));
    else
      bias_ = values_of(bias);
  }

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    const int64_t threads = args.arena.threads();
    auto* scratch = static_cast<float*>(args.scratch);
    const float* packed = packed_ ? packed_->as<float>() : scratch;
    if (!packed_) {
      const ConvConstants constants{static_cast<const float*>(args.inputs[1]), bias_};
      args.arena.parallel_for(kernel_.pack_pieces(plan_), [&](int64_t piece) {
        kernel_.pack(plan_, kernel_, constants, scratch, piece, piece + 1);
      });
      scratch += packed_stride();
    }
    args.arena.parallel_for(conv_slices(plan_, threads), [&](int64_t slice) {
      const ConvArgs conv{
          static_cast<const float*>(args.inputs[0]), packed,
          static_cast<float*>(args.outputs[0]),      ops.data(),
          static_cast<int64_t>(chain_.size()),       scratch + slice * static_cast<int64_t>(scratch_stride())};
      kernel_.run(plan_, conv, conv_slice(plan_, threads, slice));
    });
  }

  size_t scratch_bytes(int threads) const override {
    const size_t slices = scratch_stride() * static_cast<size_t>(conv_slices(plan_, threads));
    return ((packed_ ? 0 : packed_stride()) + slices) * sizeof(float);
  }
  std::string kernel_name() const override { return concat(kernel_.name, packed_ ? "" : "+pack"); }

 private:
  /// Rounded to cache lines, so that slices do not write to each other's.
  size_t scratch_stride() const noexcept { return (plan_.scratch_floats + 15) / 16 * 16; }
  size_t packed_stride() const noexcept { return (plan_.packed_floats + 15) / 16 * 16; }

  const ConvKernel& kernel_;
  ConvPlan plan_{};
  PostOpChain chain_;
  // The packing is known by the bias's address, which nothing else may get while the packing is shared.
  std::shared_ptr<const void> bias_owner_;
  PackedWeights packed_;         // null: the weights come with each run
  const float* bias_ = nullptr;  // then this goes with them
};

Proposal propose(const NodeContext& context) {
  if (context.outputs[0].type != element::f32)
    return Reject{"only f32, not " + context.outputs[0].type.get_type_name()};
  const ConvProblem problem = conv_problem(context);
  const int rank = context.outputs[0].rank();
  std::vector<LayoutChoice> choices;
  std::string reasons;
  for (const ConvKernel& kernel : conv_kernels(context.isa)) {
    if (const char* why = kernel.reject(problem, kernel)) {
      reasons.append(reasons.empty() ? "" : "; ").append(kernel.name).append(": ").append(why);
      continue;
    }
    LayoutChoice choice;
    choice.inputs.resize(context.inputs.size());
    choice.inputs[0] = layout_of(kernel.src, rank, context.isa);
    choice.outputs = {layout_of(kernel.dst, rank, context.isa)};
    // The first kernel of a pair of layouts is the best.
    if (std::any_of(choices.begin(), choices.end(), [&](const LayoutChoice& known) {
          return known.inputs[0] == choice.inputs[0] && known.outputs == choice.outputs;
        }))
      continue;
    if (!context.constants[1]) choice.inputs[1] = Layout::plain(context.inputs[1].rank());
    choice.cost = conv_slowdown(problem, kernel) * compute_ns(static_cast<double>(conv_flops(problem)), context.isa);
    add_chain_inputs(context, choice.outputs[0], choice);
    choices.push_back(std::move(choice));
  }
  if (choices.empty()) return Reject{reasons};
  return choices;
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice& choice) {
  const ConvProblem problem = conv_problem(context);
  const ConvKernel* kernel = find_kernel(problem, context.isa, choice);
  TERROIR_ASSERT(kernel != nullptr, context.node.name);
  return std::make_unique<ConvolutionExecutor>(context, *kernel, problem);
}

constexpr Impl kConvolution[] = {{"convolution", &propose, &create}};

}  // namespace

std::span<const Impl> convolution_impls() { return kConvolution; }

}  // namespace terroir::cpu
