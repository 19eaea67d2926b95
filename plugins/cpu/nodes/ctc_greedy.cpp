// CTCGreedyDecoder and CTCGreedyDecoderSeqLen of f32 data: the reference, whose search for the best class of a step is
// a kernel's. Layouts: plain. Threads: the items.
#include <span>

#include "ops/defs/sequence/ctc.hpp"
#include "ops/reference/parallel.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/select/select.hpp"

namespace terroir::cpu {
namespace {

class CtcGreedyExecutor final : public Executor {
 public:
  explicit CtcGreedyExecutor(const NodeContext& context)
      : attributes_(context.node.attributes->clone()),
        by_length_(context.node.is("CTCGreedyDecoderSeqLen")),
        merges_(by_length_ ? context.node.attrs<ops::CtcGreedyDecoderSeqLenAttrs>().merge_repeated
                           : context.node.attrs<ops::CtcGreedyDecoderAttrs>().ctc_merge_repeated),
        isa_(context.isa) {
    for (const TensorDesc& input : context.inputs) inputs_.push_back({input.type, input.dims, nullptr});
    for (const TensorDesc& output : context.outputs) outputs_.push_back({output.type, output.dims, nullptr});
  }

  void run(const RunArgs& args) const override {
    std::vector<ir::TensorView> inputs = inputs_;
    std::vector<ir::MutableTensorView> outputs = outputs_;
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].data = args.inputs[i];
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].data = args.outputs[i];
    const auto shared_out = [&](int64_t tasks, FunctionRef<void(int64_t)> body) {
      args.arena.parallel_for(tasks, body);
    };
    const ops::reference::LentThreads::Loop loop(shared_out);
    const ops::reference::LentThreads lend(loop);
    const auto decode = by_length_ ? &ops::reference::ctc_greedy_decoder_seq_len : &ops::reference::ctc_greedy_decoder;
    decode({*attributes_, inputs, outputs}, merges_, select_kernels(isa_).first_largest);
  }
  std::string kernel_name() const override { return std::string("f32_ctc_greedy__") + isa_name(isa_); }

 private:
  std::unique_ptr<ir::Attributes> attributes_;
  bool by_length_, merges_;
  Isa isa_;
  std::vector<ir::TensorView> inputs_;
  std::vector<ir::MutableTensorView> outputs_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& data = context.inputs[0];
  if (data.type != element::f32) return Reject{"only f32 is vectorised, not " + data.type.get_type_name()};
  LayoutChoice choice;
  for (const TensorDesc& input : context.inputs) choice.inputs.push_back(input.layout);
  for (const TensorDesc& output : context.outputs) choice.outputs.push_back(output.layout);
  choice.cost = 2 * stream_ns(static_cast<double>(data.bytes()));
  return std::vector{choice};
}

constexpr Impl kCtcGreedy[] = {
    {"ctc_greedy", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<CtcGreedyExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> ctc_greedy_impls() { return kCtcGreedy; }

}  // namespace terroir::cpu
