#include "ops/defs/sequence/ctc.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

PartialShape ranked(const ir::InferContext& ctx, int input, const char* name, int64_t rank) {
  require_rank(ctx, input, name, rank, rank);
  return ctx.shape(input).rank().is_static() ? ctx.shape(input) : PartialShape::dynamic(rank);
}

/// The extent both must have.
Dimension merged(const ir::InferContext& ctx, const Dimension& a, const Dimension& b, const char* what) {
  Dimension extent;
  ctx.require(Dimension::merge(extent, a, b), "the inputs must agree on ", what, ", got ", a, " and ", b);
  return extent;
}

void require_index_type(const ir::InferContext& ctx, const char* name, element::Type type) {
  ctx.require(type == element::i64 || type == element::i32, name, " must be i64 or i32, got ", type.get_type_name());
}

void infer_decoder(ir::InferContext& ctx) {
  const PartialShape data = ranked(ctx, 0, "data", 3);
  const PartialShape mask = ranked(ctx, 1, "sequence_mask", 2);
  ctx.set_output(
      0, merged_type(ctx, 0, 1, "data", "sequence_mask"),
      PartialShape{merged(ctx, data[1], mask[1], "the batch"), merged(ctx, data[0], mask[0], "the time"), 1, 1});
}

void infer_decoder_seq_len(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<CtcGreedyDecoderSeqLenAttrs>();
  require_index_type(ctx, "classes_index_type", attrs.classes_index_type);
  require_index_type(ctx, "sequence_length_type", attrs.sequence_length_type);
  require_integer_type(ctx, 1, "sequence_length");
  const PartialShape data = ranked(ctx, 0, "data", 3);
  const PartialShape lengths = ranked(ctx, 1, "sequence_length", 1);
  if (ctx.input_count() > 2) known_integer(ctx, 2, "blank_index");
  const Dimension batch = merged(ctx, data[0], lengths[0], "the batch");
  ctx.set_output(0, attrs.classes_index_type, PartialShape{batch, data[1]});
  ctx.set_output(1, attrs.sequence_length_type, PartialShape{batch});
}

void infer_loss(ir::InferContext& ctx) {
  constexpr const char* kNames[] = {"logits", "logit_length", "labels", "label_length"};
  for (int i = 1; i < 4; ++i) require_integer_type(ctx, i, kNames[i]);
  const PartialShape logits = ranked(ctx, 0, kNames[0], 3);
  const PartialShape labels = ranked(ctx, 2, kNames[2], 2);
  Dimension batch = merged(ctx, logits[0], labels[0], "the batch");
  batch = merged(ctx, batch, ranked(ctx, 1, kNames[1], 1)[0], "the batch");
  batch = merged(ctx, batch, ranked(ctx, 3, kNames[3], 1)[0], "the batch");
  merged(ctx, logits[1], labels[1], "the time");
  if (ctx.input_count() > 4) known_integer(ctx, 4, "blank_index");
  ctx.set_output(0, ctx.type(0), PartialShape{batch});
}

}  // namespace

ir::OpSchema ctc_greedy_decoder_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<CtcGreedyDecoderAttrs>;
  schema.infer = &infer_decoder;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::ctc_greedy_decoder(ctx, ctx.attrs<CtcGreedyDecoderAttrs>().ctc_merge_repeated);
  };
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema ctc_greedy_decoder_seq_len_6() {
  ir::OpSchema schema;
  schema.arity = {2, 3, 2};
  schema.make_attributes = &ir::make_attributes<CtcGreedyDecoderSeqLenAttrs>;
  schema.infer = &infer_decoder_seq_len;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::ctc_greedy_decoder_seq_len(ctx, ctx.attrs<CtcGreedyDecoderSeqLenAttrs>().merge_repeated);
  };
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema ctc_loss_4() {
  ir::OpSchema schema;
  schema.arity = {4, 5, 1};
  schema.make_attributes = &ir::make_attributes<CtcLossAttrs>;
  schema.infer = &infer_loss;
  schema.reference = [](const ir::EvalContext& ctx) { reference::ctc_loss(ctx, ctx.attrs<CtcLossAttrs>()); };
  return schema;
}

}  // namespace terroir::ops
