// What: Tile: repeats data along each axis. Inputs: data, repeats (1-D).
// Shapes: the shorter of data's shape and repeats is filled up with 1 in front; extents are multiplied.
// Edge cases: no repeats make the output empty; fewer than none are none, as OpenVINO has it. Source: operation page
// Tile-1.
#include <algorithm>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/movement.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

std::optional<std::vector<Dimension>> repeats_of(ir::InferContext& ctx) {
  const auto numbers = ctx.integers(1);
  if (!numbers) return ctx.dimensions(1);
  std::vector<Dimension> repeats;
  for (const int64_t number : *numbers) repeats.emplace_back(std::max<int64_t>(number, 0));
  return repeats;
}

void infer_tile(ir::InferContext& ctx) {
  require_integer_type(ctx, 1, "repeats");
  require_rank(ctx, 1, "repeats", 1, 1);
  const PartialShape& data = ctx.shape(0);
  const auto repeats = repeats_of(ctx);
  if (data.rank().is_dynamic() || !repeats) {
    const auto length = known_length(ctx, 1);
    ctx.set_output(0, ctx.type(0),
                   length && data.rank().is_static()
                       ? PartialShape::dynamic(std::max(*length, static_cast<int64_t>(data.size())))
                       : PartialShape::dynamic());
    return;
  }
  std::vector<Dimension> times_each = *repeats;
  std::vector<Dimension> dims(data.begin(), data.end());
  const size_t rank = std::max(dims.size(), times_each.size());
  dims.insert(dims.begin(), rank - dims.size(), Dimension(1));
  times_each.insert(times_each.begin(), rank - times_each.size(), Dimension(1));
  for (size_t i = 0; i < rank; ++i) dims[i] = times(dims[i], times_each[i]);
  ctx.set_output(0, ctx.type(0), PartialShape(dims));
}

std::optional<std::vector<Dimension>> dimensions_of_tile(ir::InferContext& ctx) {
  const auto from = ctx.dimensions(0);
  const auto repeats = ctx.integers(1);
  constexpr int64_t kMaxLength = 64;
  if (!from || !repeats || repeats->size() != 1 || repeats->front() > kMaxLength) return std::nullopt;
  std::vector<Dimension> tiled;
  for (int64_t i = 0; i < repeats->front(); ++i) tiled.insert(tiled.end(), from->begin(), from->end());
  return tiled;
}

}  // namespace

ir::OpSchema tile_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.infer = &infer_tile;
  schema.reference = &reference::tile;
  schema.dimensions = &dimensions_of_tile;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
