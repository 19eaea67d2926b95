// SliceScatter with known bounds: a copy of data, perhaps in its own memory, then one of updates over the slice. Any
// element of whole bytes. Layouts: plain. Threads: tasks of both plans, one after the other.
#include <span>

#include "ops/shape/slice.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/indices.hpp"

namespace terroir::cpu {
namespace {

CopyPlan copy_of_data(const TensorDesc& data) {
  const auto bytes = static_cast<int64_t>(data.bytes());
  return CopyPlan({{bytes, 1, 1}}, 1);
}

/// From dense updates to the places of the slice.
CopyPlan copy_of_updates(const NodeContext& context) {
  const TensorDesc& data = context.inputs[0];
  const auto start = *known_integers(context, 2), stop = *known_integers(context, 3),
             step = *known_integers(context, 4);
  const auto given = known_integers(context, 5);
  const auto ranges = ops::slice_ranges(start, stop, step, given ? &*given : nullptr, data.rank());
  const auto bytes = static_cast<int64_t>(data.type.size());
  const ir::Dims& updates = context.inputs[1].dims;
  std::vector<CopyAxis> axes;
  int64_t begin = 0;
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    const ops::ResolvedSlice part = ops::resolve(ranges[axis], data.dims[axis]);
    const int64_t dst_step = ir::element_count(data.dims, axis + 1, data.dims.size()) * bytes;
    const int64_t src_step = ir::element_count(updates, axis + 1, updates.size()) * bytes;
    if (part.count > 0) begin += part.first * dst_step;
    axes.push_back({part.count, part.step * dst_step, src_step});
  }
  return CopyPlan(std::move(axes), bytes, 0, begin);
}

class SliceScatterExecutor final : public Executor {
 public:
  explicit SliceScatterExecutor(const NodeContext& context)
      : data_(copy_of_data(context.inputs[0])), updates_(copy_of_updates(context)) {}

  void run(const RunArgs& args) const noexcept override {
    if (args.inputs[0] != args.outputs[0])
      args.arena.parallel_for(data_.tasks(),
                              [&](int64_t task) { data_.run(task, args.inputs[0], args.outputs[0], nullptr); });
    args.arena.parallel_for(updates_.tasks(),
                            [&](int64_t task) { updates_.run(task, args.inputs[1], args.outputs[0], nullptr); });
  }
  std::string kernel_name() const override { return "slice_scatter"; }

 private:
  CopyPlan data_, updates_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& data = context.inputs[0];
  if (!is_bytewise(data)) return not_bytewise();
  for (size_t i = 2; i < context.inputs.size(); ++i)
    if (!context.constants[i]) return Reject{"the bounds are known at run time only"};
  LayoutChoice choice;
  choice.inputs.assign(context.inputs.size(), std::nullopt);
  choice.inputs[0] = data.layout;
  choice.inputs[1] = context.inputs[1].layout;
  choice.outputs = {context.outputs[0].layout};
  choice.in_place = {0};
  choice.cost = copy_ns(data);
  return std::vector{choice};
}

constexpr Impl kSliceScatter[] = {
    {"slice_scatter", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<SliceScatterExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> slice_scatter_impls() { return kSliceScatter; }

}  // namespace terroir::cpu
