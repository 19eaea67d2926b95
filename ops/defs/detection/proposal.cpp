#include "ops/defs/detection/proposal.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer(ir::InferContext& ctx, bool with_scores) {
  const auto& attrs = ctx.attrs<ProposalAttrs>();
  constexpr int64_t kMost = int64_t{1} << 24;
  const std::pair<const char*, int64_t> sizes[] = {{"base_size", attrs.base_size},
                                                   {"pre_nms_topn", attrs.pre_nms_topn},
                                                   {"post_nms_topn", attrs.post_nms_topn},
                                                   {"feat_stride", attrs.feat_stride}};
  for (const auto& [name, value] : sizes)
    ctx.require(value >= 1 && value <= kMost, name, " must be in [1, ", kMost, "], got ", value);
  const std::pair<const char*, const std::vector<double>*> lists[] = {{"ratio", &attrs.ratio}, {"scale", &attrs.scale}};
  for (const auto& [name, list] : lists) {
    ctx.require(!list->empty() && list->size() <= 1024, name, " must have 1 to 1024 elements, got ", list->size());
    for (const double value : *list) ctx.require(value > 0, name, " must be positive, got ", value);
  }
  ctx.require(attrs.framework.empty() || attrs.framework == "tensorflow", "framework must be '' or 'tensorflow', got '",
              attrs.framework, "'");
  constexpr const char* kNames[] = {"class_probs", "bbox_deltas", "image_shape"};
  element::Type type;
  for (int i = 0; i < 3; ++i) {
    require_rank(ctx, i, kNames[i], i < 2 ? 4 : 1, i < 2 ? 4 : 1);
    ctx.require(element::Type::merge(type, type, ctx.type(i)), "all inputs must have one element type, ", kNames[i],
                " has ", ctx.type(i).get_type_name(), " after ", type.get_type_name());
  }
  const auto anchors = static_cast<int64_t>(attrs.ratio.size() * attrs.scale.size());
  PartialShape grid{Dimension::dynamic(), 2 * anchors, Dimension::dynamic(), Dimension::dynamic()};
  ctx.require(PartialShape::merge_into(grid, ctx.shape(0)), "class_probs (input 0) must have 2 channels for each of ",
              anchors, " anchors, got ", ctx.shape(0));
  grid[1] = 4 * anchors;
  ctx.require(PartialShape::merge_into(grid, ctx.shape(1)), "bbox_deltas (input 1) must have shape ", grid, ", got ",
              ctx.shape(1));
  const auto length = known_length(ctx, 2);
  ctx.require(!length || *length == 3 || *length == 4, "image_shape (input 2) must have 3 or 4 elements, got ",
              length.value_or(0));
  const Dimension rows = times(grid[0], attrs.post_nms_topn);
  ctx.set_output(0, type, PartialShape{rows, 5});
  if (with_scores) ctx.set_output(1, type, PartialShape{rows});
}

template <bool WithScores>
ir::OpSchema schema_of() {
  ir::OpSchema schema;
  schema.arity = {3, 3, WithScores ? 2 : 1};
  schema.make_attributes = &ir::make_attributes<ProposalAttrs>;
  schema.infer = [](ir::InferContext& ctx) { infer(ctx, WithScores); };
  schema.reference = [](const ir::EvalContext& ctx) { reference::proposal(ctx, ctx.attrs<ProposalAttrs>()); };
  return schema;
}

}  // namespace

ir::OpSchema proposal_1() { return schema_of<false>(); }
ir::OpSchema proposal_4() { return schema_of<true>(); }

}  // namespace terroir::ops
