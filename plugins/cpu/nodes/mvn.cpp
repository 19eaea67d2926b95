// MVN in f32 over trailing axes (layer normalisation), over the spatial axes of every channel, or over neighbouring
// axes in the middle, with a fused chain. Layouts: plain; channel blocks and channels-last when exactly the spatial
// axes or the channels are normalised. Chains: a scale and shift along an axis that is alone normalised, and innermost,
// are part of the kernel; other steps follow on a row (plain) or an image's channel block (else) while it is in the
// cache. Threads: slices of the rows, or of the (image, channel block) pairs. Padding: the lanes behind the last
// channel are zeros, whose mean is zero: they stay zero; the chain leaves them out.
#include <algorithm>
#include <span>

#include "ops/defs/normalization/mvn.hpp"
#include "plugins/cpu/kernels/mvn/mvn.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// Normalised axes, sorted; empty when they are known at run time only.
std::optional<std::vector<int64_t>> axes_of(const NodeContext& context) {
  const int64_t rank = context.inputs[0].rank();
  std::vector<int64_t> axes;
  if (base_schema(context.node).opset == "opset2") {
    axes = ops::mvn_axes(ir::attributes_as<ops::Mvn2Attrs>(base_attributes(context.node)), static_cast<size_t>(rank));
  } else {
    if (!context.constants[1]) return std::nullopt;
    axes = ir::to_integers(context.constants[1]->view);
  }
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

MvnArgs args_of(const ir::Node& node) {
  MvnArgs args;
  const ir::Attributes& attributes = base_attributes(node);
  args.eps = static_cast<float>(ir::number_attribute(attributes, "eps"));
  args.normalize_variance = ir::number_attribute(attributes, "normalize_variance") != 0;
  if (base_schema(node).opset != "opset2")
    args.eps_outside_sqrt =
        ir::attributes_as<ops::Mvn6Attrs>(attributes).eps_mode == ops::reference::EpsPlace::outside_sqrt;
  return args;
}

bool is_channel_step(const FusedOp& step, PostOpKind kind) {
  return step.mode == OperandMode::per_channel && step.kind == kind;
}

bool is_of_channels(const NodeContext& context) { return *axes_of(context) == std::vector<int64_t>{1}; }

/// The steps at the head of the chain that the kernel takes as scale and shift.
struct ScaleAndShift {
  int scale = -1, shift = -1;  // inputs of the node
  size_t steps = 0;
};

ScaleAndShift scale_and_shift_of(const NodeContext& context) {
  ScaleAndShift found;
  if (!is_fused(context.node)) return found;
  const auto& attrs = context.node.attrs<FusedAttrs>();
  if (*axes_of(context) != std::vector<int64_t>{attrs.channel_axis}) return found;
  size_t& at = found.steps;
  if (at < attrs.chain.size() && is_channel_step(attrs.chain[at], PostOpKind::mul))
    found.scale = attrs.chain[at++].operand;
  if (at < attrs.chain.size() && is_channel_step(attrs.chain[at], PostOpKind::add))
    found.shift = attrs.chain[at++].operand;
  return found;
}

std::vector<float> vector_of(const NodeContext& context, int input) {
  if (input < 0) return {};
  const ir::TensorView& view = context.constants[static_cast<size_t>(input)]->view;
  return {view.as<float>(), view.as<float>() + view.count()};
}

class MvnExecutor final : public Executor {
 public:
  explicit MvnExecutor(const NodeContext& context)
      : mvn_(args_of(context.node)),
        kernels_(mvn_kernels(context.isa)),
        run_chain_(post_op_kernels(context.isa).run),
        name_("f32_mvn_" + context.inputs[0].layout.name() + "__" + isa_name(context.isa)) {
    const TensorDesc& src = context.inputs[0];
    const ir::Dims padded = src.padded_dims();
    const auto first = static_cast<size_t>(axes_of(context)->front());
    for (size_t i = 0; i < padded.size(); ++i) (i < first ? outer_ : axis_) *= padded[i];
    const int block = src.layout.channel_block();
    if (block != 0) {
      outer_ /= block;
      inner_ = block;
    } else if (src.layout.is_channels_last() && is_of_channels(context)) {
      axis_ = src.dims[1];
      outer_ = src.count() / axis_;
    } else if (src.layout.is_channels_last()) {
      outer_ = src.dims[0];
      inner_ = src.dims[1];
    }
    const ScaleAndShift own = scale_and_shift_of(context);
    scale_ = vector_of(context, own.scale);
    shift_ = vector_of(context, own.shift);
    chain_ = PostOpChain(context, own.steps, std::max(1, block));
    if (!chain_.empty()) place_chain(context);
  }

  void run(const RunArgs& args) const noexcept override {
    constexpr int64_t kTaskElements = 8192;
    const int64_t unit = axis_ * inner_;
    if (outer_ * unit == 0) return;
    const int64_t per_task = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, unit));
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    args.arena.parallel_for(ceil_div(outer_, per_task), [&](int64_t task) {
      const int64_t begin = task * per_task, end = std::min(begin + per_task, outer_);
      // With a chain, one at a time: it follows while the values are in the cache.
      const int64_t step = chain_.empty() ? end - begin : 1;
      for (int64_t at = begin; at < end; at += step) {
        MvnArgs mvn = mvn_;
        mvn.scale = scale_.empty() ? nullptr : scale_.data();
        mvn.shift = shift_.empty() ? nullptr : shift_.data();
        mvn.src = static_cast<const float*>(args.inputs[0]) + at * unit;
        mvn.dst = static_cast<float*>(args.outputs[0]) + at * unit;
        if (inner_ == 1)
          kernels_.rows(mvn, step, axis_);
        else
          kernels_.middle(mvn, step, axis_, inner_, 0, inner_);
        if (!chain_.empty()) finish(mvn.dst, at, ops);
      }
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  /// How the channels lie in what one call of the kernel writes.
  void place_chain(const NodeContext& context) {
    const TensorDesc& dst = context.outputs[0];
    if (inner_ > 1) {  // blocks, or channels-last: lanes
      channels_ = dst.dims[1];
      blocks_ = ceil_div(channels_, inner_);
      return;
    }
    if (is_of_channels(context) && dst.layout.is_channels_last()) {
      channels_ = axis_;
      return;
    }
    const int axis = context.node.attrs<FusedAttrs>().channel_axis;
    channels_ = dst.dims[static_cast<size_t>(axis)];
    for (int i = axis + 1; i < dst.rank(); ++i) run_ *= dst.dims[static_cast<size_t>(i)];
  }

  void finish(float* dst, int64_t at, const PostOpChain::Bound& ops) const {
    const auto n_ops = static_cast<int64_t>(chain_.size());
    const int64_t offset = at * axis_ * inner_;
    if (inner_ > 1) {
      const int64_t channel = at % blocks_ * inner_, n = std::min(inner_, channels_ - channel);
      run_chain_({dst, dst, axis_, n, inner_, inner_, offset, inner_, channel, ChannelAxis::lanes}, ops.data(), n_ops);
    } else if (run_ >= axis_) {  // a channel of its own, or a part of one
      run_chain_({dst, dst, 1, axis_, axis_, axis_, offset, axis_, offset / run_ % channels_, ChannelAxis::rows},
                 ops.data(), n_ops);
    } else if (run_ == 1) {
      run_chain_(
          {dst, dst, axis_ / channels_, channels_, channels_, channels_, offset, channels_, 0, ChannelAxis::lanes},
          ops.data(), n_ops);
    } else {
      const int64_t image = channels_ * run_;
      for (int64_t i = 0; i < axis_; i += image)
        run_chain_({dst + i, dst + i, channels_, run_, run_, run_, offset + i, run_, 0, ChannelAxis::rows}, ops.data(),
                   n_ops);
    }
  }

  MvnArgs mvn_;
  const MvnKernels& kernels_;
  decltype(PostOpKernels::run) run_chain_;
  std::string name_;
  PostOpChain chain_;
  std::vector<float> scale_, shift_;
  int64_t outer_ = 1, axis_ = 1, inner_ = 1;
  int64_t channels_ = 1, blocks_ = 1, run_ = 1;  // run_: elements of a channel that lie side by side, plain
};

/// Over neighbouring axes with others behind them: every position behind them is a column of its own.
class MvnMiddleExecutor final : public Executor {
 public:
  explicit MvnMiddleExecutor(const NodeContext& context)
      : mvn_(args_of(context.node)),
        kernels_(mvn_kernels(context.isa)),
        run_chain_(post_op_kernels(context.isa).run),
        chain_(context, 0, 1),
        name_(std::string("f32_mvn_middle__") + isa_name(context.isa)) {
    const std::vector<int64_t> axes = *axes_of(context);
    for (int64_t i = 0; i < context.inputs[0].rank(); ++i)
      (i < axes.front() ? outer_ : i > axes.back() ? inner_ : axis_) *= context.inputs[0].dims[static_cast<size_t>(i)];
  }

  void run(const RunArgs& args) const noexcept override {
    constexpr int64_t kUnit = 256;
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    const int64_t slices = ceil_div(inner_, kUnit);
    args.arena.parallel_for(outer_ * slices, [&](int64_t task) {
      const int64_t image = task / slices * axis_ * inner_, begin = task % slices * kUnit;
      const int64_t n = std::min(kUnit, inner_ - begin);
      MvnArgs mvn = mvn_;
      mvn.src = static_cast<const float*>(args.inputs[0]) + image;
      mvn.dst = static_cast<float*>(args.outputs[0]) + image;
      kernels_.middle(mvn, 1, axis_, inner_, begin, begin + n);
      float* dst = mvn.dst + begin;
      if (!chain_.empty())
        run_chain_({dst, dst, axis_, n, inner_, inner_, image + begin, inner_, 0, ChannelAxis::rows}, ops.data(),
                   static_cast<int64_t>(chain_.size()));
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  MvnArgs mvn_;
  const MvnKernels& kernels_;
  decltype(PostOpKernels::run) run_chain_;
  PostOpChain chain_;
  std::string name_;
  int64_t outer_ = 1, axis_ = 1, inner_ = 1;
};

/// Over the channels of blocks: some positions at a time lie plain in scratch memory in between.
class MvnBlocksExecutor final : public Executor {
 public:
  explicit MvnBlocksExecutor(const NodeContext& context)
      : mvn_(args_of(context.node)),
        kernels_(mvn_kernels(context.isa)),
        transpose_(reorder_kernels(context.isa).transpose_2d),
        run_chain_(post_op_kernels(context.isa).run),
        batch_(context.inputs[0].dims[0]),
        channels_(context.inputs[0].dims[1]),
        positions_(context.inputs[0].count() / (batch_ * channels_)),
        block_(channel_block(context.isa)),
        at_once_(std::max(kLeastPositions, round_up(kElements / channels_, kLeastPositions))),
        chain_(context, 0, block_),
        name_("f32_mvn_channels_" + context.inputs[0].layout.name() + "__" + isa_name(context.isa)) {
    const std::vector<FusedOp>& steps = chain_of(context.node);
    chain_in_planes_ =
        std::none_of(steps.begin(), steps.end(), [](const FusedOp& step) { return step.mode == OperandMode::tensor; });
  }

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    args.arena.parallel_for_slots(tasks(), [&](int64_t task, int64_t slot) {
      const int64_t parts = ceil_div(positions_, at_once_), begin = task % parts * at_once_;
      const int64_t n = std::min(at_once_, positions_ - begin), block_step = positions_ * block_;
      const int64_t first = task / parts * ceil_div(channels_, block_) * block_step + begin * block_;
      auto* const planes = args.slots.of<float>(slot);
      const auto* src = static_cast<const float*>(args.inputs[0]) + first;
      for (int64_t c = 0; c < channels_; c += block_, src += block_step)
        transpose_(src, block_, planes + c * at_once_, at_once_, n, std::min(block_, channels_ - c), n);
      MvnArgs mvn = mvn_;
      mvn.src = mvn.dst = planes;
      kernels_.middle(mvn, 1, channels_, at_once_, 0, n);
      const auto n_ops = static_cast<int64_t>(chain_.size());
      if (chain_in_planes_ && n_ops > 0)
        run_chain_({planes, planes, channels_, n, at_once_, at_once_, 0, at_once_, 0, ChannelAxis::rows}, ops.data(),
                   n_ops);
      int64_t offset = first;
      for (int64_t c = 0; c < channels_; c += block_, offset += block_step) {
        const int64_t lanes = std::min(block_, channels_ - c);
        float* const dst = static_cast<float*>(args.outputs[0]) + offset;
        transpose_(planes + c * at_once_, at_once_, dst, block_, lanes, n, block_);
        if (!chain_in_planes_)
          run_chain_({dst, dst, n, lanes, block_, block_, offset, block_, c, ChannelAxis::lanes}, ops.data(), n_ops);
      }
    });
  }
  SlotNeed slot_need(int threads) const override {
    return {static_cast<size_t>(at_once_ * channels_) * sizeof(float),
            static_cast<size_t>(std::min<int64_t>(threads, tasks()))};
  }
  std::string kernel_name() const override { return name_; }

 private:
  static constexpr int64_t kElements = 3072, kLeastPositions = 16;

  int64_t tasks() const noexcept { return batch_ * ceil_div(positions_, at_once_); }

  MvnArgs mvn_;
  const MvnKernels& kernels_;
  decltype(ReorderKernels::transpose_2d) transpose_;
  decltype(PostOpKernels::run) run_chain_;
  int64_t batch_, channels_, positions_, block_, at_once_;
  PostOpChain chain_;
  bool chain_in_planes_;  // not where operands lie in blocks, too: rows of a block take longer
  std::string name_;
};

bool has_channel_step(const ir::Node& node) {
  const std::vector<FusedOp>& chain = chain_of(node);
  return std::any_of(chain.begin(), chain.end(),
                     [](const FusedOp& step) { return step.mode == OperandMode::per_channel; });
}

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  const auto axes = axes_of(context);
  if (!axes) return Reject{"the axes are known at run time only"};
  const int64_t rank = src.rank(), count = axes->empty() ? 0 : static_cast<int64_t>(axes->size());
  if (count == 0 || axes->back() != rank - 1 || axes->front() != rank - count)
    return Reject{"axes that are not the last ones"};
  const bool per_channel = has_channel_step(context.node);
  std::vector<LayoutChoice> choices;
  const auto add = [&](const Layout& layout) {
    LayoutChoice choice;
    choice.inputs.resize(context.inputs.size());
    choice.inputs[0] = layout;
    choice.outputs = {layout};
    choice.in_place = {0};
    choice.cost = 3 * stream_ns(static_cast<double>(src.bytes()));
    add_chain_inputs(context, layout, choice);
    choices.push_back(std::move(choice));
  };
  add(src.layout);
  if (rank >= 3 && rank <= 5 && axes->front() == 2 &&
      (!per_channel || context.node.attrs<FusedAttrs>().channel_axis == 1)) {
    add(Layout::channels_last(src.rank()));
    add(Layout::blocked(src.rank(), static_cast<int>(channel_block(context.isa))));
  }
  return choices;
}

Proposal propose_middle(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  const auto axes = axes_of(context);
  if (!axes) return Reject{"the axes are known at run time only"};
  if (axes->empty() || axes->back() - axes->front() + 1 != static_cast<int64_t>(axes->size()))
    return Reject{"axes that are not neighbours"};
  if (has_channel_step(context.node) &&
      (axes->size() != 1 || context.node.attrs<FusedAttrs>().channel_axis != axes->front()))
    return Reject{"a chain per channel of another axis"};
  std::vector<LayoutChoice> choices;
  const auto add = [&](const Layout& layout, double passes) {
    LayoutChoice& choice = choices.emplace_back();
    choice.inputs.resize(context.inputs.size());
    choice.inputs[0] = layout;
    choice.outputs = {layout};
    choice.in_place = {0};
    choice.cost = passes * stream_ns(static_cast<double>(src.bytes()));
    add_chain_inputs(context, layout, choice);
  };
  add(src.layout, 4);
  if (is_of_channels(context) && src.rank() >= 3 && src.rank() <= 5 && src.count() > 0) {
    add(Layout::channels_last(src.rank()), 3);
    add(Layout::blocked(src.rank(), static_cast<int>(channel_block(context.isa))), 3.5);
  }
  return choices;
}

std::unique_ptr<const Executor> create_middle(const NodeContext& context, const LayoutChoice& choice) {
  if (choice.outputs[0].is_plain()) return std::make_unique<MvnMiddleExecutor>(context);
  if (choice.outputs[0].is_channels_last()) return std::make_unique<MvnExecutor>(context);
  return std::make_unique<MvnBlocksExecutor>(context);
}

constexpr Impl kMvn[] = {{"mvn", &propose,
                          [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
                            return std::make_unique<MvnExecutor>(context);
                          }},
                         {"mvn_middle", &propose_middle, &create_middle}};

}  // namespace

std::span<const Impl> mvn_impls() { return kMvn; }

}  // namespace terroir::cpu
