// What: GatherTree: the sequences of a beam search, from the ids and parents of every step. Inputs: step_ids and
// parent_ids [T, B, beams], max_seq_len [B], end_token (one element).
// Edge cases: after the first end token, and after max_seq_len, there are end tokens; a parent that is none of the
// beams is an error at run time. Source: operation page GatherTree-1.
#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/rearrange.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_gather_tree(ir::InferContext& ctx) {
  constexpr const char* kNames[] = {"step_ids", "parent_ids", "max_seq_len", "end_token"};
  constexpr int64_t kRanks[] = {3, 3, 1, 0};
  element::Type type;
  for (int i = 0; i < 4; ++i) {
    ctx.require(element::Type::merge(type, type, ctx.type(i)), "all inputs must have one element type, ", kNames[i],
                " has ", ctx.type(i).get_type_name(), " after ", type.get_type_name());
    require_rank(ctx, i, kNames[i], kRanks[i], i == 3 ? 1 : kRanks[i]);
  }
  const PartialShape& end_token = ctx.shape(3);
  ctx.require(end_token.rank().is_dynamic() || end_token.size() == 0 || end_token[0].compatible(1),
              "end_token must have one element, got ", end_token);
  PartialShape shape = ctx.shape(0);
  ctx.require(PartialShape::merge_into(shape, ctx.shape(1)), "parent_ids ", ctx.shape(1),
              " must have the shape of step_ids ", ctx.shape(0));
  if (shape.rank().is_static() && ctx.shape(2).rank().is_static())
    ctx.require(Dimension::merge(shape[1], shape[1], ctx.shape(2)[0]), "max_seq_len ", ctx.shape(2),
                " must have one element for each item of step_ids ", shape);
  ctx.set_output(0, type, std::move(shape));
}

}  // namespace

ir::OpSchema gather_tree_1() {
  ir::OpSchema schema;
  schema.arity = {4, 4, 1};
  schema.infer = &infer_gather_tree;
  schema.reference = &reference::gather_tree;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
