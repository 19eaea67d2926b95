#include "ops/defs/detection/yolo.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_region(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<RegionYoloAttrs>();
  constexpr int64_t kMost = int64_t{1} << 20;
  const std::pair<const char*, int64_t> counts[] = {
      {"coords", attrs.coords}, {"classes", attrs.classes}, {"num", attrs.num}};
  for (const auto& [name, value] : counts)
    ctx.require(value >= 0 && value <= kMost, name, " must be in [0, ", kMost, "], got ", value);
  require_rank(ctx, 0, "data", 4, 4);
  const PartialShape data = ctx.shape(0).rank().is_static() ? ctx.shape(0) : PartialShape::dynamic(4);
  const int64_t channels = attrs.regions() * (attrs.coords + attrs.classes + 1);
  ctx.require(!data[1].has_upper_bound() || data[1].get_max_length() >= channels, "data ", data, " must have ",
              channels, " channels: ", attrs.regions(), " regions of ", attrs.coords, " coordinates, objectness and ",
              attrs.classes, " classes");
  if (!attrs.do_softmax) {
    ctx.set_output(0, ctx.type(0), PartialShape{data[0], channels, data[2], data[3]});
    return;
  }
  const int64_t axis = normalize_axis(attrs.axis, 4);
  const int64_t end = normalize_axis(attrs.end_axis, 4, "end_axis");
  ctx.require(axis <= end, "end_axis must not be before axis, got ", attrs.axis, " and ", attrs.end_axis);
  std::vector<Dimension> dims(data.begin(), data.begin() + axis);
  dims.push_back(product({data.begin() + axis, data.begin() + end + 1}));
  dims.insert(dims.end(), data.begin() + end + 1, data.end());
  ctx.set_output(0, ctx.type(0), PartialShape(dims));
}

void infer_reorg(ir::InferContext& ctx) {
  const int64_t stride = ctx.attrs<ReorgYoloAttrs>().stride;
  constexpr int64_t kMost = int64_t{1} << 20;
  ctx.require(stride >= 1 && stride <= kMost, "stride must be in [1, ", kMost, "], got ", stride);
  require_rank(ctx, 0, "data", 4, 4);
  PartialShape shape = ctx.shape(0).rank().is_static() ? ctx.shape(0) : PartialShape::dynamic(4);
  divided(shape[1], stride * stride, 1);
  shape[1] = times(shape[1], stride * stride);
  shape[2] = divided(shape[2], stride, 2);
  shape[3] = divided(shape[3], stride, 3);
  ctx.set_output(0, ctx.type(0), std::move(shape));
}

}  // namespace

ir::OpSchema region_yolo_1() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<RegionYoloAttrs>;
  schema.infer = &infer_region;
  schema.reference = [](const ir::EvalContext& ctx) { reference::region_yolo(ctx, ctx.attrs<RegionYoloAttrs>()); };
  return schema;
}

ir::OpSchema reorg_yolo_2() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<ReorgYoloAttrs>;
  schema.infer = &infer_reorg;
  schema.reference = [](const ir::EvalContext& ctx) { reference::reorg_yolo(ctx, ctx.attrs<ReorgYoloAttrs>().stride); };
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
