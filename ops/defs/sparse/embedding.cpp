#include "ops/defs/sparse/embedding.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

using reference::BagReduction;

void set_bags(ir::InferContext& ctx, const Dimension& bags) {
  require_rank(ctx, 0, "emb_table", 1, INT64_MAX);
  PartialShape shape = ctx.shape(0);
  if (shape.rank().is_static()) shape[0] = bags;
  ctx.set_output(0, ctx.type(0), std::move(shape));
}

/// default_index and weights, where they are given. Weights have the shape of the indices (input 1).
void check_options(ir::InferContext& ctx, int default_index, int weights) {
  if (default_index >= 0 && ctx.input_count() > default_index) known_integer(ctx, default_index, "default_index");
  if (ctx.input_count() <= weights) return;
  merged_type(ctx, 0, weights, "emb_table", "per_sample_weights");
  ctx.require(ctx.shape(weights).compatible(ctx.shape(1)), "per_sample_weights (input ", weights,
              ") must have the shape of indices ", ctx.shape(1), ", got ", ctx.shape(weights));
}

void require_list(ir::InferContext& ctx, int input, const char* name, int64_t rank) {
  require_integer_type(ctx, input, name);
  require_rank(ctx, input, name, rank, rank);
}

void infer_offsets(ir::InferContext& ctx, BagReduction reduction) {
  require_list(ctx, 1, "indices", 1);
  require_list(ctx, 2, "offsets", 1);
  check_options(ctx, 3, 4);
  ctx.require(reduction == BagReduction::sum || ctx.input_count() < 5,
              "per_sample_weights go with the reduction sum only");
  set_bags(ctx, ctx.shape(2).rank().is_static() ? ctx.shape(2)[0] : Dimension::dynamic());
}

void infer_packed(ir::InferContext& ctx, BagReduction reduction) {
  require_list(ctx, 1, "indices", 2);
  check_options(ctx, -1, 2);
  ctx.require(reduction == BagReduction::sum || ctx.input_count() < 3,
              "per_sample_weights go with the reduction sum only");
  set_bags(ctx, ctx.shape(1).rank().is_static() ? ctx.shape(1)[0] : Dimension::dynamic());
}

void infer_segments(ir::InferContext& ctx) {
  require_list(ctx, 1, "indices", 1);
  require_list(ctx, 2, "segment_ids", 1);
  ctx.require(ctx.shape(1).compatible(ctx.shape(2)), "segment_ids (input 2) must have the shape of indices ",
              ctx.shape(1), ", got ", ctx.shape(2));
  const auto count = known_integer(ctx, 3, "num_segments");
  ctx.require(!count || *count >= 0, "num_segments must not be negative, got ", count.value_or(0));
  check_options(ctx, 4, 5);
  set_bags(ctx, count ? Dimension(*count) : Dimension::dynamic());
}

void infer_fill(ir::InferContext& ctx) {
  require_rank(ctx, 0, "values", 1, 1);
  require_list(ctx, 1, "dense_shape", 1);
  require_list(ctx, 2, "indices", 2);
  require_rank(ctx, 3, "default_value", 0, 1);
  const element::Type type = merged_type(ctx, 0, 3, "values", "default_value");
  const auto length = known_length(ctx, 1);
  ctx.require(!length || *length == 2, "dense_shape (input 1) must have 2 elements, got ", length.value_or(0));
  Dimension count = ctx.shape(0).rank().is_static() ? ctx.shape(0)[0] : Dimension::dynamic();
  if (ctx.shape(2).rank().is_static())
    ctx.require(Dimension::merge(count, count, ctx.shape(2)[0]) && ctx.shape(2)[1].compatible(2),
                "indices (input 2) must have shape ", PartialShape{count, 2}, ", got ", ctx.shape(2));
  Dimension rows;
  if (const auto shape = ctx.integers(1)) {
    ctx.require((*shape)[0] >= 0 && (*shape)[1] >= 0, "dense_shape must not be negative, got ", *shape);
    rows = (*shape)[0];
  }
  const Dimension filled = count + up_to(rows);
  ctx.set_output(0, ctx.type(2), PartialShape{filled, 2});
  ctx.set_output(1, type, PartialShape{filled});
  ctx.set_output(2, element::boolean, PartialShape{rows});
}

ir::OpSchema schema_of(ir::Arity arity, ir::InferFn infer, ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = arity;
  schema.infer = infer;
  schema.reference = reference;
  return schema;
}

}  // namespace

ir::OpSchema embedding_bag_offsets_sum_3() {
  return schema_of(
      {3, 5, 1}, [](ir::InferContext& ctx) { infer_offsets(ctx, BagReduction::sum); },
      [](const ir::EvalContext& ctx) { reference::embedding_bag_offsets(ctx, BagReduction::sum); });
}

ir::OpSchema embedding_bag_offsets_15() {
  auto schema = schema_of(
      {3, 5, 1}, [](ir::InferContext& ctx) { infer_offsets(ctx, ctx.attrs<EmbeddingBagAttrs>().reduction); },
      [](const ir::EvalContext& ctx) {
        reference::embedding_bag_offsets(ctx, ctx.attrs<EmbeddingBagAttrs>().reduction);
      });
  schema.make_attributes = &ir::make_attributes<EmbeddingBagAttrs>;
  return schema;
}

ir::OpSchema embedding_bag_packed_sum_3() {
  return schema_of(
      {2, 3, 1}, [](ir::InferContext& ctx) { infer_packed(ctx, BagReduction::sum); },
      [](const ir::EvalContext& ctx) { reference::embedding_bag_packed(ctx, BagReduction::sum); });
}

ir::OpSchema embedding_bag_packed_15() {
  auto schema = schema_of(
      {2, 3, 1}, [](ir::InferContext& ctx) { infer_packed(ctx, ctx.attrs<EmbeddingBagAttrs>().reduction); },
      [](const ir::EvalContext& ctx) {
        reference::embedding_bag_packed(ctx, ctx.attrs<EmbeddingBagAttrs>().reduction);
      });
  schema.make_attributes = &ir::make_attributes<EmbeddingBagAttrs>;
  return schema;
}

ir::OpSchema embedding_segments_sum_3() {
  return schema_of({4, 6, 1}, &infer_segments, &reference::embedding_segments_sum);
}

ir::OpSchema sparse_fill_empty_rows_16() {
  auto schema = schema_of({4, 4, 3}, &infer_fill, &reference::sparse_fill_empty_rows);
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
