// What: the maximum of each run of rows that have the same segment number.
// Shapes: data [n, ...], segment_ids [n] ascending from 0 on, optional num_segments (one integer) -> [segments, ...];
// without num_segments there are last id + 1. Types: numeric; integers.
// Edge cases: a segment without rows is filled with 0 or the lowest finite value of the type, as fill_mode says; NaN
// wins. Source: operation page SegmentMax-16.
#include <string_view>

#include "ops/defs/elementwise/unary.hpp"
#include "ops/reference/reduction/segment_max.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

enum class SegmentFill { zero, lowest };

}  // namespace
}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::SegmentFill> {
  static constexpr std::string_view names[] = {"ZERO", "LOWEST"};
};

namespace terroir::ops {
namespace {

struct SegmentMaxAttrs {
  SegmentFill fill_mode = SegmentFill::zero;

  template <class V>
  void visit(V& v) {
    v("fill_mode", fill_mode, ir::Presence::required);
  }
};

void infer_segment_max(ir::InferContext& ctx) {
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  require_integer_type(ctx, 1, "segment_ids");
  require_rank(ctx, 1, "segment_ids", 1, 1);
  PartialShape shape = ctx.shape(0);
  const PartialShape& ids_shape = ctx.shape(1);
  if (shape.rank().is_static() && ids_shape.rank().is_static())
    ctx.require(shape[0].compatible(ids_shape[0]), "there must be one segment id per row, got ", ids_shape[0],
                " ids for ", shape[0], " rows");
  const auto segments = ctx.input_count() > 2 ? known_integer(ctx, 2, "num_segments") : std::nullopt;
  if (segments) ctx.require(*segments >= 0, "num_segments must not be negative, got ", *segments);
  Dimension extent;
  if (const auto ids = ctx.integers(1)) {
    const int64_t used = reference::check_segment_ids(std::span<const int64_t>(*ids), segments.value_or(-1));
    if (ctx.input_count() < 3) extent = used;
  }
  if (segments) extent = *segments;
  if (shape.rank().is_static()) shape[0] = extent;
  ctx.set_output(0, ctx.type(0), shape);
}

void evaluate(const ir::EvalContext& ctx) {
  const ir::TensorView& data = ctx.inputs[0];
  const auto ids = ir::to_integers(ctx.inputs[1]);
  const int64_t given = ctx.inputs.size() > 2 ? read_integer(ctx.inputs[2], "num_segments") : -1;
  const int64_t used = reference::check_segment_ids(std::span<const int64_t>(ids), given);
  ir::Dims dims = data.dims;
  if (static_cast<int64_t>(ids.size()) != dims.at(0))
    throw_error(ErrorCode::shape_mismatch, ids.size(), " segment ids for ", dims[0], " rows");
  dims[0] = given >= 0 ? given : used;
  require_dims(ctx.outputs[0], dims, "SegmentMax");
  const bool lowest = ctx.attrs<SegmentMaxAttrs>().fill_mode == SegmentFill::lowest;
  reference::segment_max(data, ids, lowest, ctx.outputs[0]);
}

}  // namespace

ir::OpSchema segment_max_16() {
  ir::OpSchema schema;
  schema.arity = {2, 3, 1};
  schema.make_attributes = &ir::make_attributes<SegmentMaxAttrs>;
  schema.infer = &infer_segment_max;
  schema.reference = &evaluate;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
