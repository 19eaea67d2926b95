// Suppressions of boxes: the references, whose comparisons of a box with many are a kernel's.
// Layouts: plain. Threads: those of the reference, over classes or candidates.
#include <span>

#include "ops/reference/detection/box_overlap.hpp"
#include "ops/run_reference.hpp"
#include "plugins/cpu/kernels/boxes/boxes.hpp"
#include "plugins/cpu/nodes/lent_to_reference.hpp"

namespace terroir::cpu {
namespace {

class BoxSuppressionExecutor final : public LentToReference {
 public:
  explicit BoxSuppressionExecutor(const NodeContext& context)
      : LentToReference(context), schema_(*context.node.schema), isa_(context.isa) {}

  std::string kernel_name() const override { return std::string("box_suppression__") + isa_name(isa_); }

 private:
  void evaluate(const ir::EvalContext& context) const override {
    const ops::reference::LentBoxKernels lend(*box_kernels(isa_));
    ops::run_reference(schema_, context);
  }

  const ir::OpSchema& schema_;
  Isa isa_;
};

Proposal propose(const NodeContext& context) {
  if (!box_kernels(context.isa)) return Reject{"loops without an instruction set are as wide"};
  const TensorDesc& boxes = context.inputs[0];
  if (boxes.type == element::f64) return Reject{"f64 is compared in f64, by the reference"};
  LayoutChoice choice;
  double bytes = 0;
  for (const TensorDesc& input : context.inputs) {
    choice.inputs.push_back(input.layout);
    bytes += static_cast<double>(input.bytes());
  }
  for (const TensorDesc& output : context.outputs) choice.outputs.push_back(output.layout);
  choice.cost = 100 * stream_ns(bytes);
  return std::vector{choice};
}

constexpr Impl kBoxSuppression[] = {
    {"box_suppression", &propose,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<BoxSuppressionExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> box_suppression_impls() { return kBoxSuppression; }

}  // namespace terroir::cpu
