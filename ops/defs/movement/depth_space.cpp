#include "ops/defs/movement/depth_space.hpp"

#include "ir/base/overflow.hpp"
#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/rearrange.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

/// block_size to the power of the number of spatial axes.
int64_t block_volume(const ir::InferContext& ctx, int64_t block, size_t spatial) {
  int64_t volume = 1;
  for (size_t i = 0; i < spatial; ++i) {
    const auto next = checked_mul(volume, block);
    ctx.require(next.has_value(), "block_size ", block, " is too large for ", spatial, " spatial axes");
    volume = *next;
  }
  return volume;
}

void infer_shuffle(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<ShuffleChannelsAttrs>();
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  ctx.require(attrs.group >= 1, "group must be positive, got ", attrs.group);
  const PartialShape& data = ctx.shape(0);
  if (data.rank().is_static()) {
    const int64_t axis = normalize_axis(attrs.axis, static_cast<int64_t>(data.size()));
    divided(data[axis], attrs.group, axis);
  }
  ctx.set_output(0, ctx.type(0), data);
}

void infer_depth_space(ir::InferContext& ctx, bool to_space) {
  const int64_t block = ctx.attrs<DepthSpaceAttrs>().block_size;
  ctx.require(block >= 1, "block_size must be positive, got ", block);
  require_rank(ctx, 0, "data", 3, INT64_MAX);
  PartialShape shape = ctx.shape(0);
  if (shape.rank().is_static()) {
    const int64_t volume = block_volume(ctx, block, shape.size() - 2);
    shape[1] = to_space ? divided(shape[1], volume, 1) : times(shape[1], volume);
    for (int64_t i = 2; i < static_cast<int64_t>(shape.size()); ++i)
      shape[i] = to_space ? times(shape[i], block) : divided(shape[i], block, i);
  }
  ctx.set_output(0, ctx.type(0), std::move(shape));
}

template <class Attrs, SplitPermutation (*kPermutation)(const Attrs&, const ir::Dims&)>
void reference_permutation(const ir::EvalContext& ctx) {
  const SplitPermutation moved = kPermutation(ctx.attrs<Attrs>(), ctx.inputs[0].dims);
  reference::permute(ctx, moved.split, moved.order, "blocks");
}

template <class Attrs>
ir::OpSchema schema_of(ir::InferFn infer, ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = infer;
  schema.reference = reference;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace

SplitPermutation shuffle_permutation(const ShuffleChannelsAttrs& attrs, const ir::Dims& dims) {
  const int64_t axis = normalize_axis(attrs.axis, static_cast<int64_t>(dims.size()));
  ir::Dims split(dims.begin(), dims.begin() + axis);
  split.push_back(attrs.group);
  split.push_back(dims[static_cast<size_t>(axis)] / attrs.group);
  split.insert(split.end(), dims.begin() + axis + 1, dims.end());
  std::vector<int64_t> order;
  for (size_t i = 0; i < split.size(); ++i) order.push_back(static_cast<int64_t>(i));
  std::swap(order[static_cast<size_t>(axis)], order[static_cast<size_t>(axis) + 1]);
  return {std::move(split), std::move(order)};
}

SplitPermutation depth_to_space_permutation(const DepthSpaceAttrs& attrs, const ir::Dims& dims) {
  const auto spatial = static_cast<int64_t>(dims.size()) - 2;
  const bool blocks_first = attrs.mode == DepthMode::blocks_first;
  int64_t volume = 1;
  for (int64_t i = 0; i < spatial; ++i) volume *= attrs.block_size;
  // N, [C,] b..., [C,] D...
  ir::Dims split{dims[0]};
  if (!blocks_first) split.push_back(dims[1] / volume);
  split.insert(split.end(), static_cast<size_t>(spatial), attrs.block_size);
  if (blocks_first) split.push_back(dims[1] / volume);
  split.insert(split.end(), dims.begin() + 2, dims.end());
  const int64_t first_block = blocks_first ? 1 : 2;
  std::vector<int64_t> order{0, blocks_first ? spatial + 1 : 1};
  for (int64_t i = 0; i < spatial; ++i) {
    order.push_back(spatial + 2 + i);
    order.push_back(first_block + i);
  }
  return {std::move(split), std::move(order)};
}

SplitPermutation space_to_depth_permutation(const DepthSpaceAttrs& attrs, const ir::Dims& dims) {
  const auto spatial = static_cast<int64_t>(dims.size()) - 2;
  ir::Dims split{dims[0], dims[1]};
  for (size_t i = 2; i < dims.size(); ++i) {
    split.push_back(dims[i] / attrs.block_size);
    split.push_back(attrs.block_size);
  }
  std::vector<int64_t> order{0};
  if (attrs.mode == DepthMode::depth_first) order.push_back(1);
  for (int64_t i = 0; i < spatial; ++i) order.push_back(3 + 2 * i);
  if (attrs.mode == DepthMode::blocks_first) order.push_back(1);
  for (int64_t i = 0; i < spatial; ++i) order.push_back(2 + 2 * i);
  return {std::move(split), std::move(order)};
}

ir::OpSchema shuffle_channels_1() {
  return schema_of<ShuffleChannelsAttrs>(&infer_shuffle,
                                         &reference_permutation<ShuffleChannelsAttrs, &shuffle_permutation>);
}

ir::OpSchema depth_to_space_1() {
  return schema_of<DepthSpaceAttrs>([](ir::InferContext& ctx) { infer_depth_space(ctx, true); },
                                    &reference_permutation<DepthSpaceAttrs, &depth_to_space_permutation>);
}

ir::OpSchema space_to_depth_1() {
  return schema_of<DepthSpaceAttrs>([](ir::InferContext& ctx) { infer_depth_space(ctx, false); },
                                    &reference_permutation<DepthSpaceAttrs, &space_to_depth_permutation>);
}

}  // namespace terroir::ops
