#include "ops/defs/detection/roi_pooling.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

// Products of three of these fit 64 bits.
constexpr int64_t kMostParts = INT16_MAX;

void require_in(const ir::InferContext& ctx, const char* name, int64_t value, int64_t most) {
  ctx.require(value > 0 && value <= most, name, " must be within [1, ", most, "], got ", value);
}

void require_scale(const ir::InferContext& ctx, double scale) {
  ctx.require(scale > 0, "spatial_scale must be positive, got ", scale);
}

Dimension extent_of(const PartialShape& shape, std::ptrdiff_t axis) {
  return shape.rank().is_static() ? shape[axis] : Dimension();
}

/// Checks feature maps (input 0) and rois (input 1, rows of `row` numbers); the number of regions.
Dimension regions(const ir::InferContext& ctx, int64_t row) {
  merged_type(ctx, 0, 1, "feature maps", "rois");
  require_rank(ctx, 0, "feature maps", 4, 4);
  require_rank(ctx, 1, "rois", 2, 2);
  ctx.require(extent_of(ctx.shape(1), 1).compatible(row), "rois (input 1) must have the shape [n,", row, "], got ",
              ctx.shape(1));
  return extent_of(ctx.shape(1), 0);
}

void infer_roi_pooling(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<RoiPoolingAttrs>();
  require_in(ctx, "pooled_h", attrs.pooled_h, INT32_MAX);
  require_in(ctx, "pooled_w", attrs.pooled_w, INT32_MAX);
  require_scale(ctx, attrs.spatial_scale);
  const std::vector<int64_t> pooled = {attrs.pooled_h, attrs.pooled_w};
  ctx.require(attrs.output_size.empty() || attrs.output_size == pooled, "output_size must be pooled_h, pooled_w ",
              pooled, ", got ", attrs.output_size);
  ctx.require(attrs.output_roi.empty() || attrs.output_roi == pooled, "output_roi must be pooled_h, pooled_w ", pooled,
              ", got ", attrs.output_roi);
  const Dimension count = regions(ctx, 5);
  ctx.set_output(0, merged_type(ctx, 0, 1, "feature maps", "rois"),
                 {count, extent_of(ctx.shape(0), 1), attrs.pooled_h, attrs.pooled_w});
}

/// The attributes that both position-sensitive poolings share, and the channels they need.
template <class Attrs>
void infer_position_sensitive(ir::InferContext& ctx, const Attrs& attrs, int64_t channels_per_output) {
  const Dimension count = regions(ctx, 5);
  const Dimension wanted = attrs.output_dim * channels_per_output;
  ctx.require(extent_of(ctx.shape(0), 1).compatible(wanted), "feature maps (input 0) must have ", wanted,
              " channels for output_dim ", attrs.output_dim, ", got shape ", ctx.shape(0));
  ctx.set_output(0, merged_type(ctx, 0, 1, "feature maps", "rois"),
                 {count, attrs.output_dim, attrs.group_size, attrs.group_size});
}

template <class Attrs>
void check_position_sensitive(const ir::InferContext& ctx, const Attrs& attrs) {
  require_in(ctx, "output_dim", attrs.output_dim, INT32_MAX);
  require_in(ctx, "group_size", attrs.group_size, kMostParts);
  require_in(ctx, "spatial_bins_x", attrs.spatial_bins_x, kMostParts);
  require_in(ctx, "spatial_bins_y", attrs.spatial_bins_y, kMostParts);
  require_scale(ctx, attrs.spatial_scale);
}

void infer_psroi_pooling(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<PsroiPoolingAttrs>();
  check_position_sensitive(ctx, attrs);
  infer_position_sensitive(ctx, attrs,
                           attrs.mode == PsroiPoolingMode::average ? attrs.group_size * attrs.group_size
                                                                   : attrs.spatial_bins_x * attrs.spatial_bins_y);
}

void infer_deformable_psroi_pooling(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<DeformablePsroiPoolingAttrs>();
  check_position_sensitive(ctx, attrs);
  require_in(ctx, "part_size", attrs.part_size, kMostParts);
  if (ctx.input_count() == 3) {
    merged_type(ctx, 0, 2, "feature maps", "offsets");
    require_rank(ctx, 2, "offsets", 4, 4);
    const PartialShape& offsets = ctx.shape(2);
    const Dimension channels = extent_of(offsets, 1);
    ctx.require(channels.is_dynamic() || (channels.get_length() > 0 && channels.get_length() % 2 == 0 &&
                                          attrs.output_dim % (channels.get_length() / 2) == 0),
                "offsets (input 2) must have 2 channels for each class, and the classes must divide output_dim ",
                attrs.output_dim, ", got shape ", offsets);
    ctx.require(extent_of(offsets, 0).compatible(extent_of(ctx.shape(1), 0)), "offsets (input 2) of shape ", offsets,
                " must have one row for each of rois ", ctx.shape(1));
    // Offsets are read as if their planes were part_size wide and high.
    const Dimension plane = extent_of(offsets, 2) * extent_of(offsets, 3);
    ctx.require(plane.is_dynamic() || plane.get_length() >= attrs.part_size * attrs.part_size,
                "offsets (input 2) of shape ", offsets, " are smaller than part_size ", attrs.part_size, " wants");
  }
  infer_position_sensitive(ctx, attrs, attrs.group_size * attrs.group_size);
}

template <class Attrs, int Row>
void infer_roi_align(ir::InferContext& ctx) {
  const Attrs& attrs = ctx.attrs<Attrs>();
  require_in(ctx, "pooled_h", attrs.pooled_h, INT32_MAX);
  require_in(ctx, "pooled_w", attrs.pooled_w, INT32_MAX);
  ctx.require(attrs.sampling_ratio >= 0 && attrs.sampling_ratio <= 4096,
              "sampling_ratio must be within [0, 4096], got ", attrs.sampling_ratio);
  require_scale(ctx, attrs.spatial_scale);
  Dimension count = regions(ctx, Row);
  require_integer_type(ctx, 2, "batch_indices");
  require_rank(ctx, 2, "batch_indices", 1, 1);
  ctx.require(Dimension::merge(count, count, extent_of(ctx.shape(2), 0)), "batch_indices (input 2) of shape ",
              ctx.shape(2), " must have one entry for each of rois ", ctx.shape(1));
  ctx.set_output(0, merged_type(ctx, 0, 1, "feature maps", "rois"),
                 {count, extent_of(ctx.shape(0), 1), attrs.pooled_h, attrs.pooled_w});
}

template <class Attrs>
void evaluate_roi_align(const ir::EvalContext& ctx) {
  const Attrs& attrs = ctx.attrs<Attrs>();
  const reference::RoiAlignParameters parameters{attrs.spatial_scale, attrs.sampling_ratio, attrs.mode,
                                                 attrs.aligned_mode};
  if constexpr (std::is_same_v<Attrs, RoiAlignRotatedAttrs>) {
    reference::roi_align_rotated(ctx.inputs[0], ctx.inputs[1], ctx.inputs[2], parameters, attrs.clockwise_mode,
                                 ctx.outputs[0]);
  } else {
    reference::roi_align(ctx.inputs[0], ctx.inputs[1], ctx.inputs[2], parameters, ctx.outputs[0]);
  }
}

template <class Attrs, int Row>
ir::OpSchema roi_align_schema() {
  ir::OpSchema schema;
  schema.arity = {3, 3, 1};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = &infer_roi_align<Attrs, Row>;
  schema.reference = &evaluate_roi_align<Attrs>;
  return schema;
}

}  // namespace

ir::OpSchema roi_pooling_2() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<RoiPoolingAttrs>;
  schema.infer = &infer_roi_pooling;
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<RoiPoolingAttrs>();
    if (attrs.method == RoiPoolingMethod::max)
      return reference::roi_pooling_max(ctx.inputs[0], ctx.inputs[1], attrs.spatial_scale, ctx.outputs[0]);
    reference::roi_pooling_bilinear(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0]);
  };
  return schema;
}

ir::OpSchema psroi_pooling_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<PsroiPoolingAttrs>;
  schema.infer = &infer_psroi_pooling;
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<PsroiPoolingAttrs>();
    if (attrs.mode == PsroiPoolingMode::average)
      return reference::psroi_pooling_average(ctx.inputs[0], ctx.inputs[1], attrs.spatial_scale, ctx.outputs[0]);
    reference::psroi_pooling_bilinear(ctx.inputs[0], ctx.inputs[1], attrs.spatial_scale, attrs.spatial_bins_x,
                                      attrs.spatial_bins_y, ctx.outputs[0]);
  };
  return schema;
}

ir::OpSchema deformable_psroi_pooling_1() {
  ir::OpSchema schema;
  schema.arity = {2, 3, 1};
  schema.make_attributes = &ir::make_attributes<DeformablePsroiPoolingAttrs>;
  schema.infer = &infer_deformable_psroi_pooling;
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<DeformablePsroiPoolingAttrs>();
    reference::deformable_psroi_pooling(
        ctx.inputs[0], ctx.inputs[1], ctx.inputs.size() == 3 ? &ctx.inputs[2] : nullptr,
        {attrs.spatial_scale, attrs.spatial_bins_x, attrs.spatial_bins_y, attrs.trans_std, attrs.part_size},
        ctx.outputs[0]);
  };
  return schema;
}

ir::OpSchema roi_align_3() { return roi_align_schema<RoiAlignAttrs, 4>(); }
ir::OpSchema roi_align_9() { return roi_align_schema<RoiAlign9Attrs, 4>(); }
ir::OpSchema roi_align_rotated_15() { return roi_align_schema<RoiAlignRotatedAttrs, 5>(); }

}  // namespace terroir::ops
