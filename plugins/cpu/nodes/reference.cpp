// The op's reference kernel over plain tensors.
//   ref       the last entry of every list: one thread. Right, not fast; profiles and the log say so.
//   pieces    before it, for elementwise ops on operands of the result's extents or of one element: threaded.
//   threaded  for ops whose reference shares out its work (ops/reference/parallel.hpp), and whose loops are as fast as
//             they get without vectors: these have a row in node_list.inc.
#include <algorithm>
#include <cstring>
#include <span>

#include "ir/base/error.hpp"
#include "ops/run_reference.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/nodes/late_axis.hpp"
#include "plugins/cpu/nodes/lent_to_reference.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

class ReferenceExecutor final : public LentToReference {
 public:
  ReferenceExecutor(const NodeContext& context, const char* name)
      : LentToReference(context), name_(name), schema_(*context.node.schema) {}

  std::string kernel_name() const override { return name_; }

 private:
  void evaluate(const ir::EvalContext& context) const override {
    // The bits that packed elements leave in their last unit are the same after every run.
    for (const ir::MutableTensorView& output : context.outputs) {
      const size_t unit = std::min<size_t>(output.bytes(), 3);
      if (unit > 0 && output.type.bitwidth() % 8 != 0)
        std::memset(static_cast<char*>(output.data) + output.bytes() - unit, 0, unit);
    }
    ops::run_reference(schema_, context);
  }

  const char* name_;
  const ir::OpSchema& schema_;
};

/// The elements of an elementwise op, a piece at a time.
class PiecesExecutor final : public Executor {
 public:
  explicit PiecesExecutor(const NodeContext& context)
      : schema_(*context.node.schema),
        attributes_(context.node.attributes->clone()),
        dst_{context.outputs[0].type, {context.outputs[0].count()}, nullptr} {
    for (const TensorDesc& input : context.inputs)
      inputs_.push_back({input.type, input.dims == context.outputs[0].dims ? dst_.dims : ir::Dims{}, nullptr});
  }

  static bool takes(const NodeContext& context) {
    const auto in_bytes = [](const TensorDesc& desc) { return desc.type.bitwidth() % 8 == 0; };
    const TensorDesc& dst = context.outputs[0];
    return context.outputs.size() == 1 && in_bytes(dst) &&
           std::all_of(context.inputs.begin(), context.inputs.end(), [&](const TensorDesc& input) {
             return in_bytes(input) && (input.dims == dst.dims || input.rank() == 0);
           });
  }

  void run(const RunArgs& args) const override {
    constexpr int64_t kPiece = 8192;
    const int64_t count = dst_.dims[0];
    args.arena.parallel_for(ceil_div(count, kPiece), [&](int64_t task) {
      const int64_t first = task * kPiece, n = std::min(kPiece, count - first);
      const auto at = [&](element::Type type) { return static_cast<size_t>(first) * type.size(); };
      std::vector<ir::TensorView> inputs = inputs_;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const bool single = inputs[i].dims.empty();
        inputs[i].data = static_cast<const char*>(args.inputs[i]) + (single ? 0 : at(inputs[i].type));
        if (!single) inputs[i].dims[0] = n;
      }
      ir::MutableTensorView output = dst_;
      output.data = static_cast<char*>(args.outputs[0]) + at(output.type);
      output.dims[0] = n;
      ops::run_reference(schema_, {*attributes_, inputs, {&output, 1}});
    });
  }
  std::string kernel_name() const override { return "threaded:any"; }

 private:
  const ir::OpSchema& schema_;
  std::unique_ptr<ir::Attributes> attributes_;
  std::vector<ir::TensorView> inputs_;
  ir::MutableTensorView dst_;
};

Proposal propose(const NodeContext& context) {
  if (!context.node.schema->reference) return Reject{"the op has no reference kernel yet"};
  LayoutChoice choice;
  double bytes = 0;
  for (const TensorDesc& input : context.inputs) {
    choice.inputs.push_back(input.layout);
    bytes += static_cast<double>(input.bytes());
  }
  for (const TensorDesc& output : context.outputs) {
    choice.outputs.push_back(output.layout);
    bytes += static_cast<double>(output.bytes());
  }
  // Far above any fast kernel, whatever its arithmetic per byte, so that layouts never drive a node here.
  choice.cost = 1e11 + 100 * bytes;
  return std::vector{choice};
}

Proposal propose_pieces(const NodeContext& context) {
  if (!context.node.schema->reference || !PiecesExecutor::takes(context))
    return Reject{"operands of other extents than the result's, or packed ones"};
  return propose(context);
}

constexpr Impl kPieces[] = {
    {"pieces", &propose_pieces, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<PiecesExecutor>(context);
     }}};
constexpr Impl kReference[] = {
    {"ref", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return reference_executor(context);
     }}};
constexpr Impl kThreaded[] = {
    {"threaded", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<ReferenceExecutor>(context, "threaded:any");
     }}};

}  // namespace

std::unique_ptr<const Executor> reference_executor(const NodeContext& context) {
  return std::make_unique<ReferenceExecutor>(context, "ref:any");
}

std::span<const Impl> pieces_impls() { return kPieces; }
std::span<const Impl> reference_impls() { return kReference; }
std::span<const Impl> threaded_reference_impls() { return kThreaded; }

}  // namespace terroir::cpu
