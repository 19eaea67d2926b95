// What: BatchToSpace (items of the batch become blocks of space, then borders are cut off) and SpaceToBatch (borders of
// zeros, then blocks of space become items of the batch). Inputs: data, block_shape, crops (pads) begin and end, 1-D,
// one element for each axis; those of axis 0 are 1, 0 and 0. Shapes: [B, D...] -> [B / prod(block), D * block -
// crops...]; [B, D...] -> [B * prod(block), (D + pads) / block...]. Source: operation pages BatchToSpace-2,
// SpaceToBatch-2.
#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/rearrange.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

struct Lists {
  std::vector<int64_t> block, begin, end;
};

/// The three lists, when all are known and data has a rank.
std::optional<Lists> known_lists(ir::InferContext& ctx, const char* const (&names)[4]) {
  for (int i = 1; i < 4; ++i) {
    require_integer_type(ctx, i, names[i]);
    require_rank(ctx, i, names[i], 1, 1);
    const auto length = known_length(ctx, i);
    if (length && ctx.shape(0).rank().is_static())
      ctx.require(*length == static_cast<int64_t>(ctx.shape(0).size()), names[i],
                  " must have one element for each axis of data ", ctx.shape(0), ", got ", *length);
  }
  const auto block = ctx.integers(1), begin = ctx.integers(2), end = ctx.integers(3);
  if (!block || !begin || !end || ctx.shape(0).rank().is_dynamic()) return std::nullopt;
  for (size_t i = 0; i < block->size(); ++i) {
    ctx.require((*block)[i] >= 1, "block_shape[", i, "] must be positive, got ", (*block)[i]);
    ctx.require((*begin)[i] >= 0, names[2], "[", i, "] must not be negative, got ", (*begin)[i]);
    ctx.require((*end)[i] >= 0, names[3], "[", i, "] must not be negative, got ", (*end)[i]);
  }
  ctx.require((*block)[0] == 1 && (*begin)[0] == 0 && (*end)[0] == 0, "axis 0 must have block 1 and no borders, got ",
              (*block)[0], ", ", (*begin)[0], " and ", (*end)[0]);
  return Lists{*block, *begin, *end};
}

Dimension volume_of(const std::vector<int64_t>& block) {
  return product(std::vector<Dimension>(block.begin(), block.end()));
}

void set_unknown(ir::InferContext& ctx) {
  const Rank rank = ctx.shape(0).rank();
  ctx.set_output(0, ctx.type(0), rank.is_static() ? PartialShape::dynamic(rank) : PartialShape::dynamic());
}

void infer_batch_to_space(ir::InferContext& ctx) {
  static constexpr const char* kNames[] = {"data", "block_shape", "crops_begin", "crops_end"};
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  const auto lists = known_lists(ctx, kNames);
  if (!lists) return set_unknown(ctx);
  PartialShape shape = ctx.shape(0);
  shape[0] = divided(shape[0], volume_of(lists->block).get_length(), 0);
  for (size_t i = 1; i < shape.size(); ++i) {
    const auto axis = static_cast<std::ptrdiff_t>(i);
    const Dimension full = times(shape[axis], lists->block[i]);
    const Dimension crops = Dimension(lists->begin[i]) + Dimension(lists->end[i]);
    ctx.require(!full.has_upper_bound() || crops.get_min_length() <= full.get_max_length(), "crops ", lists->begin[i],
                " and ", lists->end[i], " exceed extent ", full, " of axis ", i);
    shape[axis] = full - crops;
  }
  ctx.set_output(0, ctx.type(0), std::move(shape));
}

void infer_space_to_batch(ir::InferContext& ctx) {
  static constexpr const char* kNames[] = {"data", "block_shape", "pads_begin", "pads_end"};
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  const auto lists = known_lists(ctx, kNames);
  if (!lists) return set_unknown(ctx);
  constexpr int64_t kMostPadding = int64_t{1} << 40;
  PartialShape shape = ctx.shape(0);
  shape[0] = times(shape[0], volume_of(lists->block));
  for (size_t i = 1; i < shape.size(); ++i) {
    const auto axis = static_cast<std::ptrdiff_t>(i);
    ctx.require(lists->begin[i] <= kMostPadding && lists->end[i] <= kMostPadding, "pads of axis ", i,
                " must be at most ", kMostPadding, ", got ", lists->begin[i], " and ", lists->end[i]);
    const Dimension padded = shape[axis] + Dimension(lists->begin[i] + lists->end[i]);
    shape[axis] = divided(padded, lists->block[i], static_cast<int64_t>(i));
  }
  ctx.set_output(0, ctx.type(0), std::move(shape));
}

ir::OpSchema batch_space_schema(ir::InferFn infer, ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = {4, 4, 1};
  schema.infer = infer;
  schema.reference = reference;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace

ir::OpSchema batch_to_space_2() { return batch_space_schema(&infer_batch_to_space, &reference::batch_to_space); }
ir::OpSchema space_to_batch_2() { return batch_space_schema(&infer_space_to_batch, &reference::space_to_batch); }

}  // namespace terroir::ops
