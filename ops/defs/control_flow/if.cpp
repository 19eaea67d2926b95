// What: If: one of two bodies, chosen by a condition.
// Shapes: outputs are those of the chosen body where the condition is known; else what both bodies agree in.
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
  const auto then_outputs = outputs_of(ctx, body_of(ctx, "then_body"));
  const auto else_outputs = outputs_of(ctx, body_of(ctx, "else_body"));
  ctx.require(then_outputs.size() == else_outputs.size(), "the then branch has ", then_outputs.size(),
              " outputs, the else branch ", else_outputs.size());
  for (size_t i = 0; i < then_outputs.size(); ++i) {
    const ir::PortType type = !condition                ? generalized(ctx, then_outputs[i], else_outputs[i])
                              : condition->front() != 0 ? then_outputs[i]
                                                        : else_outputs[i];
    ctx.set_output(static_cast<int>(i), type.type, type.shape);
  }
}

}  // namespace

ir::OpSchema if_8() {
  ir::OpSchema schema;
  schema.arity = {1, ir::kVariadic, ir::kVariadic};
  schema.infer = &infer_if;
  return schema;
}

}  // namespace terroir::ops
