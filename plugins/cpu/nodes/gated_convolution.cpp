// ConvolutionChain of the set "cpu" whose first stage is a gate: squeeze-and-excite multiplies every channel by a
// number that is known last, and the 1x1 convolution behind it reads the product once. Weights that the gate has scaled
// do the same.
// Formula: sum over i of (x[i] * gate[i]) * w[i] = sum over i of x[i] * (gate[i] * w[i]).
// Layouts: channel blocks.
// Threads: slices of the convolution; each thread scales weights of its own, when it meets an image for the first time,
// so results depend on the image alone.
#include "plugins/cpu/nodes/gated_convolution.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/nodes/channel_gate.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/stage_node.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

// Of one input channel it would be a depthwise kernel, whose weights lie otherwise.
const ConvKernel* kernel_for(const ConvProblem& p, Isa isa) {
  return is_pointwise(p) && p.ic > 1 ? find_conv_kernel(p, isa, ConvFormat::blocked, ConvFormat::blocked) : nullptr;
}

class GatedConvolutionExecutor final : public Executor {
 public:
  GatedConvolutionExecutor(const NodeContext& context, const std::vector<std::unique_ptr<StageNode>>& nodes)
      : GatedConvolutionExecutor(context, nodes[0]->context, nodes[1]->context) {}

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    bind_stage(conv_.chain, inputs_, args, ops);
    auto* const image_of_units = static_cast<int64_t*>(args.scratch);
    std::fill_n(image_of_units, static_cast<int64_t>(conv_.slot_need(args.arena.threads()).slots) * tags(), -1);
    const ConvArgs whole{static_cast<const float*>(args.inputs[1 - gate_input_]),
                         nullptr,
                         static_cast<float*>(args.outputs[0]),
                         ops.data(),
                         static_cast<int64_t>(conv_.chain.size()),
                         nullptr};
    conv_.for_each_slice(args, whole, [&](ConvArgs& conv, ConvTile box, int64_t slot) {
      float* const own = conv.scratch + whole_lines(conv_.plan.scratch_floats);
      conv.packed = own;
      for (const int64_t end = box.n1; box.n0 < end; ++box.n0) {
        box.n1 = box.n0 + 1;
        const int64_t image = gate_stride_ == 0 ? 0 : box.n0;
        const float* const gate = static_cast<const float*>(args.inputs[gate_input_]) + image * gate_stride_;
        for (int64_t unit = box.oc0; unit < box.oc1; ++unit)
          if (std::exchange(image_of_units[slot * tags() + unit], image) != image) scale(unit, gate, own);
        conv_.kernel.run(conv_.plan, conv, box);
      }
    });
  }

  size_t scratch_bytes(int threads) const override {
    return conv_.slot_need(threads).slots * static_cast<size_t>(tags()) * sizeof(int64_t);
  }
  /// The scaled weights lie behind the kernel's scratch memory.
  SlotNeed slot_need(int threads) const override {
    SlotNeed need = conv_.slot_need(threads);
    need.bytes += static_cast<size_t>(packed_stride()) * sizeof(float);
    return need;
  }
  FirstConstants first_constants(int threads, int64_t slice) const noexcept override {
    return conv_.first_constants(threads, slice);
  }
  std::string kernel_name() const override { return concat(conv_.kernel.name, "+gate"); }

 private:
  GatedConvolutionExecutor(const NodeContext& context, const NodeContext& gate, const NodeContext& convolution)
      : conv_(convolution, *kernel_for(conv_problem(convolution), context.isa), conv_problem(convolution)),
        inputs_(context.node.attrs<ConvolutionChainAttrs>().stages[1].inputs),
        multiply_(post_op_kernels(context.isa).run) {
    const auto& gate_inputs = context.node.attrs<ConvolutionChainAttrs>().stages[0].inputs;
    gate_input_ = gate_inputs[static_cast<size_t>(gate_input(gate))];
    TERROIR_ASSERT(gate_inputs[0] + gate_inputs[1] == 1, context.node.name);
    const TensorDesc& gates = context.inputs[static_cast<size_t>(gate_input_)];
    gate_stride_ = gates.dims[0] == 1 ? 0 : gates.padded_dims()[1];
  }

  int64_t packed_stride() const noexcept { return static_cast<int64_t>(whole_lines(conv_.plan.packed_floats)); }

  /// Of each slot, in cache lines of its own: for which image its weights of each oc unit are scaled.
  int64_t tags() const noexcept { return (conv_.plan.grid.oc + 7) / 8 * 8; }

  /// The weights of an oc unit, and the bias of all. Rows of padding are not read by kernels, and stay as they are.
  void scale(int64_t unit, const float* gate, float* own) const noexcept {
    const ConvPlan& plan = conv_.plan;
    const float* const packed = conv_.packed->as<float>();
    std::memcpy(own, packed, static_cast<size_t>(conv_weights_of(plan, 0, 0).begin) * sizeof(float));
    const PostOp op{PostOpKind::mul, OperandMode::per_channel, 0, 0, gate, nullptr};
    const int64_t channels = plan.exec.ic, block = plan.block, rows = round_up(channels, block);
    const ConvWeightsRange part = conv_weights_of(plan, unit, unit + 1);
    const int64_t lanes = part.count / rows;
    multiply_({packed + part.begin, own + part.begin, channels, lanes, lanes, lanes, 0, lanes, 0, ChannelAxis::rows},
              &op, 1);
  }

  PreparedConvolution conv_;
  std::vector<int> inputs_;  // of the convolution's stage
  decltype(PostOpKernels::run) multiply_;
  int gate_input_;
  int64_t gate_stride_;  // from image to image
};

Proposal propose(const NodeContext& context) {
  const auto& attrs = context.node.attrs<ConvolutionChainAttrs>();
  if (attrs.kind() != ConvolutionChainAttrs::Kind::gated) return Reject{"no gate"};
  const auto nodes = stage_nodes(context);
  const NodeContext& convolution = nodes[1]->context;
  const ConvProblem problem = conv_problem(convolution);
  const ConvKernel* kernel = kernel_for(problem, context.isa);
  if (!kernel) return Reject{"no kernel for the convolution"};
  const Layout blocked = layout_of(ConvFormat::blocked, context.outputs[0].rank(), context.isa);
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  for (const int input : attrs.stages[0].inputs) choice.inputs[static_cast<size_t>(input)] = blocked;
  choice.outputs = {blocked};
  choice.cost = conv_slowdown(problem, *kernel) * compute_ns(static_cast<double>(conv_flops(problem)), context.isa);
  add_stage_operands(*nodes[1], attrs.stages[1].inputs, blocked, choice);
  return std::vector{std::move(choice)};
}

constexpr Impl kGatedConvolution[] = {
    {"gated_convolution", &propose,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<GatedConvolutionExecutor>(context, stage_nodes(context));
     }}};

}  // namespace

bool can_take_gate(const NodeContext& convolution) {
  if (convolution.outputs[0].type != element::f32 || convolution.outputs[0].rank() != 4 ||
      convolution.outputs[0].count() == 0 || !convolution.constants[1])
    return false;
  const ConvProblem problem = conv_problem(convolution);
  constexpr int64_t kTimesScaled = 4;
  return kernel_for(problem, convolution.isa) && kTimesScaled * problem.oc <= problem.h.out * problem.w.out;
}

std::span<const Impl> gated_convolution_impls() { return kGatedConvolution; }

}  // namespace terroir::cpu
