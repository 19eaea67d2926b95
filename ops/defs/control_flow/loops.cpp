// What: TensorIterator and Loop: a body run once per slice of an input, or up to a trip count while a condition holds.
// Shapes: outputs are the body's; concatenated ones have one part per iteration along their axis.
// Edge cases: the number of iterations is unknown where a sliced extent, the trip count or the condition is; a
//             TensorIterator that slices nothing runs once.
// Source: TensorIterator-1, Loop-5.
#include <algorithm>

#include "ops/defs/control_flow/body_inference.hpp"
#include "ops/shape/axis_parts.hpp"

namespace terroir::ops {
namespace {

const ir::Body& only_body(ir::InferContext& ctx) {
  const auto* bodies = ctx.bodies();
  ctx.require(bodies && bodies->size() == 1, "one body is expected");
  return bodies->front();
}

Dimension sliced_iterations(ir::InferContext& ctx, const ir::Body& body) {
  const auto& inputs = body.ports.inputs;
  if (std::none_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.axis.has_value(); }))
    return Dimension(1);
  Dimension iterations;
  for (const auto& input : inputs) {
    if (!input.axis) continue;
    const PartialShape& shape = ctx.shape(static_cast<int>(input.external_port));
    if (shape.rank().is_dynamic()) continue;
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t axis = *input.axis < 0 ? *input.axis + rank : *input.axis;
    ctx.require(axis >= 0 && axis < rank, "axis ", *input.axis, " is out of range for rank ", rank);
    const Dimension& extent = shape[axis];
    if (extent.is_dynamic()) continue;
    const Dimension count(axis_parts(input, extent.get_length()).count);
    ctx.require(Dimension::merge(iterations, iterations, count), "the sliced inputs ask for ", iterations, " and ",
                count, " iterations");
  }
  return iterations;
}

void infer_tensor_iterator(ir::InferContext& ctx) {
  const ir::Body& body = only_body(ctx);
  const auto results = infer_body(ctx, body);
  set_outputs(ctx, body, results, sliced_iterations(ctx, body));
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
  if (!trip_count || trip_count->front() < 0) return Dimension::dynamic();
  const bool runs_through = condition && always_goes_on(body);
  return runs_through ? Dimension(trip_count->front()) : Dimension(0, trip_count->front());
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
