// CTCGreedyDecoder and CTCGreedyDecoderSeqLen of f32 data: the reference, whose search for the best class of a step is
// a kernel's. Layouts: plain. Threads: the items.
#include <span>

#include "ops/defs/sequence/ctc.hpp"
#include "plugins/cpu/kernels/select/select.hpp"
#include "plugins/cpu/nodes/lent_to_reference.hpp"

namespace terroir::cpu {
namespace {

class CtcGreedyExecutor final : public LentToReference {
 public:
  explicit CtcGreedyExecutor(const NodeContext& context)
      : LentToReference(context),
        by_length_(context.node.is("CTCGreedyDecoderSeqLen")),
        merges_(by_length_ ? context.node.attrs<ops::CtcGreedyDecoderSeqLenAttrs>().merge_repeated
                           : context.node.attrs<ops::CtcGreedyDecoderAttrs>().ctc_merge_repeated),
        isa_(context.isa) {}

  std::string kernel_name() const override { return std::string("f32_ctc_greedy__") + isa_name(isa_); }

 private:
  void evaluate(const ir::EvalContext& context) const override {
    const auto decode = by_length_ ? &ops::reference::ctc_greedy_decoder_seq_len : &ops::reference::ctc_greedy_decoder;
    decode(context, merges_, select_kernels(isa_).first_largest);
  }

  bool by_length_, merges_;
  Isa isa_;
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
