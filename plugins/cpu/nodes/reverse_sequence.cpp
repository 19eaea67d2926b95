// ReverseSequence: of each item of the batch, the first seq_lengths elements read backwards; any element of whole
// bytes. Layouts: plain. Threads: slices of the result. Edge cases: a length outside of the axis is an Exception,
// before anything is written.
#include <span>

#include "ops/defs/movement/reverse.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/indices.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// Along an axis: every `step` units it goes on, and at its end begins anew.
struct Counter {
  int64_t index, units;
  void advance(int64_t step, int64_t extent) {
    if (++units < step) return;
    units = 0;
    if (++index == extent) index = 0;
  }
};

class ReverseSequenceExecutor final : public Executor {
 public:
  explicit ReverseSequenceExecutor(const NodeContext& context) : length_type_(context.inputs[1].type) {
    const TensorDesc& data = context.inputs[0];
    const auto& attrs = context.node.attrs<ops::ReverseSequenceAttrs>();
    const auto positive = [&](int64_t axis) { return static_cast<size_t>(axis < 0 ? axis + data.rank() : axis); };
    const size_t batch = positive(attrs.batch_axis), sequence = positive(attrs.seq_axis);
    const size_t outer = std::max(batch, sequence) + 1;
    units_ = ir::element_count(data.dims, 0, outer);
    unit_ = ir::element_count(data.dims, outer, data.dims.size()) * static_cast<int64_t>(data.type.size());
    batch_extent_ = data.dims[batch];
    batch_step_ = ir::element_count(data.dims, batch + 1, outer);
    extent_ = data.dims[sequence];
    step_ = ir::element_count(data.dims, sequence + 1, outer);
  }

  void run(const RunArgs& args) const override {
    with_indices(length_type_, args.inputs[1], [&](const auto* lengths) {
      for (int64_t b = 0; b < batch_extent_; ++b)
        if (lengths[b] < 0 || lengths[b] > extent_)
          throw_error(ErrorCode::invalid_argument, "seq_lengths must be in [0, ", extent_, "], got ", lengths[b]);
      if (unit_ == 0) return;
      constexpr int64_t kTaskBytes = 65536, kAtOnce = 256;
      const int64_t per_task = std::max<int64_t>(1, kTaskBytes / unit_);
      args.arena.parallel_for(ceil_div(units_, per_task), [&](int64_t task) {
        int64_t sources[kAtOnce];
        const int64_t begin = task * per_task, end = std::min(units_, begin + per_task);
        // Places along both axes are counted: divisions for each unit would cost as much as moving it.
        Counter item{begin / batch_step_ % batch_extent_, begin % batch_step_},
            at{begin / step_ % extent_, begin % step_};
        for (int64_t first = begin; first < end; first += kAtOnce) {
          const int64_t count = std::min(kAtOnce, end - first);
          for (int64_t i = 0; i < count; ++i) {
            const int64_t unit = first + i, length = lengths[item.index];
            sources[i] = (at.index < length ? unit + (length - 1 - 2 * at.index) * step_ : unit) * unit_;
            item.advance(batch_step_, batch_extent_);
            at.advance(step_, extent_);
          }
          copy_indexed(static_cast<const char*>(args.inputs[0]), sources,
                       static_cast<char*>(args.outputs[0]) + first * unit_, unit_, count);
        }
      });
    });
  }
  std::string kernel_name() const override { return "reverse_sequence"; }

 private:
  element::Type length_type_;
  int64_t units_, unit_;  // bytes behind both axes
  int64_t batch_extent_, batch_step_, extent_, step_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc &data = context.inputs[0], &lengths = context.inputs[1];
  if (!is_bytewise(data)) return not_bytewise();
  if (!is_index_type(lengths.type)) return no_index_type();
  LayoutChoice choice;
  choice.inputs = {data.layout, lengths.layout};
  choice.outputs = {context.outputs[0].layout};
  choice.cost = copy_ns(data);
  return std::vector{choice};
}

constexpr Impl kReverseSequence[] = {
    {"reverse_sequence", &propose,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<ReverseSequenceExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> reverse_sequence_impls() { return kReverseSequence; }

}  // namespace terroir::cpu
