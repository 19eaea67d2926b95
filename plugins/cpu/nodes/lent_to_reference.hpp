#pragma once
// What: an executor whose work is a reference's, or most of it: the tensors of a run as the reference wants them, and
// the run's threads lent to its loops. Layouts: plain.
#include <memory>
#include <vector>

#include "ir/schema/op_schema.hpp"
#include "ops/reference/parallel.hpp"
#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

class LentToReference : public Executor {
 public:
  void run(const RunArgs& args) const final {
    std::vector<ir::TensorView> inputs = inputs_;
    std::vector<ir::MutableTensorView> outputs = outputs_;
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].data = args.inputs[i];
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].data = args.outputs[i];
    const auto shared_out = [&](int64_t tasks, FunctionRef<void(int64_t)> body) {
      args.arena.parallel_for(tasks, body);
    };
    const ops::reference::LentThreads lend(shared_out);
    evaluate({*attributes_, inputs, outputs});
  }

 protected:
  explicit LentToReference(const NodeContext& context) : attributes_(context.node.attributes->clone()) {
    for (const TensorDesc& input : context.inputs) inputs_.push_back({input.type, input.dims, nullptr});
    for (const TensorDesc& output : context.outputs) outputs_.push_back({output.type, output.dims, nullptr});
  }

 private:
  virtual void evaluate(const ir::EvalContext& context) const = 0;

  std::unique_ptr<ir::Attributes> attributes_;
  std::vector<ir::TensorView> inputs_;
  std::vector<ir::MutableTensorView> outputs_;
};

}  // namespace terroir::cpu
