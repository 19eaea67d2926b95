#include "ops/defs/sequence/attention.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/sequence/attention.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

/// The input must broadcast to `wanted` without enlarging it.
void require_broadcast(ir::InferContext& ctx, int input, const char* name, const PartialShape& wanted) {
  const PartialShape& own = ctx.shape(input);
  if (own.rank().is_dynamic()) return;
  bool fits = own.size() <= wanted.size();
  for (std::ptrdiff_t i = 1; fits && i <= static_cast<std::ptrdiff_t>(own.size()); ++i)
    fits = own[-i].compatible(1) || own[-i].compatible(wanted[-i]);
  ctx.require(fits, name, " (input ", input, ") must broadcast to ", wanted, ", got ", own);
}

void infer(ir::InferContext& ctx) {
  constexpr const char* kNames[] = {"query", "key", "value", "attention_mask", "scale"};
  const bool sinks = ctx.input_count() > 5;
  element::Type type;
  bool ranks_known = true;
  for (int i = 0; i < 3; ++i) {
    require_rank(ctx, i, kNames[i], 3, INT64_MAX);
    ctx.require(element::Type::merge(type, type, ctx.type(i)), "query, key and value must have one element type, ",
                kNames[i], " has ", ctx.type(i).get_type_name(), " after ", type.get_type_name());
    ranks_known = ranks_known && ctx.shape(i).rank().is_static();
  }
  if (ctx.input_count() > 3) {
    const element::Type mask = ctx.type(3);
    ctx.require(mask == element::boolean || mask.compatible(type), "attention_mask (input 3) must be boolean or ",
                type.get_type_name(), ", got ", mask.get_type_name());
  }
  if (ctx.input_count() > 4) {
    require_real_type(ctx, 4, kNames[4]);
    const auto length = known_length(ctx, 4);
    require_rank(ctx, 4, kNames[4], 0, 1);
    ctx.require(!length || *length == 1, "scale (input 4) must have one element, got ", length.value_or(0));
  }
  if (sinks)
    ctx.require(ctx.type(5).compatible(type), "sink (input 5) must be ", type.get_type_name(), ", got ",
                ctx.type(5).get_type_name());
  if (!ranks_known) {
    ctx.set_output(0, type, PartialShape::dynamic());
    return;
  }
  const PartialShape& query = ctx.shape(0);
  const PartialShape& key = ctx.shape(1);
  const PartialShape& value = ctx.shape(2);
  Dimension sources;
  ctx.require(query[-1].compatible(key[-1]), "query ", query, " and key ", key,
              " must have one extent on the last axis");
  ctx.require(Dimension::merge(sources, key[-2], value[-2]), "key ", key, " and value ", value,
              " must have one extent on the last axis but one");
  PartialShape batch(std::vector<Dimension>(query.begin(), query.end() - 2));
  for (const PartialShape* other : {&key, &value})
    ctx.require(PartialShape::broadcast_merge_into(batch, std::vector<Dimension>(other->begin(), other->end() - 2),
                                                   op::AutoBroadcastType::NUMPY),
                "the batch axes of query ", query, ", key ", key, " and value ", value,
                " cannot be broadcast to each other");
  const bool masked = ctx.input_count() > 3 && !ctx.attrs<AttentionAttrs>().causal && ctx.shape(3).rank().is_static();
  if (masked && ctx.shape(3).size() > 2)
    PartialShape::broadcast_merge_into(batch, std::vector<Dimension>(ctx.shape(3).begin(), ctx.shape(3).end() - 2),
                                       op::AutoBroadcastType::NUMPY);
  PartialShape weights = batch;
  weights.push_back(query[-2]);
  weights.push_back(sources);
  if (masked) require_broadcast(ctx, 3, "attention_mask", weights);
  if (sinks) {
    weights[-1] = 1;
    require_broadcast(ctx, 5, "sink", weights);
  }
  PartialShape output = batch;
  output.push_back(query[-2]);
  output.push_back(value[-1]);
  ctx.set_output(0, type, std::move(output));
}

}  // namespace

ir::OpSchema scaled_dot_product_attention_13() {
  ir::OpSchema schema;
  schema.arity = {3, 6, 1};
  schema.make_attributes = &ir::make_attributes<AttentionAttrs>;
  schema.infer = &infer;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::scaled_dot_product_attention(ctx, ctx.attrs<AttentionAttrs>().causal);
  };
  return schema;
}

}  // namespace terroir::ops
