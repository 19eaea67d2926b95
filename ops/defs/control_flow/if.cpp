// What: If: one of two bodies, chosen by a condition.
// Shapes: outputs are those of the chosen body where the condition is known, and the other one need not fit what comes
// in; else what both bodies agree in.
// Source: If-8.
#include <algorithm>

#include "ops/defs/control_flow/body_inference.hpp"

namespace terroir::ops {
namespace {

const ir::Body& body_of(ir::InferContext& ctx, const char* role) {
  const auto* bodies = ctx.bodies();
  ctx.require(bodies != nullptr, "two bodies are expected");
  const auto found = std::find_if(bodies->begin(), bodies->end(), [&](const auto& body) { return body.role == role; });
  ctx.require(found != bodies->end(), "a ", role, " is expected");
  return *found;
}

/// Results of a body by output of the op.
std::vector<ir::PortType> outputs_of(ir::InferContext& ctx, const ir::Body& body) {
  std::vector<ir::PortType> outputs(output_count(ctx, body));
  const auto results = infer_body(ctx, body);
  for (size_t i = 0; i < results.size(); ++i) {
    ctx.require(body.ports.outputs[i].external_port >= 0, "a result of the ", body.role, " is no output");
    outputs[static_cast<size_t>(body.ports.outputs[i].external_port)] = results[i];
  }
  return outputs;
}

void infer_if(ir::InferContext& ctx) {
  if (ctx.type(0).is_static())
    ctx.require(ctx.type(0) == element::boolean, "the condition must be boolean, got ", ctx.type(0));
  const auto condition = ctx.integers(0);
  if (condition) ctx.require(condition->size() == 1, "the condition must be one value, got ", condition->size());
  const ir::Body &then_body = body_of(ctx, "then_body"), &else_body = body_of(ctx, "else_body");
  const size_t count = output_count(ctx, then_body), of_else = output_count(ctx, else_body);
  ctx.require(count == of_else, "the then branch has ", count, " outputs, the else branch ", of_else);
  auto outputs = outputs_of(ctx, condition && condition->front() == 0 ? else_body : then_body);
  if (!condition) {
    const auto others = outputs_of(ctx, else_body);
    for (size_t i = 0; i < count; ++i) outputs[i] = generalized(ctx, outputs[i], others[i]);
  }
  for (size_t i = 0; i < count; ++i) ctx.set_output(static_cast<int>(i), outputs[i].type, outputs[i].shape);
}

}  // namespace

ir::OpSchema if_8() {
  ir::OpSchema schema;
  schema.arity = {1, ir::kVariadic, ir::kVariadic};
  schema.infer = &infer_if;
  return schema;
}

}  // namespace terroir::ops
