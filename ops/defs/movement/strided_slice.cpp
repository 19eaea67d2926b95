#include "ops/defs/movement/strided_slice.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/movement.hpp"
#include "ops/shape/inputs.hpp"
#include "ops/shape/slice.hpp"

namespace terroir::ops {
namespace {

bool bit(const std::vector<int64_t>& mask, size_t i) { return i < mask.size() && mask[i] != 0; }

/// One axis of data, or a new one.
struct Step {
  enum class Kind { slice, shrink, new_axis } kind = Kind::slice;
  int64_t data_axis = -1;
  std::optional<size_t> position;  // in begin, end and stride; none: the whole axis
};

/// What each axis of data becomes, in the order of the output. Knows only the number of positions, not their values.
std::vector<Step> plan_steps(const StridedSliceAttrs& attrs, size_t positions, int64_t rank) {
  int64_t used = 0;
  bool ellipsis = false;
  for (size_t i = 0; i < positions; ++i) {
    if (bit(attrs.ellipsis_mask, i)) {
      if (ellipsis) throw_error(ErrorCode::invalid_argument, "ellipsis_mask can have one 1, got ", attrs.ellipsis_mask);
      ellipsis = true;
    } else if (!bit(attrs.new_axis_mask, i)) {
      ++used;
    }
  }
  if (used > rank)
    throw_error(ErrorCode::invalid_argument, "begin slices ", used, " axes, but data has only rank ", rank);
  std::vector<Step> steps;
  int64_t axis = 0;
  for (size_t i = 0; i < positions; ++i) {
    if (bit(attrs.ellipsis_mask, i)) {
      for (int64_t k = 0; k < rank - used; ++k) steps.push_back({Step::Kind::slice, axis++, std::nullopt});
    } else if (bit(attrs.new_axis_mask, i)) {
      steps.push_back({Step::Kind::new_axis, -1, i});
    } else {
      steps.push_back({bit(attrs.shrink_axis_mask, i) ? Step::Kind::shrink : Step::Kind::slice, axis++, i});
    }
  }
  while (axis < rank) steps.push_back({Step::Kind::slice, axis++, std::nullopt});
  return steps;
}

struct Bounds {
  std::vector<int64_t> begin, end, stride;

  void check() const {
    if (begin.size() != end.size() || begin.size() != stride.size())
      throw_error(ErrorCode::invalid_argument, "begin, end and stride must have one length, got ", begin.size(), ", ",
                  end.size(), " and ", stride.size());
  }
};

SliceRange range_of(const StridedSliceAttrs& attrs, const Bounds& bounds, const Step& step) {
  if (!step.position) return {};
  const size_t i = *step.position;
  if (step.kind == Step::Kind::shrink) {
    const int64_t at = bit(attrs.begin_mask, i) ? 0 : bounds.begin[i];
    return {at, at == -1 || at == kBack ? kBack : at + 1, 1};
  }
  if (bounds.stride[i] == 0) throw_error(ErrorCode::invalid_argument, "stride[", i, "] must not be 0");
  const bool forward = bounds.stride[i] > 0;
  return {bit(attrs.begin_mask, i) ? (forward ? 0 : kBack) : bounds.begin[i],
          bit(attrs.end_mask, i) ? (forward ? kBack : kFront) : bounds.end[i], bounds.stride[i]};
}

void require_inside(const SliceRange& range, const Dimension& extent, int64_t axis) {
  if (!extent.has_upper_bound()) return;
  const int64_t most = extent.get_max_length();
  if (range.begin < -most || range.begin >= most)
    throw_error(ErrorCode::invalid_argument, "position ", range.begin, " of axis ", axis,
                " (shrink_axis_mask) is out of range [", -most, ", ", most - 1, "]");
}

std::optional<Bounds> known_bounds(ir::InferContext& ctx) {
  const auto begin = ctx.integers(1);
  const auto end = ctx.integers(2);
  if (!begin || !end) return std::nullopt;
  Bounds bounds{*begin, *end, std::vector<int64_t>(begin->size(), 1)};
  if (ctx.input_count() > 3) {
    const auto stride = ctx.integers(3);
    if (!stride) return std::nullopt;
    bounds.stride = *stride;
  }
  bounds.check();
  return bounds;
}

void infer_strided_slice(ir::InferContext& ctx) {
  constexpr const char* kNames[] = {"data", "begin", "end", "stride"};
  const auto& attrs = ctx.attrs<StridedSliceAttrs>();
  std::optional<int64_t> positions;
  for (int i = 1; i < ctx.input_count(); ++i) {
    require_integer_type(ctx, i, kNames[i]);
    require_rank(ctx, i, kNames[i], 1, 1);
    if (!positions) positions = known_length(ctx, i);
  }
  const auto bounds = known_bounds(ctx);
  if (bounds) positions = static_cast<int64_t>(bounds->begin.size());
  const PartialShape& data = ctx.shape(0);
  if (data.rank().is_dynamic() || !positions) {
    ctx.set_output(0, ctx.type(0), PartialShape::dynamic());
    return;
  }
  std::vector<Dimension> dims;
  const auto steps = plan_steps(attrs, static_cast<size_t>(*positions), static_cast<int64_t>(data.size()));
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::new_axis) {
      dims.push_back(1);
      continue;
    }
    const Dimension& extent = data[step.data_axis];
    if (step.kind == Step::Kind::shrink) {
      if (bounds) require_inside(range_of(attrs, *bounds, step), extent, step.data_axis);
    } else if (!step.position) {
      dims.push_back(extent);
    } else {
      dims.push_back(bounds ? sliced(range_of(attrs, *bounds, step), extent) : up_to(extent));
    }
  }
  ctx.set_output(0, ctx.type(0), PartialShape(dims));
}

std::optional<std::vector<Dimension>> dimensions_of_strided_slice(ir::InferContext& ctx) {
  const auto from = ctx.dimensions(0);
  if (!from || ctx.shape(0).rank() != Rank(1)) return std::nullopt;
  const auto bounds = known_bounds(ctx);
  if (!bounds) return std::nullopt;
  const auto& attrs = ctx.attrs<StridedSliceAttrs>();
  std::vector<Dimension> chosen;
  for (const Step& step : plan_steps(attrs, bounds->begin.size(), 1)) {
    if (step.kind == Step::Kind::new_axis) continue;
    const ResolvedSlice part = resolve(range_of(attrs, *bounds, step), static_cast<int64_t>(from->size()));
    for (int64_t i = 0; i < part.count; ++i) chosen.push_back((*from)[static_cast<size_t>(part.first + i * part.step)]);
  }
  return chosen;
}

void reference_strided_slice(const ir::EvalContext& ctx) {
  const ir::TensorView& data = ctx.inputs[0];
  std::vector<std::vector<int64_t>> lists;
  for (size_t i = 1; i < ctx.inputs.size(); ++i) lists.push_back(ir::to_integers(ctx.inputs[i]));
  const auto ranges = strided_slice_ranges(ctx.attrs<StridedSliceAttrs>(), lists[0], lists[1],
                                           lists.size() > 2 ? &lists[2] : nullptr, data.dims);
  reference::slice(data, ranges, ctx.outputs[0], "StridedSlice");
}

}  // namespace

std::vector<SliceRange> strided_slice_ranges(const StridedSliceAttrs& attrs, const std::vector<int64_t>& begin,
                                             const std::vector<int64_t>& end, const std::vector<int64_t>* stride,
                                             const ir::Dims& data) {
  const Bounds bounds{begin, end, stride ? *stride : std::vector<int64_t>(begin.size(), 1)};
  bounds.check();
  std::vector<SliceRange> ranges;
  for (const Step& step : plan_steps(attrs, begin.size(), static_cast<int64_t>(data.size()))) {
    if (step.kind == Step::Kind::new_axis) continue;
    ranges.push_back(range_of(attrs, bounds, step));
    if (step.kind == Step::Kind::shrink)
      require_inside(ranges.back(), data[static_cast<size_t>(step.data_axis)], step.data_axis);
  }
  return ranges;
}

ir::OpSchema strided_slice_1() {
  ir::OpSchema schema;
  schema.arity = {3, 4, 1};
  schema.make_attributes = &ir::make_attributes<StridedSliceAttrs>;
  schema.infer = &infer_strided_slice;
  schema.reference = &reference_strided_slice;
  schema.dimensions = &dimensions_of_strided_slice;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
