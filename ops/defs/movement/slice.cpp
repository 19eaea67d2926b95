// What: Slice: data[start:stop:step] along the given axes. Inputs: data, start, stop, step, axes (optional; missing:
// the first ones), all 1-D of one length. Edge cases: out-of-range starts and stops are clamped (see
// ops/shape/slice.hpp). Source: operation page Slice-8.
#include "ops/shape/slice.hpp"
#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/movement.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

constexpr const char* kSliceInputs[] = {"data", "start", "stop", "step", "axes"};

/// The ranges, when all of them are known.
std::optional<std::vector<SliceRange>> known_ranges(ir::InferContext& ctx, int64_t rank) {
  std::vector<std::optional<std::vector<int64_t>>> lists;
  for (int i = 1; i < ctx.input_count(); ++i) {
    lists.push_back(ctx.integers(i));
    if (!lists.back()) return std::nullopt;
  }
  return slice_ranges(*lists[0], *lists[1], *lists[2], lists.size() > 3 ? &*lists[3] : nullptr, rank);
}

void infer_slice(ir::InferContext& ctx) {
  for (int i = 1; i < ctx.input_count(); ++i) {
    require_integer_type(ctx, i, kSliceInputs[i]);
    require_rank(ctx, i, kSliceInputs[i], 1, 1);
  }
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  PartialShape shape = ctx.shape(0);
  if (shape.rank().is_dynamic()) {
    ctx.set_output(0, ctx.type(0), shape);
    return;
  }
  const auto rank = static_cast<int64_t>(shape.size());
  if (const auto ranges = known_ranges(ctx, rank)) {
    for (int64_t i = 0; i < rank; ++i) shape[i] = sliced((*ranges)[static_cast<size_t>(i)], shape[i]);
  } else {
    // Which axes may shrink, and by how much, is partly known.
    std::optional<std::vector<int64_t>> axes;
    if (ctx.input_count() > 4) {
      axes = ctx.integers(4);
    } else if (const auto length = known_length(ctx, 1)) {
      axes.emplace();
      for (int64_t i = 0; i < std::min(*length, rank); ++i) axes->push_back(i);
    }
    if (axes) {
      for (int64_t axis : normalize_axes(*axes, rank)) shape[axis] = up_to(shape[axis]);
    } else {
      for (Dimension& extent : shape) extent = up_to(extent);
    }
  }
  ctx.set_output(0, ctx.type(0), std::move(shape));
}

std::optional<std::vector<Dimension>> dimensions_of_slice(ir::InferContext& ctx) {
  const auto from = ctx.dimensions(0);
  if (!from || ctx.shape(0).rank() != Rank(1)) return std::nullopt;
  const auto ranges = known_ranges(ctx, 1);
  if (!ranges) return std::nullopt;
  const ResolvedSlice part = resolve(ranges->front(), static_cast<int64_t>(from->size()));
  std::vector<Dimension> chosen;
  for (int64_t i = 0; i < part.count; ++i) chosen.push_back((*from)[static_cast<size_t>(part.first + i * part.step)]);
  return chosen;
}

void reference_slice(const ir::EvalContext& ctx) {
  std::vector<std::vector<int64_t>> lists;
  for (size_t i = 1; i < ctx.inputs.size(); ++i) lists.push_back(ir::to_integers(ctx.inputs[i]));
  const ir::TensorView& data = ctx.inputs[0];
  const auto ranges = slice_ranges(lists[0], lists[1], lists[2], lists.size() > 3 ? &lists[3] : nullptr,
                                   static_cast<int64_t>(data.dims.size()));
  reference::slice(data, ranges, ctx.outputs[0], "Slice");
}

}  // namespace

ir::OpSchema slice_8() {
  ir::OpSchema schema;
  schema.arity = {4, 5, 1};
  schema.infer = &infer_slice;
  schema.reference = &reference_slice;
  schema.dimensions = &dimensions_of_slice;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
