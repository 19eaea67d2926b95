// ShuffleChannels, ReorgYolo: an axis seen as several, and axes in another order.
// BatchToSpace and SpaceToBatch: the same with borders. Any element of whole bytes. Layouts: plain.
// Threads: tasks of the plans.
#include <algorithm>
#include <span>

#include "ops/defs/detection/yolo.hpp"
#include "ops/defs/movement/depth_space.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"

namespace terroir::cpu {
namespace {

using Plans = std::vector<CopyPlan>;

int64_t element_bytes(const NodeContext& context) { return static_cast<int64_t>(context.inputs[0].type.size()); }

Plans permuted(const NodeContext& context, const ops::SplitPermutation& moved) {
  return {permutation_plan(moved.split, moved.order, element_bytes(context), context.isa)};
}

Plans shuffle_channels(const NodeContext& context) {
  return permuted(context,
                  ops::shuffle_permutation(context.node.attrs<ops::ShuffleChannelsAttrs>(), context.inputs[0].dims));
}

/// Darknet's order: the input is walked as if it had the shape of what DepthToSpace would make of it.
Plans reorg_yolo(const NodeContext& context) {
  const ir::Dims& in = context.inputs[0].dims;
  const int64_t stride = context.node.attrs<ops::ReorgYoloAttrs>().stride;
  return permuted(context, {{in[0], in[1] / (stride * stride), in[2], stride, in[3], stride}, {0, 3, 5, 1, 2, 4}});
}

/// Steps in bytes of a dense tensor.
std::vector<int64_t> steps_of(const ir::Dims& dims, int64_t bytes) {
  std::vector<int64_t> steps(dims.size());
  for (size_t i = dims.size(); i-- > 0; bytes *= dims[i]) steps[i] = bytes;
  return steps;
}

struct Borders {
  std::vector<int64_t> block, begin, end;
};

std::optional<Borders> known_borders(const NodeContext& context) {
  auto block = known_integers(context, 1), begin = known_integers(context, 2), end = known_integers(context, 3);
  if (!block || !begin || !end) return std::nullopt;
  return Borders{std::move(*block), std::move(*begin), std::move(*end)};
}

/// Where nothing is cut off, an axis of the result is an axis of data and one of blocks; else a table of both.
Plans batch_to_space(const NodeContext& context) {
  const Borders borders = *known_borders(context);
  const ir::Dims &src = context.inputs[0].dims, &dst = context.outputs[0].dims;
  const auto bytes = element_bytes(context);
  const std::vector<int64_t> from = steps_of(src, bytes), to = steps_of(dst, bytes);
  std::vector<CopyAxis> axes = {{dst[0], to[0], from[0]}};
  int64_t block_step = dst[0] * from[0];  // of the next axis's blocks, innermost first
  for (size_t axis = dst.size(); axis-- > 1; block_step *= borders.block[axis]) {
    const int64_t block = borders.block[axis];
    if (borders.begin[axis] == 0 && borders.end[axis] == 0) {
      axes.insert(axes.begin() + 1, {block, to[axis], block_step});
      axes.insert(axes.begin() + 1, {src[axis], to[axis] * block, from[axis]});
      continue;
    }
    CopyAxis both{dst[axis], to[axis]};
    const int64_t end = borders.begin[axis] + dst[axis];
    for (int64_t i = borders.begin[axis], next; i < end; i = next) {  // a block, or what is left of it
      next = std::min(end, (i / block + 1) * block);
      append_run(both.runs, next - i, i / block * from[axis] + i % block * block_step, block_step);
    }
    axes.insert(axes.begin() + 1, std::move(both));
  }
  return {CopyPlan(std::move(axes), bytes, 0, 0, tile_kernels(context.isa))};
}

/// Without borders: each axis of space is one of blocks and one inside them.
Plans space_to_batch_alone(const NodeContext& context, const std::vector<int64_t>& block) {
  const ir::Dims& src = context.inputs[0].dims;
  ops::SplitPermutation moved{{src[0]}, {}};
  for (size_t axis = 1; axis < src.size(); ++axis) {
    moved.split.push_back(src[axis] / block[axis]);
    moved.split.push_back(block[axis]);
    moved.order.push_back(static_cast<int64_t>(2 * axis));
  }
  moved.order.push_back(0);
  for (size_t axis = 1; axis < src.size(); ++axis) moved.order.push_back(static_cast<int64_t>(2 * axis - 1));
  return permuted(context, moved);
}

bool all_zero(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 0; });
}

/// With borders: one plan for every position inside a block.
Plans space_to_batch(const NodeContext& context) {
  const Borders borders = *known_borders(context);
  if (all_zero(borders.begin) && all_zero(borders.end)) return space_to_batch_alone(context, borders.block);
  const ir::Dims &src = context.inputs[0].dims, &dst = context.outputs[0].dims;
  const auto bytes = element_bytes(context);
  const std::vector<int64_t> from = steps_of(src, bytes), to = steps_of(dst, bytes);
  const size_t rank = src.size();
  int64_t blocks = 1;
  for (const int64_t block : borders.block) blocks *= block;
  Plans plans;
  for (int64_t at = 0; at < blocks; ++at) {
    std::vector<CopyAxis> axes(rank);
    axes[0] = {src[0], to[0], from[0]};
    int64_t rest = at;
    for (size_t axis = rank; axis-- > 1; rest /= borders.block[axis]) {
      const int64_t block = borders.block[axis];
      axes[axis] = {dst[axis], to[axis]};
      axes[axis].runs =
          scaled(runs_within(dst[axis], rest % block - borders.begin[axis], block, src[axis]), from[axis]);
    }
    plans.emplace_back(std::move(axes), bytes, 0, at * src[0] * to[0]);
  }
  return plans;
}

template <Plans (*kPlans)(const NodeContext&)>
Proposal propose(const NodeContext& context) {
  return propose_plain_copy(context, kPlans(context));
}

template <Plans (*kPlans)(const NodeContext&)>
Proposal propose_with_borders(const NodeContext& context) {
  const auto borders = known_borders(context);
  if (!borders) return Reject{"the blocks are known at run time only"};
  constexpr int64_t kMostBlocks = 1024;
  int64_t blocks = 1;
  for (const int64_t block : borders->block)
    if ((blocks *= std::min(block, kMostBlocks + 1)) > kMostBlocks) return Reject{"more than 1024 blocks"};
  return propose<kPlans>(context);
}

constexpr char kShuffleName[] = "shuffle_channels", kReorgName[] = "reorg_yolo", kBatchToSpaceName[] = "batch_to_space",
               kSpaceToBatchName[] = "space_to_batch";

template <Plans (*kPlans)(const NodeContext&), const char* kName>
std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  return create_plain_copy(context, kPlans(context), kName);
}

constexpr Impl kShuffleChannels[] = {
    {"shuffle_channels", &propose<&shuffle_channels>, &create<&shuffle_channels, kShuffleName>}};
constexpr Impl kReorgYolo[] = {{"reorg_yolo", &propose<&reorg_yolo>, &create<&reorg_yolo, kReorgName>}};
constexpr Impl kBatchToSpace[] = {
    {"batch_to_space", &propose_with_borders<&batch_to_space>, &create<&batch_to_space, kBatchToSpaceName>}};
constexpr Impl kSpaceToBatch[] = {
    {"space_to_batch", &propose_with_borders<&space_to_batch>, &create<&space_to_batch, kSpaceToBatchName>}};

}  // namespace

std::span<const Impl> shuffle_channels_impls() { return kShuffleChannels; }
std::span<const Impl> reorg_yolo_impls() { return kReorgYolo; }
std::span<const Impl> batch_to_space_impls() { return kBatchToSpace; }
std::span<const Impl> space_to_batch_impls() { return kSpaceToBatch; }

}  // namespace terroir::cpu
