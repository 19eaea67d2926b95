// RmsNorm of the set "cpu" in f32.
// Layouts: plain. Threads: slices of the rows.
#include <algorithm>
#include <span>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/mvn/mvn.hpp"
#include "plugins/cpu/rms_norm_op.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

class RmsNormExecutor final : public Executor {
 public:
  explicit RmsNormExecutor(const NodeContext& context)
      : kernels_(mvn_kernels(context.isa)),
        name_(std::string("f32_rms_norm__") + isa_name(context.isa)),
        scaled_(context.inputs.size() > 1),
        n_(context.inputs[0].dims.back()),
        rows_(context.inputs[0].count() / n_) {
    const auto& attrs = context.node.attrs<RmsNormAttrs>();
    mvn_.eps = static_cast<float>(attrs.eps);
    mvn_.eps_outside_sqrt = attrs.eps_outside_sqrt;
    mvn_.centered = false;
  }

  void run(const RunArgs& args) const noexcept override {
    constexpr int64_t kTaskElements = 8192;
    const int64_t per_task = std::max<int64_t>(1, kTaskElements / n_);
    args.arena.parallel_for(ceil_div(rows_, per_task), [&](int64_t task) {
      MvnArgs mvn = mvn_;
      const int64_t begin = task * per_task;
      mvn.src = static_cast<const float*>(args.inputs[0]) + begin * n_;
      mvn.dst = static_cast<float*>(args.outputs[0]) + begin * n_;
      if (scaled_) mvn.scale = static_cast<const float*>(args.inputs[1]);
      kernels_.rows(mvn, std::min(per_task, rows_ - begin), n_);
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  const MvnKernels& kernels_;
  std::string name_;
  MvnArgs mvn_;
  bool scaled_;
  int64_t n_, rows_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.count() == 0) return Reject{"a tensor without elements"};
  LayoutChoice choice;
  for (const TensorDesc& input : context.inputs) choice.inputs.push_back(input.layout);
  choice.outputs = {context.outputs[0].layout};
  choice.in_place = {0};
  choice.cost = 3 * stream_ns(static_cast<double>(src.bytes()));
  return std::vector{choice};
}

constexpr Impl kRmsNorm[] = {
    {"rms_norm", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<RmsNormExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> rms_norm_impls() { return kRmsNorm; }

}  // namespace terroir::cpu
