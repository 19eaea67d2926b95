#include "ops/defs/convolution/deformable_convolution.hpp"

#include "ops/defs/convolution/conv_inputs.hpp"
#include "ops/reference/convolution/deformable_convolution.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

Dimension extent_of(const PartialShape& shape, std::ptrdiff_t axis) {
  return shape.rank().is_static() ? shape[axis] : Dimension();
}

/// Offsets or mask must have the batch of data, `per_kernel` channels for each kernel element, and the output's
/// extents. What they know refines the output.
void check_field(const ir::InferContext& ctx, int input, const char* name, const Dimension& channels,
                 PartialShape& output) {
  const PartialShape& shape = ctx.shape(input);
  if (shape.rank().is_dynamic()) return;
  ctx.require(shape[1].compatible(channels), name, " (input ", input, ") must have ", channels,
              " channels (deformable groups times kernel elements), got shape ", shape);
  for (const std::ptrdiff_t axis : {0, 2, 3})
    ctx.require(Dimension::merge(output[axis], output[axis], shape[axis]), name, " (input ", input, ") of shape ",
                shape, " does not match the output ", output, " on axis ", axis);
}

template <class Attrs>
void infer_deformable(ir::InferContext& ctx) {
  const Attrs& attrs = ctx.attrs<Attrs>();
  element::Type type = ctx.type(0);
  const char* names[] = {"data", "offsets", "weights", "mask"};
  for (int input = 0; input < ctx.input_count(); ++input) {
    ctx.require(element::Type::merge(type, type, ctx.type(input)), names[input], " (input ", input,
                ") must have the type ", type, " of data, got ", ctx.type(input));
    require_rank(ctx, input, names[input], 4, 4);
  }
  ctx.require(attrs.group > 0 && attrs.group <= INT32_MAX, "group must be positive, got ", attrs.group);
  ctx.require(attrs.deformable_group > 0 && attrs.deformable_group <= INT32_MAX,
              "deformable_group must be positive, got ", attrs.deformable_group);

  const PartialShape &data = ctx.shape(0), &weights = ctx.shape(2);
  const Dimension channels = extent_of(data, 1), outputs = extent_of(weights, 0);
  const auto divides = [](int64_t groups, const Dimension& d) {
    return d.is_dynamic() || d.get_length() % groups == 0;
  };
  ctx.require(divides(attrs.group, channels) && divides(attrs.group, outputs), "group ", attrs.group,
              " does not divide the ", channels, " channels of data and the ", outputs, " of weights");
  ctx.require(divides(attrs.deformable_group, channels), "deformable_group ", attrs.deformable_group,
              " does not divide the ", channels, " channels of data");
  ctx.require(channels.compatible(extent_of(weights, 1) * attrs.group), "data has ", channels,
              " channels, but weights ", weights, " are for ", attrs.group, " groups of ", extent_of(weights, 1));

  const WindowSteps steps = read_window(attrs.window(), 2);
  PartialShape output{extent_of(data, 0), outputs};
  for (size_t i = 0; i < 2; ++i)
    output.push_back(window_output(spatial_extent(data, 2, i), spatial_extent(weights, 2, i), steps.axes[i],
                                   steps.auto_pad, steps.rounding, i));
  const Dimension samples = extent_of(weights, 2) * extent_of(weights, 3) * attrs.deformable_group;
  check_field(ctx, 1, "offsets", samples * 2, output);
  if (ctx.input_count() == 4) check_field(ctx, 3, "mask", samples, output);
  ctx.set_output(0, type, std::move(output));
}

template <class Attrs>
void evaluate_deformable(const ir::EvalContext& ctx) {
  const Attrs& attrs = ctx.attrs<Attrs>();
  const ConvGeometry geometry = deformable_geometry(attrs, ctx.inputs[0].dims, ctx.inputs[2].dims);
  reference::DeformableInputs inputs{ctx.inputs[0], ctx.inputs[1], ctx.inputs[2],
                                     ctx.inputs.size() == 4 ? &ctx.inputs[3] : nullptr};
  reference::deformable_convolution(geometry, attrs.deformable_group, attrs.bilinear_interpolation_pad, inputs,
                                    ctx.outputs[0]);
}

template <class Attrs>
ir::OpSchema deformable_schema(int max_inputs) {
  ir::OpSchema schema;
  schema.arity = {3, max_inputs, 1};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = &infer_deformable<Attrs>;
  schema.reference = &evaluate_deformable<Attrs>;
  return schema;
}

}  // namespace

ConvGeometry deformable_geometry(const DeformableConvolutionAttrs& attrs, const ir::Dims& data,
                                 const ir::Dims& weights) {
  if (data.size() != 4 || weights.size() != 4 || attrs.group < 1 || weights[0] % attrs.group != 0)
    throw_error(ErrorCode::shape_mismatch, "data ", data, " and weights ", weights,
                " are not those of a deformable convolution with ", attrs.group, " groups");
  ConvGeometry geometry{data[0], attrs.group, weights[1], weights[0] / attrs.group, std::vector<WindowAxis>(2)};
  const WindowSteps steps = read_window(attrs.window(), 2);
  for (size_t i = 0; i < 2; ++i)
    geometry.axes[i] = resolve_window(data[2 + i], weights[2 + i], steps.axes[i], steps.auto_pad, steps.rounding, i);
  return geometry;
}

ir::OpSchema deformable_convolution_1() { return deformable_schema<DeformableConvolutionAttrs>(3); }
ir::OpSchema deformable_convolution_8() { return deformable_schema<DeformableConvolution8Attrs>(4); }

}  // namespace terroir::ops
