// Transpose with a known order: a permutation of axes, elements of 1, 2, 4 or 8 bytes.
// Layouts: plain. Threads: slices of the result's outermost axis.
#include <algorithm>
#include <numeric>
#include <span>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"

namespace terroir::cpu {
namespace {

constexpr int64_t kMaxTasks = 64;

class TransposeExecutor final : public Executor {
 public:
  TransposeExecutor(const PermutePlan& plan, Isa isa) : plan_(plan), kernels_(reorder_kernels(isa)), isa_(isa) {}

  void run(const RunArgs& args) const noexcept override {
    const int64_t outer = plan_.rank == 0 ? 1 : plan_.extent[0];
    const int64_t tasks = std::min(outer, kMaxTasks);
    args.arena.parallel_for(tasks, [&](int64_t i) {
      kernels_.permute(plan_, args.inputs[0], args.outputs[0], outer * i / tasks, outer * (i + 1) / tasks);
    });
  }
  std::string kernel_name() const override { return std::string("permute__") + isa_name(isa_); }

 private:
  PermutePlan plan_;
  const ReorderKernels& kernels_;
  Isa isa_;
};

/// The axes in their new order; an empty order means reversed.
std::vector<int64_t> order_of(const NodeContext& context) {
  std::vector<int64_t> order = ir::to_integers(context.constants[1]->view);
  if (order.empty()) {
    order.resize(context.inputs[0].dims.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  return order;
}

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (!context.constants[1]) return Reject{"the order is known at run time only"};
  if (src.type == element::string ||
      (src.type.bitwidth() != 8 && src.type.bitwidth() != 16 && src.type.bitwidth() != 32 && src.type.bitwidth() != 64))
    return Reject{"elements that are not 1, 2, 4 or 8 bytes"};
  LayoutChoice choice;
  choice.inputs = {src.layout, std::nullopt};
  choice.outputs = {context.outputs[0].layout};
  choice.cost = 4 * stream_ns(static_cast<double>(src.bytes()));
  return std::vector{choice};
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  const std::vector<int64_t> order = order_of(context);
  PermutePlan plan;
  const TensorDesc& src = context.inputs[0];
  make_permute_plan(src.dims.data(), order.data(), src.rank(), static_cast<int64_t>(src.type.size()), plan);
  return std::make_unique<TransposeExecutor>(plan, context.isa);
}

constexpr Impl kTranspose[] = {{"transpose", &propose, &create}};

}  // namespace

std::span<const Impl> transpose_impls() { return kTranspose; }

}  // namespace terroir::cpu
