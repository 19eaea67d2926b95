// MVN in f32 over trailing axes (layer normalisation), over the spatial axes of every channel, or over neighbouring
// axes in the middle, with a fused chain. Layouts: plain; channel blocks and channels-last when exactly the spatial
// axes or the channels are normalised. Chains: a scale and shift along an axis that is alone normalised, and innermost
// or of blocks, or of the channels of blocks, are part of the kernel; other steps follow on a row (plain) or some
// positions (else) while they are in the cache. Threads: slices of the rows, or of the (image, channel block) pairs.
// Padding: the lanes behind the last channel are zeros, whose mean is zero: they stay zero; the chain leaves them out.
#include <algorithm>
#include <cmath>
#include <span>

#include "ops/defs/normalization/mvn.hpp"
#include "plugins/cpu/kernels/mvn/mvn.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
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

/// Of channels: along the axis of the chain's channels, normalised or not.
ScaleAndShift scale_and_shift_of_channels(const NodeContext& context) {
  ScaleAndShift found;
  if (!is_fused(context.node)) return found;
  const auto& attrs = context.node.attrs<FusedAttrs>();
  size_t& at = found.steps;
  if (at < attrs.chain.size() && is_channel_step(attrs.chain[at], PostOpKind::mul))
    found.scale = attrs.chain[at++].operand;
  if (at < attrs.chain.size() && is_channel_step(attrs.chain[at], PostOpKind::add))
    found.shift = attrs.chain[at++].operand;
  return found;
}

ScaleAndShift scale_and_shift_of(const NodeContext& context) {
  if (!is_fused(context.node)) return {};
  if (*axes_of(context) != std::vector<int64_t>{context.node.attrs<FusedAttrs>().channel_axis}) return {};
  return scale_and_shift_of_channels(context);
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
    if (src.layout.is_channels_last() && is_of_channels(context)) {
      axis_ = src.dims[1];
      outer_ = src.count() / axis_;
    } else if (src.layout.is_channels_last()) {
      outer_ = src.dims[0];
      inner_ = src.dims[1];
    }
    const ScaleAndShift own = scale_and_shift_of(context);
    scale_ = vector_of(context, own.scale);
    shift_ = vector_of(context, own.shift);
    chain_ = PostOpChain(context, own.steps, 1);
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
    if (inner_ > 1) return;  // channels-last: lanes
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
      run_chain_({dst, dst, axis_, inner_, inner_, inner_, offset, inner_, 0, ChannelAxis::lanes}, ops.data(), n_ops);
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
  int64_t channels_ = 1, run_ = 1;  // run_: elements of a channel that lie side by side, plain
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

/// In channel blocks: what both executors have in common.
class MvnBlocks : public Executor {
 public:
  MvnBlocks(const NodeContext& context, const char* name)
      : mvn_(args_of(context.node)),
        kernels_(mvn_kernels(context.isa)),
        run_chain_(post_op_kernels(context.isa).run),
        batch_(context.inputs[0].dims[0]),
        channels_(context.inputs[0].dims[1]),
        positions_(context.inputs[0].count() / std::max<int64_t>(1, batch_ * channels_)),
        block_(channel_block(context.isa)),
        name_(concat(name, context.inputs[0].layout.name(), "__", isa_name(context.isa))) {
    const ScaleAndShift own = scale_and_shift_of_channels(context);
    scale_ = vector_of(context, own.scale);
    shift_ = vector_of(context, own.shift);
    chain_ = PostOpChain(context, own.steps, block_);
  }
  std::string kernel_name() const override { return name_; }

 protected:
  /// The chain behind a scale and shift, over `n` positions of a block that begins at `channel`.
  void finish(float* out, int64_t offset, int64_t n, int64_t channel, const PostOpChain::Bound& ops) const noexcept {
    if (chain_.empty()) return;
    float* const dst = out + offset;
    run_chain_({dst, dst, n, std::min(block_, channels_ - channel), block_, block_, offset, block_, channel,
                ChannelAxis::lanes},
               ops.data(), static_cast<int64_t>(chain_.size()));
  }

  MvnArgs mvn_;
  const MvnKernels& kernels_;
  decltype(PostOpKernels::run) run_chain_;
  int64_t batch_, channels_, positions_, block_;
  PostOpChain chain_;
  std::vector<float> scale_, shift_;
  std::string name_;
};

/// Over the channels of every position.
class MvnChannelsExecutor final : public MvnBlocks {
 public:
  explicit MvnChannelsExecutor(const NodeContext& context) : MvnBlocks(context, "f32_mvn_channels_") {
    mvn_.scale = scale_.empty() ? nullptr : scale_.data();
    mvn_.shift = shift_.empty() ? nullptr : shift_.data();
  }

  void run(const RunArgs& args) const noexcept override {
    constexpr int64_t kElements = 8192, kLeastPositions = 16;
    const int64_t at_once = std::max(kLeastPositions, round_up(kElements / channels_, kLeastPositions));
    const int64_t parts = ceil_div(positions_, at_once), step = positions_ * block_;
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    args.arena.parallel_for(batch_ * parts, [&](int64_t task) {
      const int64_t begin = task % parts * at_once, n = std::min(at_once, positions_ - begin);
      int64_t offset = task / parts * ceil_div(channels_, block_) * step + begin * block_;
      auto* const out = static_cast<float*>(args.outputs[0]);
      MvnArgs mvn = mvn_;
      mvn.src = static_cast<const float*>(args.inputs[0]) + offset;
      mvn.dst = out + offset;
      kernels_.blocks(mvn, n, channels_, block_, step);
      for (int64_t c = 0; c < channels_; c += block_, offset += step) finish(out, offset, n, c, ops);
    });
  }
};

/// Over the positions of every channel.
class MvnPlanesExecutor final : public MvnBlocks {
 public:
  explicit MvnPlanesExecutor(const NodeContext& context) : MvnBlocks(context, "f32_mvn_") {}

  void run(const RunArgs& args) const noexcept override {
    constexpr int64_t kTaskElements = 8192;
    const int64_t unit = positions_ * block_, blocks = ceil_div(channels_, block_), units = batch_ * blocks;
    if (units * unit == 0) return;
    const int64_t per_task = std::max<int64_t>(1, kTaskElements / unit);
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    args.arena.parallel_for(ceil_div(units, per_task), [&](int64_t task) {
      for (int64_t at = task * per_task; at < std::min(units, (task + 1) * per_task); ++at)
        normalise(args, at * unit, at % blocks * block_, ops);
    });
  }

 private:
  static constexpr int64_t kMostLanes = 16;
  /// Positions that are written and go through the chain at once.
  static constexpr int64_t kAtOnce = 256;

  void normalise(const RunArgs& args, int64_t offset, int64_t channel, const PostOpChain::Bound& ops) const noexcept {
    const auto* const src = static_cast<const float*>(args.inputs[0]) + offset;
    auto* const out = static_cast<float*>(args.outputs[0]);
    double mean[kMostLanes], squares[kMostLanes];
    kernels_.moments(src, positions_, block_, mean, squares);
    float middle[kMostLanes], factor[kMostLanes], shift[kMostLanes] = {};
    for (int64_t i = 0; i < block_; ++i) {
      const double variance = squares[i] / static_cast<double>(positions_), eps = mvn_.eps;
      const double deviation = !mvn_.normalize_variance ? 1.0
                               : mvn_.eps_outside_sqrt  ? std::sqrt(variance) + eps
                                                        : std::sqrt(variance + eps);
      const bool exists = channel + i < channels_;
      const auto own = static_cast<size_t>(channel + i);
      middle[i] = static_cast<float>(mean[i]);
      factor[i] = exists ? static_cast<float>((scale_.empty() ? 1.0f : scale_[own]) / deviation) : 0.0f;
      if (exists && !shift_.empty()) shift[i] = shift_[own];
    }
    const PostOp steps[] = {
        {.kind = PostOpKind::sub, .mode = OperandMode::per_channel, .operand = middle},
        {.kind = PostOpKind::scale_shift, .mode = OperandMode::per_channel, .operand = factor, .operand2 = shift}};
    for (int64_t p = 0; p < positions_; p += kAtOnce) {
      const int64_t n = std::min(kAtOnce, positions_ - p), at = p * block_;
      run_chain_({src + at, out + offset + at, n, block_, block_, block_, 0, 0, 0, ChannelAxis::lanes}, steps, 2);
      finish(out, offset + at, n, channel, ops);
    }
  }
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
  return std::make_unique<MvnChannelsExecutor>(context);
}

constexpr Impl kMvn[] = {
    {"mvn", &propose,
     [](const NodeContext& context, const LayoutChoice& choice) -> std::unique_ptr<const Executor> {
       if (choice.outputs[0].channel_block() != 0) return std::make_unique<MvnPlanesExecutor>(context);
       return std::make_unique<MvnExecutor>(context);
     }},
    {"mvn_middle", &propose_middle, &create_middle}};

}  // namespace

std::span<const Impl> mvn_impls() { return kMvn; }

}  // namespace terroir::cpu
