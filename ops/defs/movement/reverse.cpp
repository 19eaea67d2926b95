#include "ops/defs/movement/reverse.hpp"

#include <algorithm>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/rearrange.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_reverse(ir::InferContext& ctx) {
  const ReverseMode mode = ctx.attrs<ReverseAttrs>().mode;
  const element::Type type = ctx.type(1);
  if (mode == ReverseMode::mask)
    ctx.require(type.is_dynamic() || type == element::boolean, "the mask (input 1) must be boolean, got ",
                type.get_type_name());
  else
    require_integer_type(ctx, 1, "axes");
  require_rank(ctx, 1, "axes", 1, 1);
  const PartialShape& data = ctx.shape(0);
  const auto given = ctx.integers(1);
  if (given && data.rank().is_static()) reversed_axes(mode, *given, static_cast<int64_t>(data.size()));
  ctx.set_output(0, ctx.type(0), data);
}

void reference_reverse(const ir::EvalContext& ctx) {
  reference::reverse(ctx, reversed_axes(ctx.attrs<ReverseAttrs>().mode, ir::to_integers(ctx.inputs[1]),
                                        static_cast<int64_t>(ctx.inputs[0].dims.size())));
}

void infer_reverse_sequence(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<ReverseSequenceAttrs>();
  const element::Type lengths = ctx.type(1);
  ctx.require(lengths.is_dynamic() || lengths.is_real() || lengths.is_integral_number(),
              "seq_lengths must have a type of numbers, got ", lengths.get_type_name());
  require_rank(ctx, 0, "data", 2, INT64_MAX);
  require_rank(ctx, 1, "seq_lengths", 1, 1);
  PartialShape data = ctx.shape(0);
  if (data.rank().is_static()) {
    const auto rank = static_cast<int64_t>(data.size());
    const int64_t batch = normalize_axis(attrs.batch_axis, rank, "batch_axis");
    normalize_axis(attrs.seq_axis, rank, "seq_axis");
    if (ctx.shape(1).rank().is_static())
      ctx.require(Dimension::merge(data[batch], data[batch], ctx.shape(1)[0]), "seq_lengths ", ctx.shape(1),
                  " must have the extent of axis ", batch, " of data ", ctx.shape(0));
  }
  ctx.set_output(0, ctx.type(0), std::move(data));
}

void infer_roll(ir::InferContext& ctx) {
  require_integer_type(ctx, 1, "shift");
  require_integer_type(ctx, 2, "axes");
  require_rank(ctx, 1, "shift", 0, 1);
  require_rank(ctx, 2, "axes", 0, 1);
  const auto shifts = known_length(ctx, 1);
  const auto axes = known_length(ctx, 2);
  ctx.require(!shifts || !axes || *shifts == 1 || *shifts == *axes, "shift must have 1 element or one for each of ",
              axes.value_or(0), " axes, got ", shifts.value_or(0));
  const PartialShape& data = ctx.shape(0);
  if (const auto given = ctx.integers(2); given && data.rank().is_static())
    normalize_axes(*given, static_cast<int64_t>(data.size()));
  ctx.set_output(0, ctx.type(0), data);
}

ir::OpSchema schema_of(int inputs, ir::InferFn infer, ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = {inputs, inputs, 1};
  schema.infer = infer;
  schema.reference = reference;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace

std::vector<bool> reversed_axes(ReverseMode mode, const std::vector<int64_t>& given, int64_t rank) {
  if (mode == ReverseMode::mask) {
    if (static_cast<int64_t>(given.size()) != rank)
      throw_error(ErrorCode::invalid_argument, "the mask must have one element for each of the ", rank,
                  " axes of data, got ", given.size());
    return {given.begin(), given.end()};
  }
  std::vector<bool> axes(static_cast<size_t>(rank), false);
  for (int64_t axis : normalize_axes(given, rank)) axes[static_cast<size_t>(axis)] = true;
  return axes;
}

std::vector<int64_t> roll_shifts(std::vector<int64_t> shifts, std::vector<int64_t> axes, const ir::Dims& data) {
  axes = normalize_axes(std::move(axes), static_cast<int64_t>(data.size()), "axes");
  if (shifts.size() == 1) shifts.assign(axes.size(), shifts.front());
  if (shifts.size() != axes.size())
    throw_error(ErrorCode::shape_mismatch, "Roll: shift has ", shifts.size(), " elements for ", axes.size(), " axes");
  std::vector<int64_t> total(data.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const int64_t extent = std::max<int64_t>(data[axis], 1);
    // Kept in [0, extent), so that sums cannot overflow.
    total[axis] = (total[axis] + (shifts[i] % extent + extent) % extent) % extent;
  }
  return total;
}

ir::OpSchema reverse_1() {
  auto schema = schema_of(2, &infer_reverse, &reference_reverse);
  schema.make_attributes = &ir::make_attributes<ReverseAttrs>;
  return schema;
}

ir::OpSchema reverse_sequence_1() {
  auto schema = schema_of(2, &infer_reverse_sequence, [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<ReverseSequenceAttrs>();
    reference::reverse_sequence(ctx, attrs.batch_axis, attrs.seq_axis);
  });
  schema.make_attributes = &ir::make_attributes<ReverseSequenceAttrs>;
  return schema;
}

ir::OpSchema roll_7() {
  return schema_of(3, &infer_roll, [](const ir::EvalContext& ctx) {
    reference::roll(ctx,
                    roll_shifts(ir::to_integers(ctx.inputs[1]), ir::to_integers(ctx.inputs[2]), ctx.inputs[0].dims));
  });
}

}  // namespace terroir::ops
