// SoftMax and LogSoftmax in f32 along any axis.
// Layouts: plain. Threads: slices of rows, or of the inner extent.
#include <algorithm>
#include <span>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/softmax/softmax.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

class SoftMaxExecutor final : public Executor {
 public:
  explicit SoftMaxExecutor(const NodeContext& context)
      : kernels_(softmax_kernels(context.isa)), isa_(context.isa), log_form_(context.node.is("LogSoftmax")) {
    const ir::Dims& dims = context.inputs[0].dims;
    auto axis = static_cast<int64_t>(ir::number_attribute(*context.node.attributes, "axis"));
    if (axis < 0) axis += static_cast<int64_t>(dims.size());
    for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i)
      (i < axis ? outer_ : i == axis ? axis_ : inner_) *= dims[static_cast<size_t>(i)];
  }

  void run(const RunArgs& args) const noexcept override {
    const auto* src = static_cast<const float*>(args.inputs[0]);
    auto* dst = static_cast<float*>(args.outputs[0]);
    constexpr int64_t kTaskElements = 4096, kInnerUnit = 64;
    if (inner_ == 1) {
      const int64_t rows = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, axis_));
      args.arena.parallel_for(ceil_div(outer_, rows), [&](int64_t task) {
        const int64_t begin = task * rows;
        kernels_.rows(src + begin * axis_, dst + begin * axis_, std::min(rows, outer_ - begin), axis_, log_form_);
      });
      return;
    }
    const int64_t slices = ceil_div(inner_, kInnerUnit);
    args.arena.parallel_for(outer_ * slices, [&](int64_t task) {
      const int64_t offset = task / slices * axis_ * inner_, begin = task % slices * kInnerUnit;
      kernels_.middle(src + offset, dst + offset, 1, axis_, inner_, begin, std::min(inner_, begin + kInnerUnit),
                      log_form_);
    });
  }
  std::string kernel_name() const override {
    return std::string(log_form_ ? "f32_log_softmax__" : "f32_softmax__") + isa_name(isa_);
  }

 private:
  const SoftmaxKernels& kernels_;
  Isa isa_;
  bool log_form_;
  int64_t outer_ = 1, axis_ = 1, inner_ = 1;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  LayoutChoice choice;
  choice.inputs = {src.layout};
  choice.outputs = {context.outputs[0].layout};
  choice.in_place = {0};
  choice.cost = 3 * stream_ns(static_cast<double>(src.bytes()));
  return std::vector{choice};
}

constexpr Impl kSoftMax[] = {
    {"softmax", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<SoftMaxExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> softmax_impls() { return kSoftMax; }

}  // namespace terroir::cpu
