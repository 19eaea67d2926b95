// What: TensorIterator and Loop: a body run once per slice of an input, or up to a trip count while a condition holds.
// Shapes: outputs are the body's; concatenated ones have one part per iteration along their axis, each with the extent
// that the body gives it: part_size of an output is not asked for.
// Edge cases: the number of iterations is unknown where a sliced extent, the trip count or the condition is; a
//             TensorIterator that slices nothing runs once; a Loop has no more iterations than its inputs have parts.
// Source: TensorIterator-1, Loop-5.
#include <algorithm>
#include <limits>

#include "ops/defs/control_flow/body_inference.hpp"
#include "ops/shape/axis_parts.hpp"

namespace terroir::ops {
namespace {

const ir::Body& only_body(ir::InferContext& ctx) {
  const auto* bodies = ctx.bodies();
  ctx.require(bodies && bodies->size() == 1, "one body is expected");
  return bodies->front();
}

bool slices_inputs(const ir::Body& body) {
  const auto& inputs = body.ports.inputs;
  return std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.axis.has_value(); });
}

/// Of the sliced inputs.
Dimension part_count(ir::InferContext& ctx, const ir::Body& body) {
  Dimension parts;
  for (const auto& input : body.ports.inputs) {
    if (!input.axis) continue;
    const PartialShape& shape = ctx.shape(static_cast<int>(input.external_port));
    if (shape.rank().is_dynamic()) continue;
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t axis = *input.axis < 0 ? *input.axis + rank : *input.axis;
    ctx.require(axis >= 0 && axis < rank, "axis ", *input.axis, " is out of range for rank ", rank);
    const Dimension& extent = shape[axis];
    // Where there are elements, there is a part, or an error.
    const Dimension count = extent.is_static() ? Dimension(axis_parts(input, extent.get_length()).count)
                                               : Dimension(std::min<int64_t>(extent.get_min_length(), 1), -1);
    ctx.require(Dimension::merge(parts, parts, count), "the sliced inputs ask for ", parts, " and ", count,
                " iterations");
  }
  return parts;
}

void infer_tensor_iterator(ir::InferContext& ctx) {
  const ir::Body& body = only_body(ctx);
  const auto results = infer_body(ctx, body);
  set_outputs(ctx, body, results, slices_inputs(body) ? part_count(ctx, body) : Dimension(1));
}

/// True when the body's condition is a constant true.
bool always_goes_on(const ir::Body& body) {
  for (const auto& output : body.ports.outputs) {
    if (!output.execution_condition) continue;
    const ir::Value source = body.graph->node(output.result).inputs.at(0);
    const auto value = ir::constant_integers(*body.graph, source);
    return value && value->size() == 1 && value->front() != 0;
  }
  return true;
}

Dimension loop_iterations(ir::InferContext& ctx, const ir::Body& body) {
  const auto trip_count = ctx.integers(0), condition = ctx.integers(1);
  if (trip_count) ctx.require(trip_count->size() == 1, "the trip count must be one number, got ", trip_count->size());
  if (condition) ctx.require(condition->size() == 1, "the condition must be one value, got ", condition->size());
  if (condition && condition->front() == 0) return Dimension(0);
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  int64_t most = trip_count && trip_count->front() >= 0 ? trip_count->front() : kNoLimit;
  int64_t least = trip_count && condition ? most : 0;
  if (slices_inputs(body)) {
    const Dimension parts = part_count(ctx, body);
    least = std::min(least, parts.get_min_length());
    if (parts.has_upper_bound()) most = std::min(most, parts.get_max_length());
  }
  if (least == kNoLimit || !always_goes_on(body)) least = std::min<int64_t>(least, 1);
  return Dimension(least, most == kNoLimit ? -1 : most);
}

void infer_loop(ir::InferContext& ctx) {
  const ir::Body& body = only_body(ctx);
  if (ctx.type(0).is_static())
    ctx.require(ctx.type(0) == element::i32 || ctx.type(0) == element::i64, "the trip count must be i32 or i64, got ",
                ctx.type(0));
  if (ctx.type(1).is_static())
    ctx.require(ctx.type(1) == element::boolean, "the condition must be boolean, got ", ctx.type(1));
  const auto results = infer_body(ctx, body);
  set_outputs(ctx, body, results, loop_iterations(ctx, body));
}

ir::OpSchema loop_schema(int min_inputs, ir::InferFn infer) {
  ir::OpSchema schema;
  schema.arity = {min_inputs, ir::kVariadic, ir::kVariadic};
  schema.infer = infer;
  return schema;
}

}  // namespace

ir::OpSchema tensor_iterator_1() { return loop_schema(1, &infer_tensor_iterator); }
ir::OpSchema loop_5() { return loop_schema(2, &infer_loop); }

}  // namespace terroir::ops
