// Reductions of f32 tensors over adjacent axes.
// Layouts: plain; channels-last and channel blocks where spatial axes are reduced, with a result in the same layout. Of
// all of them, since a channel is one number, the result may also be plain: blocks are written one behind the other
// without their padding.
// Threads: slices of the result; the order of a sum depends on extents alone.
#include <algorithm>
#include <span>

#include "ops/defs/reduction/reduce.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/reduce/reduce.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

std::optional<ReduceKind> kind_of(const std::string& type) {
  constexpr std::pair<std::string_view, ReduceKind> kKinds[] = {
      {"ReduceSum", ReduceKind::sum}, {"ReduceMean", ReduceKind::mean}, {"ReduceMax", ReduceKind::max},
      {"ReduceMin", ReduceKind::min}, {"ReduceProd", ReduceKind::prod}, {"ReduceL1", ReduceKind::l1},
      {"ReduceL2", ReduceKind::l2}};
  for (const auto& [name, kind] : kKinds)
    if (name == type) return kind;
  return std::nullopt;
}

/// First reduced axis and one behind the last; empty when they are not one adjacent run.
std::optional<std::pair<size_t, size_t>> reduced_run(const NodeContext& context) {
  if (!context.constants[1]) return std::nullopt;
  std::vector<int64_t> axes = ir::to_integers(context.constants[1]->view);
  const int64_t rank = context.inputs[0].rank();
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  if (axes.empty() || axes.back() - axes.front() + 1 != static_cast<int64_t>(axes.size())) return std::nullopt;
  return std::pair{static_cast<size_t>(axes.front()), static_cast<size_t>(axes.back()) + 1};
}

class ReduceExecutor final : public Executor {
 public:
  ReduceExecutor(const NodeContext& context, std::pair<size_t, size_t> run)
      : kind_(*kind_of(context.node.schema->type)),
        kernels_(reduce_kernels(context.isa)),
        name_(context.node.schema->type + "_" + context.inputs[0].layout.name() + "__" + isa_name(context.isa)) {
    const TensorDesc& src = context.inputs[0];
    const ir::Dims padded = src.padded_dims();
    for (size_t i = 0; i < padded.size(); ++i) (i < run.first ? outer_ : i < run.second ? axis_ : inner_) *= padded[i];
    if (const int64_t block = src.layout.channel_block()) {
      outer_ /= block;
      inner_ *= block;
      if (context.outputs[0].layout.channel_block() == 0) {
        blocks_ = padded[1] / block;
        channels_ = src.dims[1];
      }
    } else if (src.layout.is_channels_last()) {
      outer_ /= src.dims[1];
      inner_ *= src.dims[1];
    }
    if (blocks_ == 0) {
      blocks_ = 1;
      channels_ = inner_;
    }
  }

  void run(const RunArgs& args) const noexcept override {
    const auto* src = static_cast<const float*>(args.inputs[0]);
    auto* dst = static_cast<float*>(args.outputs[0]);
    constexpr int64_t kTaskElements = 16384, kInnerUnit = 64;
    if (inner_ == 1) {
      const int64_t rows = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, axis_));
      args.arena.parallel_for(ceil_div(outer_, rows), [&](int64_t task) {
        const int64_t begin = task * rows;
        kernels_.rows(kind_, src + begin * axis_, dst + begin, std::min(rows, outer_ - begin), axis_);
      });
      return;
    }
    const int64_t slices = ceil_div(inner_, kInnerUnit);
    if (slices == 1 && channels_ == inner_) {
      const int64_t runs = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, axis_ * inner_));
      args.arena.parallel_for(ceil_div(outer_, runs), [&](int64_t task) {
        const int64_t begin = task * runs;
        kernels_.middle(kind_, src + begin * axis_ * inner_, dst + begin * inner_, std::min(runs, outer_ - begin),
                        axis_, inner_, 0, inner_);
      });
      return;
    }
    args.arena.parallel_for(outer_ * slices, [&](int64_t task) {
      const int64_t outer = task / slices, begin = task % slices * kInnerUnit;
      const int64_t image = outer / blocks_, channel = outer % blocks_ * inner_;
      kernels_.middle(kind_, src + outer * axis_ * inner_, dst + image * channels_ + channel, 1, axis_, inner_, begin,
                      std::min({inner_, begin + kInnerUnit, channels_ - channel}));
    });
  }
  std::string kernel_name() const override { return "f32_" + name_; }

 private:
  ReduceKind kind_;
  const ReduceKernels& kernels_;
  std::string name_;
  int64_t outer_ = 1, axis_ = 1, inner_ = 1;
  int64_t blocks_ = 0, channels_ = 0;  // of inner_ each, and all together, of one image of the result
};

Proposal propose(const NodeContext& context) {
  const TensorDesc &src = context.inputs[0], &dst = context.outputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  const auto run = reduced_run(context);
  if (!run) return Reject{"axes that are not adjacent, or known at run time only"};
  if (src.count() == 0) return Reject{"the input has no elements"};
  std::vector<LayoutChoice> choices;
  const auto add = [&](const Layout& from, const Layout& to) {
    LayoutChoice choice;
    choice.inputs = {from, std::nullopt};
    choice.outputs = {to};
    choice.cost = stream_ns(static_cast<double>(src.bytes()));
    choices.push_back(std::move(choice));
  };
  add(src.layout, dst.layout);
  if (src.rank() >= 3 && src.rank() <= 5 && run->first >= 2) {
    const Layout last = Layout::channels_last(src.rank());
    const auto block = static_cast<int>(channel_block(context.isa));
    const Layout blocked = Layout::blocked(src.rank(), block);
    if (dst.rank() >= 3) {
      add(last, Layout::channels_last(dst.rank()));
      add(blocked, Layout::blocked(dst.rank(), block));
    }
    if (run->first == 2 && run->second == src.dims.size()) {
      add(last, dst.layout);
      add(blocked, dst.layout);
    }
  }
  return choices;
}

constexpr Impl kReduce[] = {
    {"reduce", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<ReduceExecutor>(context, *reduced_run(context));
     }}};

}  // namespace

std::span<const Impl> reduce_impls() { return kReduce; }

}  // namespace terroir::cpu
