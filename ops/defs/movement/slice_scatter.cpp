// What: SliceScatter: a copy of data with updates written to data[start:stop:step] along the given axes. Inputs: data,
// updates, start, stop, step, axes (optional; missing: the first ones). Shapes: the output is as data; updates are as
// the slice. Edge cases: bounds are clamped (see ops/shape/slice.hpp). Source: operation page SliceScatter-15.
#include "ir/schema/infer_context.hpp"
#include "ops/reference/copy.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/shape/inputs.hpp"
#include "ops/shape/slice.hpp"

namespace terroir::ops {
namespace {

void infer_slice_scatter(ir::InferContext& ctx) {
  constexpr const char* kNames[] = {"data", "updates", "start", "stop", "step", "axes"};
  std::vector<std::optional<std::vector<int64_t>>> lists;
  bool known = true;
  for (int i = 2; i < ctx.input_count(); ++i) {
    require_integer_type(ctx, i, kNames[i]);
    require_rank(ctx, i, kNames[i], 1, 1);
    lists.push_back(ctx.integers(i));
    known = known && lists.back();
  }
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  const element::Type type = merged_type(ctx, 0, 1, "data", "updates");
  const PartialShape& data = ctx.shape(0);
  if (data.rank().is_static()) {
    PartialShape wanted = PartialShape::dynamic(data.rank());
    if (known) {
      const auto ranges = slice_ranges(*lists[0], *lists[1], *lists[2], lists.size() > 3 ? &*lists[3] : nullptr,
                                       static_cast<int64_t>(data.size()));
      for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(data.size()); ++i)
        wanted[i] = sliced(ranges[static_cast<size_t>(i)], data[i]);
    }
    ctx.require(ctx.shape(1).compatible(wanted), "updates (input 1) must have shape ", wanted, ", got ", ctx.shape(1));
  }
  ctx.set_output(0, type, data);
}

void reference_slice_scatter(const ir::EvalContext& ctx) {
  std::vector<std::vector<int64_t>> lists;
  for (size_t i = 2; i < ctx.inputs.size(); ++i) lists.push_back(ir::to_integers(ctx.inputs[i]));
  const ir::TensorView& updates = ctx.inputs[1];
  const ir::MutableTensorView& output = ctx.outputs[0];
  const ir::Dims& dims = ctx.inputs[0].dims;
  const auto ranges = slice_ranges(lists[0], lists[1], lists[2], lists.size() > 3 ? &lists[3] : nullptr,
                                   static_cast<int64_t>(dims.size()));
  ir::Dims slice;
  for (size_t i = 0; i < dims.size(); ++i) slice.push_back(resolve(ranges[i], dims[i]).count);
  if (updates.dims != slice)
    throw_error(ErrorCode::shape_mismatch, "SliceScatter: updates ", updates.dims, " do not fit the slice ", slice);
  reference::copy(ctx);
  if (updates.count() == 0) return;
  ir::Dims steps = ir::row_major(dims);
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const ResolvedSlice part = resolve(ranges[i], dims[i]);
    offset += part.first * steps[i];
    steps[i] *= part.step;
  }
  reference::copy_to_strided(updates.type, updates.data, output.data, offset, steps, slice, "SliceScatter");
}

}  // namespace

ir::OpSchema slice_scatter_15() {
  ir::OpSchema schema;
  schema.arity = {5, 6, 1};
  schema.infer = &infer_slice_scatter;
  schema.reference = &reference_slice_scatter;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
