// GroupNormalization in f32: MVN over each group, then the scale and shift of each of its channels while it is in the
// cache.
// Layouts: plain. Threads: groups; with few of them, every group is normalised by one thread.
#include <algorithm>
#include <span>

#include "ops/defs/normalization/group_normalization.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/mvn/mvn.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"

namespace terroir::cpu {
namespace {

class GroupNormalizationExecutor final : public Executor {
 public:
  explicit GroupNormalizationExecutor(const NodeContext& context)
      : kernels_(mvn_kernels(context.isa)),
        affine_(post_op_kernels(context.isa).run),
        name_(std::string("f32_group_normalization__") + isa_name(context.isa)) {
    const auto& attrs = context.node.attrs<ops::GroupNormalizationAttrs>();
    const TensorDesc& src = context.inputs[0];
    eps_ = static_cast<float>(attrs.epsilon);
    groups_ = attrs.num_groups;
    channels_ = src.dims[1] / groups_;
    images_ = src.dims[0];
    plane_ = src.count() / (images_ * src.dims[1]);
  }

  void run(const RunArgs& args) const noexcept override {
    const int64_t n = channels_ * plane_;
    args.arena.parallel_for(images_ * groups_, [&](int64_t task) {
      const int64_t channel = task % groups_ * channels_;
      MvnArgs mvn;
      mvn.eps = eps_;
      mvn.src = static_cast<const float*>(args.inputs[0]) + task * n;
      mvn.dst = static_cast<float*>(args.outputs[0]) + task * n;
      kernels_.rows(mvn, 1, n);
      const PostOp ops[] = {{.kind = PostOpKind::scale_shift,
                             .mode = OperandMode::per_channel,
                             .operand = static_cast<const float*>(args.inputs[1]),
                             .operand2 = static_cast<const float*>(args.inputs[2])}};
      if (plane_ == 1)
        affine_({mvn.dst, mvn.dst, 1, n, n, n, 0, n, channel, ChannelAxis::lanes}, ops, 1);
      else
        affine_({mvn.dst, mvn.dst, channels_, plane_, plane_, plane_, 0, plane_, channel, ChannelAxis::rows}, ops, 1);
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  const MvnKernels& kernels_;
  decltype(PostOpKernels::run) affine_;
  std::string name_;
  float eps_ = 0;
  int64_t images_ = 1, groups_ = 1, channels_ = 1, plane_ = 1;  // channels_: of a group
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  if (src.count() == 0) return Reject{"there are no elements"};
  LayoutChoice choice;
  for (const TensorDesc& input : context.inputs) choice.inputs.emplace_back(input.layout);
  choice.outputs = {context.outputs[0].layout};
  choice.in_place = {0};
  choice.cost = 4 * stream_ns(static_cast<double>(src.bytes()));
  return std::vector{choice};
}

constexpr Impl kGroupNormalization[] = {
    {"group_normalization", &propose,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<GroupNormalizationExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> group_normalization_impls() { return kGroupNormalization; }

}  // namespace terroir::cpu
