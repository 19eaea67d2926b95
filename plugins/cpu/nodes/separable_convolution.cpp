// ConvolutionChain of the set "cpu" that begins with a depthwise convolution: it and the 1x1 convolution behind it,
// where nothing in front can be a stage, too. The tensor between them is only some rows, which stay near the core that
// makes them, and the threads meet once.
//   in parallel, strips of rows:
//     depthwise convolution, all channels -> buffer
//     1x1 convolution, all channels -> the result
// Layouts: channel blocks; the result also channels-last. Threads: strips of rows, several to a thread; nothing is made
// twice. Every kernel runs over a plan for the strip's rows alone, and sums do not depend on it, so results are
// bit-identical for any split.
#include <algorithm>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/convolution_chain_op.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/lines_ahead.hpp"
#include "plugins/cpu/nodes/prepared_convolution.hpp"
#include "plugins/cpu/nodes/row_plans.hpp"
#include "plugins/cpu/nodes/stage_node.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

const ConvKernel* blocked_kernel(const StageNode& node, ConvFormat result = ConvFormat::blocked) {
  return find_conv_kernel(conv_problem(node.context), node.context.isa, ConvFormat::blocked, result);
}

class SeparableConvolutionExecutor final : public Executor {
 public:
  SeparableConvolutionExecutor(const NodeContext& context, const std::vector<std::unique_ptr<StageNode>>& nodes)
      : depthwise_{prepared(context, *nodes[0], 0, ConvFormat::blocked)},
        pointwise_{prepared(context, *nodes[1], 1,
                            context.outputs[0].layout.is_channels_last() ? ConvFormat::nhwc : ConvFormat::blocked)} {
    const int64_t row_bytes = blocks() * row_floats() * static_cast<int64_t>(sizeof(float));
    strip_rows_ = std::clamp<int64_t>(cache_sizes().l2 / kShareOfL2 / row_bytes, 1, rows());
  }

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound depthwise_ops, pointwise_ops;
    bind_stage(depthwise_.conv.chain, depthwise_.inputs, args, depthwise_ops);
    bind_stage(pointwise_.conv.chain, pointwise_.inputs, args, pointwise_ops);
    const int64_t strips = strips_for(args.arena.threads()), items = batch() * strips;
    const int64_t threads = std::min<int64_t>(args.arena.threads(), items);
    args.arena.parallel_for_slots(items, [&](int64_t item, int64_t slot) {
      const int64_t thread = item * threads / items;  // whose it is, unless another takes it
      const int64_t begin = ceil_div(thread * items, threads), end = ceil_div((thread + 1) * items, threads);
      LinesAhead ahead(args, thread, 1, item - begin, end - begin);
      const int64_t strip = item % strips;
      run_strip(args, depthwise_ops, pointwise_ops, item / strips,
                {strip * rows() / strips, (strip + 1) * rows() / strips}, args.slots.of<float>(slot), ahead);
    });
  }

  SlotNeed slot_need(int threads) const override {
    return {(static_cast<size_t>(between_floats()) + depthwise().scratch_floats) * sizeof(float),
            static_cast<size_t>(std::min<int64_t>(threads, batch() * strips_for(threads)))};
  }
  FirstConstants first_constants(int threads, int64_t slice) const noexcept override {
    if (slice >= std::min<int64_t>(threads, batch() * strips_for(threads))) return {};
    return pointwise_.conv.first_constants({0, 1, 0, pointwise_.conv.plan.grid.oc, 0, 1});
  }
  std::string kernel_name() const override {
    return concat(depthwise_.conv.kernel.name, "+", pointwise_.conv.kernel.name);
  }

 private:
  struct Stage {
    PreparedConvolution conv;
    std::vector<int> inputs;
  };

  // What the depthwise convolution makes of a strip; its source and the weights pass through the cache, too.
  static constexpr int64_t kShareOfL2 = 16;

  static Stage prepared(const NodeContext& context, const StageNode& node, size_t stage, ConvFormat result) {
    const ConvKernel* const kernel = blocked_kernel(node, result);
    TERROIR_ASSERT(kernel != nullptr, context.node.name, stage);
    return {{node.context, *kernel, conv_problem(node.context)},
            context.node.attrs<ConvolutionChainAttrs>().stages[stage].inputs};
  }

  const ConvPlan& depthwise() const noexcept { return depthwise_.conv.plan; }
  int64_t batch() const noexcept { return depthwise().problem.batch; }
  int64_t rows() const noexcept { return depthwise().problem.h.out; }
  int64_t blocks() const noexcept { return ceil_div(depthwise().problem.oc, depthwise().block); }
  int64_t row_floats() const noexcept { return depthwise().dst.h; }
  int64_t result_row() const noexcept {
    const ConvPlan& plan = pointwise_.conv.plan;
    return plan.dst_format == ConvFormat::nhwc ? plan.problem.w.out * plan.problem.oc : row_floats();
  }
  /// Of what the depthwise convolution makes of a strip; its kernel's scratch memory follows.
  int64_t between_floats() const noexcept {
    return static_cast<int64_t>(whole_lines(static_cast<size_t>(blocks() * strip_rows_ * row_floats())));
  }

  /// Of an image: equally many to each thread.
  int64_t strips_for(int64_t threads) const noexcept {
    const int64_t parts = std::max<int64_t>(1, threads / batch());
    return std::min(rows(), round_up(ceil_div(rows(), strip_rows_), parts));
  }

  void run_strip(const RunArgs& args, const PostOpChain::Bound& depthwise_ops, PostOpChain::Bound pointwise_ops,
                 int64_t n, Rows out, float* between, LinesAhead& ahead) const noexcept {
    const Rows source = source_rows(depthwise().problem.h, out);
    ConvPlan first = plan_of_rows(depthwise(), source, out), last = plan_of_rows(pointwise_.conv.plan, out, out);
    first.dst.n = last.src.n = 0;
    first.dst.c = last.src.c = out.count() * row_floats();
    const int64_t offset = out.begin * result_row();  // of results and of operands, which lie like them
    shift_operands(pointwise_.conv.chain, offset, pointwise_ops);
    const auto run = [&](const PreparedConvolution& conv, const ConvPlan& plan, const float* src, float* dst,
                         const PostOpChain::Bound& ops, float* scratch, ConvAhead* lines) {
      const ConvArgs conv_args{
          src, conv.packed->as<float>(), dst, ops.data(), static_cast<int64_t>(conv.chain.size()), scratch, 0, lines};
      conv.kernel.run(plan, conv_args, {n, n + 1, 0, plan.grid.oc, 0, units_of_rows(plan)});
    };
    run(depthwise_.conv, first, static_cast<const float*>(args.inputs[0]) + source.begin * depthwise().src.h, between,
        depthwise_ops, between + between_floats(), nullptr);
    run(pointwise_.conv, last, between, static_cast<float*>(args.outputs[0]) + offset, pointwise_ops, nullptr,
        ahead.get());
  }

  Stage depthwise_, pointwise_;
  int64_t strip_rows_ = 1;
};

Proposal propose(const NodeContext& context) {
  const auto& attrs = context.node.attrs<ConvolutionChainAttrs>();
  if (attrs.kind() != ConvolutionChainAttrs::Kind::separable) return Reject{"no depthwise convolution first"};
  const auto nodes = stage_nodes(context);
  const int rank = context.outputs[0].rank();
  const Layout blocked = layout_of(ConvFormat::blocked, rank, context.isa);
  std::vector<LayoutChoice> choices;
  for (const ConvFormat result : {ConvFormat::blocked, ConvFormat::nhwc}) {
    LayoutChoice choice;
    choice.inputs.resize(context.inputs.size());
    choice.inputs[0] = blocked;
    choice.outputs = {layout_of(result, rank, context.isa)};
    for (size_t s = 0; s < nodes.size(); ++s) {
      const bool is_last = s + 1 == nodes.size();
      const ConvProblem problem = conv_problem(nodes[s]->context);
      const ConvKernel* const kernel = blocked_kernel(*nodes[s], is_last ? result : ConvFormat::blocked);
      if (!kernel && choices.empty()) return Reject{concat("no kernel for stage ", s)};
      if (!kernel) return choices;
      choice.cost +=
          conv_slowdown(problem, *kernel) * compute_ns(static_cast<double>(conv_flops(problem)), context.isa);
      add_stage_operands(*nodes[s], attrs.stages[s].inputs, is_last ? choice.outputs[0] : blocked, choice);
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

constexpr Impl kSeparableConvolution[] = {
    {"separable_convolution", &propose,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<SeparableConvolutionExecutor>(context, stage_nodes(context));
     }}};

}  // namespace

std::span<const Impl> separable_convolution_impls() { return kSeparableConvolution; }

}  // namespace terroir::cpu
