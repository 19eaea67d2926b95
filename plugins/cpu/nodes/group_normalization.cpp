// GroupNormalization in f32, with a fused chain: the scale and shift of each channel, and the chain behind them, follow
// while the values are in the cache.
// Layouts: plain: each group is normalised by one thread, MVN's rows. Channel blocks: the moments of every channel, a
// block to a thread; then those of every group, so a group may cut blocks. Padding: the lanes behind
// the last channel count in no group and are written as zeros.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "ops/defs/normalization/group_normalization.hpp"
#include "plugins/cpu/kernels/mvn/mvn.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

const ops::GroupNormalizationAttrs& attributes_of(const NodeContext& context) {
  return ir::attributes_as<ops::GroupNormalizationAttrs>(base_attributes(context.node));
}

/// What both layouts have in common.
class GroupNormalization : public Executor {
 public:
  explicit GroupNormalization(const NodeContext& context)
      : kernels_(mvn_kernels(context.isa)),
        run_chain_(post_op_kernels(context.isa).run),
        groups_(attributes_of(context).num_groups),
        images_(context.inputs[0].dims[0]),
        channels_(context.inputs[0].dims[1]),
        per_group_(channels_ / groups_),
        plane_(context.inputs[0].count() / (images_ * channels_)),
        chain_(context, 0, std::max(1, context.inputs[0].layout.channel_block())),
        name_(concat("f32_group_normalization_", context.inputs[0].layout.name(), "__", isa_name(context.isa))) {}

  std::string kernel_name() const override { return name_; }

 protected:
  /// The chain behind a scale and shift of each channel.
  void bind(const RunArgs& args, PostOpChain::Bound& ops, const float* scale, const float* shift) const noexcept {
    PostOpChain::Bound own;
    chain_.bind(args, own);
    ops[0] = {.kind = PostOpKind::scale_shift, .mode = OperandMode::per_channel, .operand = scale, .operand2 = shift};
    std::copy_n(own.begin(), chain_.size(), ops.begin() + 1);
  }
  int64_t steps() const { return static_cast<int64_t>(chain_.size()) + 1; }

  const MvnKernels& kernels_;
  decltype(PostOpKernels::run) run_chain_;
  int64_t groups_, images_, channels_, per_group_, plane_;

 private:
  PostOpChain chain_;
  std::string name_;
};

class PlainExecutor final : public GroupNormalization {
 public:
  explicit PlainExecutor(const NodeContext& context)
      : GroupNormalization(context), eps_(static_cast<float>(attributes_of(context).epsilon)) {}

  void run(const RunArgs& args) const noexcept override {
    const int64_t n = per_group_ * plane_;
    PostOpChain::Bound ops;
    bind(args, ops, static_cast<const float*>(args.inputs[1]), static_cast<const float*>(args.inputs[2]));
    args.arena.parallel_for(images_ * groups_, [&](int64_t task) {
      const int64_t channel = task % groups_ * per_group_, offset = task * n;
      MvnArgs mvn;
      mvn.eps = eps_;
      mvn.src = static_cast<const float*>(args.inputs[0]) + offset;
      mvn.dst = static_cast<float*>(args.outputs[0]) + offset;
      kernels_.rows(mvn, 1, n);
      if (plane_ == 1)
        run_chain_({mvn.dst, mvn.dst, 1, n, n, n, offset, n, channel, ChannelAxis::lanes}, ops.data(), steps());
      else
        run_chain_({mvn.dst, mvn.dst, per_group_, plane_, plane_, plane_, offset, plane_, channel, ChannelAxis::rows},
                   ops.data(), steps());
    });
  }

 private:
  float eps_;
};

class BlockedExecutor final : public GroupNormalization {
 public:
  explicit BlockedExecutor(const NodeContext& context)
      : GroupNormalization(context),
        eps_(attributes_of(context).epsilon),
        block_(context.inputs[0].layout.channel_block()),
        blocks_(ceil_div(channels_, block_)) {}

  void run(const RunArgs& args) const noexcept override {
    auto* const moments = static_cast<double*>(args.scratch);          // [image, block][mean, squares][lane]
    auto* const of_groups = moments + images_ * blocks_ * 2 * block_;  // [image, group][mean, factor]
    auto* const factors = reinterpret_cast<float*>(of_groups + images_ * groups_ * 2);  // as moments: [scale, shift]
    const auto* const src = static_cast<const float*>(args.inputs[0]);
    args.arena.parallel_for(images_ * blocks_, [&](int64_t at) {
      double* const mean = moments + at * 2 * block_;
      kernels_.moments(src + at * plane_ * block_, plane_, block_, mean, mean + block_);
    });
    // By image: a group is of some channels, a few nanoseconds each.
    args.arena.parallel_for(images_, [&](int64_t n) {
      for (int64_t group = 0; group < groups_; ++group)
        merge_moments(moments + n * blocks_ * 2 * block_, group, of_groups + (n * groups_ + group) * 2);
    });
    args.arena.parallel_for(images_ * blocks_, [&](int64_t at) {
      float* const scale = factors + at * 2 * block_;
      const int64_t first = at % blocks_ * block_, count = std::min(block_, channels_ - first);
      find_factors(args, of_groups + at / blocks_ * groups_ * 2, first, count, scale);
      apply(args, at, first, count, scale);
    });
  }
  size_t scratch_bytes(int) const override {
    return static_cast<size_t>(images_ * blocks_ * 2 * block_) * (sizeof(double) + sizeof(float)) +
           static_cast<size_t>(images_ * groups_ * 2) * sizeof(double);
  }

 private:
  /// Positions that are normalised and go through the chain at once.
  static constexpr int64_t kAtOnce = 256;

  /// Of a group: the mean, and what its values are multiplied by. `moments`: of the image.
  void merge_moments(const double* moments, int64_t group, double* merged) const noexcept {
    const auto each_channel = [&](auto&& take) {
      for (int64_t c = group * per_group_; c < (group + 1) * per_group_; ++c) {
        const double* const own = moments + c / block_ * 2 * block_ + c % block_;
        take(own[0], own[block_]);
      }
    };
    double sum = 0, squares = 0;
    each_channel([&](double mean, double) { sum += mean; });
    const double mean = sum / static_cast<double>(per_group_);
    each_channel([&](double own, double own_squares) {
      squares += own_squares + (own - mean) * (own - mean) * static_cast<double>(plane_);
    });
    merged[0] = mean;
    merged[1] = 1 / std::sqrt(squares / static_cast<double>(per_group_ * plane_) + eps_);
  }

  /// Of channels [first, first + count) what their group's mean and factor make of gamma and beta.
  void find_factors(const RunArgs& args, const double* of_groups, int64_t first, int64_t count,
                    float* scale) const noexcept {
    const auto *gamma = static_cast<const float*>(args.inputs[1]), *beta = static_cast<const float*>(args.inputs[2]);
    for (int64_t i = 0; i < count; ++i) {
      const double* const merged = of_groups + (first + i) / per_group_ * 2;
      const double factor = gamma[first + i] * merged[1];
      scale[i] = static_cast<float>(factor);
      scale[block_ + i] = static_cast<float>(beta[first + i] - merged[0] * factor);
    }
  }

  void apply(const RunArgs& args, int64_t at, int64_t first, int64_t count, const float* scale) const noexcept {
    PostOpChain::Bound ops;
    // The kernels count channels from the tensor's first one on.
    bind(args, ops, scale - first, scale + block_ - first);
    for (int64_t p = 0; p < plane_; p += kAtOnce) {
      const int64_t offset = (at * plane_ + p) * block_, n = std::min(kAtOnce, plane_ - p);
      const float* const src = static_cast<const float*>(args.inputs[0]) + offset;
      float* const dst = static_cast<float*>(args.outputs[0]) + offset;
      run_chain_({src, dst, n, count, block_, block_, offset, block_, first, ChannelAxis::lanes}, ops.data(), steps());
      for (int64_t i = 0; count < block_ && i < n; ++i)
        std::fill(dst + i * block_ + count, dst + (i + 1) * block_, 0.0f);
    }
  }

  double eps_;
  int64_t block_, blocks_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  if (src.count() == 0) return Reject{"there are no elements"};
  std::vector<LayoutChoice> choices;
  const auto add = [&](const Layout& layout) {
    LayoutChoice choice;
    choice.inputs = {layout, context.inputs[1].layout, context.inputs[2].layout};
    choice.inputs.resize(context.inputs.size());
    choice.outputs = {layout};
    choice.in_place = {0};
    choice.cost = 4 * stream_ns(static_cast<double>(src.bytes()));
    add_chain_inputs(context, layout, choice);
    choices.push_back(std::move(choice));
  };
  add(src.layout);
  if (src.rank() >= 3 && src.rank() <= 5)
    add(Layout::blocked(src.rank(), static_cast<int>(channel_block(context.isa))));
  return choices;
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  if (context.inputs[0].layout.channel_block() != 0) return std::make_unique<BlockedExecutor>(context);
  return std::make_unique<PlainExecutor>(context);
}

constexpr Impl kGroupNormalization[] = {{"group_normalization", &propose, &create}};

}  // namespace

std::span<const Impl> group_normalization_impls() { return kGroupNormalization; }

}  // namespace terroir::cpu
