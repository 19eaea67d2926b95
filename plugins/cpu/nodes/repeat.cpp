// Broadcast and Tile: repeated axes, any element of whole bytes. What repeats is known from the shapes alone, but for
// the axes of an explicit Broadcast. Layouts and threads: axis_copy.hpp.
#include <span>

#include "ops/defs/movement/broadcast.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"

namespace terroir::cpu {
namespace {

AxisMap repeated(int64_t extent, int64_t to) {
  if (extent == to) return {extent};
  if (extent == 1) return {to, 0, 0};
  AxisMap map{extent};
  map.repeats = extent > 0 ? to / extent : 0;
  return map;
}

/// `src_dims`: one extent per axis of the output.
AxisCopy repeat(const NodeContext& context, ir::Dims src_dims) {
  AxisCopy copy;
  for (size_t axis = 0; axis < src_dims.size(); ++axis)
    copy.maps.push_back(repeated(src_dims[axis], context.outputs[0].dims[axis]));
  copy.src_dims = std::move(src_dims);
  return copy;
}

std::optional<AxisCopy> broadcast(const NodeContext& context) {
  const ir::Dims &src = context.inputs[0].dims, &dst = context.outputs[0].dims;
  // The target too: the reference compares it with the result, whose shape may follow from the data alone.
  const bool has_axes = context.inputs.size() > 2;
  if (!context.constants[1] || (has_axes && !context.constants[2])) return std::nullopt;
  const auto mapping = ops::broadcast_mapping(context.node.attrs<ops::BroadcastAttrs>().mode, src, dst,
                                              has_axes ? &context.constants[2]->view : nullptr);
  ir::Dims dims(dst.size(), 1);
  for (size_t i = 0; i < mapping.size(); ++i) dims[static_cast<size_t>(mapping[i])] = src[i];
  return repeat(context, std::move(dims));
}

std::optional<AxisCopy> tile(const NodeContext& context) {
  ir::Dims dims = context.inputs[0].dims;
  dims.insert(dims.begin(), context.outputs[0].dims.size() - dims.size(), 1);
  return repeat(context, std::move(dims));
}

template <std::optional<AxisCopy> (*kCopy)(const NodeContext&)>
Proposal propose(const NodeContext& context) {
  const auto copy = kCopy(context);
  if (!copy) return Reject{"the target or the axes are known at run time only"};
  return propose_axis_copy(context, *copy);
}

constexpr Impl kBroadcast[] = {{"broadcast", &propose<&broadcast>, [](const NodeContext& context, const LayoutChoice&) {
                                  return create_axis_copy(context, *broadcast(context), "broadcast");
                                }}};
constexpr Impl kTile[] = {{"tile", &propose<&tile>, [](const NodeContext& context, const LayoutChoice&) {
                             return create_axis_copy(context, *tile(context), "tile");
                           }}};

}  // namespace

std::span<const Impl> broadcast_impls() { return kBroadcast; }
std::span<const Impl> tile_impls() { return kTile; }

}  // namespace terroir::cpu
