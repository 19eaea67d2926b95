#include "ops/defs/detection/prior_box.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void require_positive(const ir::InferContext& ctx, const char* name, const std::vector<double>& values, double most) {
  for (size_t i = 0; i < values.size(); ++i)
    ctx.require(values[i] > 0 && values[i] <= most, name, "[", i, "] must be positive and at most ", most, ", got ",
                values[i]);
}

void require_variance(const ir::InferContext& ctx, const std::vector<double>& variance) {
  ctx.require(variance.empty() || variance.size() == 1 || variance.size() == 4,
              "variance must have 0, 1 or 4 elements, got ", variance.size());
}

void set_boxes(ir::InferContext& ctx, int64_t per_cell) {
  constexpr const char* kNames[] = {"output_size", "image_size"};
  for (int i = 0; i < 2; ++i) {
    require_rank(ctx, i, kNames[i], 1, 1);
    const auto length = known_length(ctx, i);
    ctx.require(!length || *length == 2, kNames[i], " (input ", i, ") must have 2 elements, got ", length.value_or(0));
  }
  if (const auto size = ctx.integers(0))
    for (int64_t extent : *size) ctx.require(extent >= 0, "output_size must not be negative, got ", *size);
  Dimension numbers;
  if (const auto size = ctx.dimensions(0); size && size->size() == 2)
    numbers = product({Dimension(4), (*size)[0], (*size)[1], Dimension(per_cell)});
  ctx.set_output(0, element::f32, PartialShape{2, numbers});
}

void infer(ir::InferContext& ctx, const reference::PriorBoxParams& params) {
  constexpr double kLargestSize = 1e9;
  constexpr double kLargestDensity = 256;
  constexpr size_t kMostSizes = 4096;
  require_positive(ctx, "min_size", params.min_size, kLargestSize);
  require_positive(ctx, "max_size", params.max_size, kLargestSize);
  require_positive(ctx, "fixed_size", params.fixed_size, kLargestSize);
  require_positive(ctx, "aspect_ratio", params.aspect_ratio, kLargestSize);
  require_positive(ctx, "fixed_ratio", params.fixed_ratio, kLargestSize);
  require_positive(ctx, "density", params.density, kLargestDensity);
  require_variance(ctx, params.variance);
  ctx.require(params.fixed_size.empty() || params.fixed_size.size() == params.density.size(),
              "density must have one element for each of the ", params.fixed_size.size(), " of fixed_size, got ",
              params.density.size());
  // Keeps a damaged file from asking for memory without bounds.
  for (const auto* list : {&params.min_size, &params.fixed_size, &params.aspect_ratio, &params.fixed_ratio})
    ctx.require(list->size() <= kMostSizes, "lists of sizes and ratios may have ", kMostSizes, " elements, got ",
                list->size());
  set_boxes(ctx, reference::prior_count(params));
}

template <class Attrs>
ir::OpSchema prior_box_schema() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = [](ir::InferContext& ctx) { infer(ctx, ctx.attrs<Attrs>()); };
  schema.reference = [](const ir::EvalContext& ctx) { reference::prior_box(ctx, ctx.attrs<Attrs>()); };
  return schema;
}

}  // namespace

ir::OpSchema prior_box_1() { return prior_box_schema<PriorBoxAttrs>(); }
ir::OpSchema prior_box_8() { return prior_box_schema<PriorBox8Attrs>(); }

ir::OpSchema prior_box_clustered_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<PriorBoxClusteredAttrs>;
  schema.infer = [](ir::InferContext& ctx) {
    const auto& attrs = ctx.attrs<PriorBoxClusteredAttrs>();
    ctx.require(attrs.width.size() == attrs.height.size(), "width and height must have one length, got ",
                attrs.width.size(), " and ", attrs.height.size());
    require_variance(ctx, attrs.variance);
    set_boxes(ctx, static_cast<int64_t>(attrs.width.size()));
  };
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::prior_box_clustered(ctx, ctx.attrs<PriorBoxClusteredAttrs>());
  };
  return schema;
}

}  // namespace terroir::ops
