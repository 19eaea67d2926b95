#include "ops/defs/movement/extract_image_patches.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/rearrange.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

// Far beyond any image; keeps index arithmetic inside 64 bits.
constexpr int64_t kMostInPatch = int64_t{1} << 24;

int64_t reach(const ExtractImagePatchesAttrs& attrs, size_t k) { return (attrs.sizes[k] - 1) * attrs.rates[k] + 1; }

int64_t window_count(const ExtractImagePatchesAttrs& attrs, size_t k, int64_t extent) {
  if (attrs.auto_pad == PatchPad::valid)
    return extent < reach(attrs, k) ? 0 : (extent - reach(attrs, k)) / attrs.strides[k] + 1;
  return extent / attrs.strides[k] + (extent % attrs.strides[k] != 0);
}

void infer_extract_image_patches(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<ExtractImagePatchesAttrs>();
  const std::pair<const char*, const std::vector<int64_t>*> lists[] = {
      {"sizes", &attrs.sizes}, {"strides", &attrs.strides}, {"rates", &attrs.rates}};
  for (const auto& [name, list] : lists) {
    ctx.require(list->size() == 2, name, " must have 2 elements, got ", list->size());
    for (const int64_t value : *list)
      ctx.require(value >= 1 && value <= kMostInPatch, name, " must be in [1, ", kMostInPatch, "], got ", value);
  }
  require_rank(ctx, 0, "data", 4, 4);
  const PartialShape data = ctx.shape(0).rank().is_static() ? ctx.shape(0) : PartialShape::dynamic(4);
  PartialShape output{data[0], times(times(data[1], attrs.sizes[0]), attrs.sizes[1]), 0, 0};
  for (size_t k = 0; k < 2; ++k) {
    const Dimension& extent = data[static_cast<std::ptrdiff_t>(k) + 2];
    output[static_cast<std::ptrdiff_t>(k) + 2] =
        Dimension(window_count(attrs, k, extent.get_min_length()),
                  extent.has_upper_bound() ? window_count(attrs, k, extent.get_max_length()) : -1);
  }
  ctx.set_output(0, ctx.type(0), std::move(output));
}

}  // namespace

reference::PatchParams patch_params(const ExtractImagePatchesAttrs& attrs, const ir::Dims& data) {
  reference::PatchParams params{};
  for (size_t k = 0; k < 2; ++k) {
    params.sizes[k] = attrs.sizes[k];
    params.strides[k] = attrs.strides[k];
    params.rates[k] = attrs.rates[k];
    if (attrs.auto_pad == PatchPad::valid) continue;
    const int64_t extent = data[k + 2];
    const int64_t needed = (window_count(attrs, k, extent) - 1) * attrs.strides[k] + reach(attrs, k);
    const int64_t pad = std::max<int64_t>(0, needed - extent);
    params.pads_begin[k] = attrs.auto_pad == PatchPad::same_upper ? pad / 2 : pad - pad / 2;
  }
  return params;
}

ir::OpSchema extract_image_patches_3() {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<ExtractImagePatchesAttrs>;
  schema.infer = &infer_extract_image_patches;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::extract_image_patches(ctx, patch_params(ctx.attrs<ExtractImagePatchesAttrs>(), ctx.inputs[0].dims));
  };
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
