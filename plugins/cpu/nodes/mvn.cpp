// MVN in f32 over trailing axes (layer normalisation) or over the spatial axes of every channel.
// Layouts: plain; channel blocks and channels-last when exactly the spatial axes are normalised.
// Threads: slices of the rows, or of the (image, channel block) pairs.
// Padding: the lanes behind the last channel are zeros, whose mean is zero: they stay zero.
#include <algorithm>
#include <span>

#include "ops/defs/normalization/mvn.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/mvn/mvn.hpp"

namespace terroir::cpu {
namespace {

/// Normalised axes, sorted; empty when they are known at run time only.
std::optional<std::vector<int64_t>> axes_of(const NodeContext& context) {
  const int64_t rank = context.inputs[0].rank();
  std::vector<int64_t> axes;
  if (context.node.schema->opset == "opset2") {
    axes = ops::mvn_axes(context.node.attrs<ops::Mvn2Attrs>(), static_cast<size_t>(rank));
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
  args.eps = static_cast<float>(ir::number_attribute(*node.attributes, "eps"));
  args.normalize_variance = ir::number_attribute(*node.attributes, "normalize_variance") != 0;
  if (node.schema->opset != "opset2")
    args.eps_outside_sqrt = node.attrs<ops::Mvn6Attrs>().eps_mode == ops::reference::EpsPlace::outside_sqrt;
  return args;
}

class MvnExecutor final : public Executor {
 public:
  explicit MvnExecutor(const NodeContext& context)
      : mvn_(args_of(context.node)),
        kernels_(mvn_kernels(context.isa)),
        name_("f32_mvn_" + context.inputs[0].layout.name() + "__" + isa_name(context.isa)) {
    const TensorDesc& src = context.inputs[0];
    const ir::Dims padded = src.padded_dims();
    const auto first = static_cast<size_t>(axes_of(context)->front());
    for (size_t i = 0; i < padded.size(); ++i) (i < first ? outer_ : axis_) *= padded[i];
    if (const int64_t block = src.layout.channel_block()) {
      outer_ /= block;
      inner_ = block;
    } else if (src.layout.is_channels_last()) {
      outer_ = src.dims[0];
      inner_ = src.dims[1];
    }
  }

  void run(const RunArgs& args) const noexcept override {
    constexpr int64_t kTaskElements = 8192;
    const int64_t unit = axis_ * inner_;
    const int64_t per_task = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, unit));
    args.arena.parallel_for((outer_ + per_task - 1) / per_task, [&](int64_t task) {
      MvnArgs mvn = mvn_;
      const int64_t begin = task * per_task, count = std::min(per_task, outer_ - begin);
      mvn.src = static_cast<const float*>(args.inputs[0]) + begin * unit;
      mvn.dst = static_cast<float*>(args.outputs[0]) + begin * unit;
      if (inner_ == 1)
        kernels_.rows(mvn, count, axis_);
      else
        kernels_.middle(mvn, count, axis_, inner_);
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  MvnArgs mvn_;
  const MvnKernels& kernels_;
  std::string name_;
  int64_t outer_ = 1, axis_ = 1, inner_ = 1;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  const auto axes = axes_of(context);
  if (!axes) return Reject{"the axes are known at run time only"};
  const int64_t rank = src.rank(), count = axes->empty() ? 0 : static_cast<int64_t>(axes->size());
  if (count == 0 || axes->back() != rank - 1 || axes->front() != rank - count)
    return Reject{"axes that are not the last ones"};
  std::vector<LayoutChoice> choices;
  const auto add = [&](const Layout& layout) {
    LayoutChoice choice;
    choice.inputs.resize(context.inputs.size());
    choice.inputs[0] = layout;
    choice.outputs = {layout};
    choice.in_place = {0};
    choice.cost = 3 * stream_ns(static_cast<double>(src.bytes()));
    choices.push_back(std::move(choice));
  };
  add(src.layout);
  if (rank >= 3 && rank <= 5 && axes->front() == 2) {
    add(Layout::channels_last(src.rank()));
    add(Layout::blocked(src.rank(), static_cast<int>(channel_block(context.isa))));
  }
  return choices;
}

constexpr Impl kMvn[] = {
    {"mvn", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<MvnExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> mvn_impls() { return kMvn; }

}  // namespace terroir::cpu
