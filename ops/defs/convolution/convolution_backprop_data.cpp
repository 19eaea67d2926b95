#include "ops/defs/convolution/convolution_backprop_data.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/defs/convolution/conv_inputs.hpp"
#include "ops/reference/convolution/convolution_backprop_data.hpp"

namespace terroir::ops {
namespace {

/// Spatial extents from input 2, as far as they are known.
std::vector<Dimension> requested_extents(ir::InferContext& ctx, size_t spatial_rank) {
  ctx.require(ctx.type(2).is_dynamic() || ctx.type(2).is_integral_number(),
              "output_shape must be of an integer type, got ", ctx.type(2));
  const PartialShape wanted{static_cast<int64_t>(spatial_rank)};
  if (!ctx.shape(2).compatible(wanted))
    throw_error(ErrorCode::shape_mismatch, "output_shape must have the shape ", wanted, ", got ", ctx.shape(2));
  if (const auto values = ctx.integers(2)) {
    for (size_t i = 0; i < values->size(); ++i)
      ctx.require((*values)[i] >= 0, "output_shape[", i, "] must be non-negative, got ", (*values)[i]);
    return {values->begin(), values->end()};
  }
  const auto partial = ctx.dimensions(2);
  return partial && partial->size() == spatial_rank ? *partial : std::vector<Dimension>(spatial_rank);
}

template <bool Grouped>
void infer_backprop(ir::InferContext& ctx) {
  constexpr WeightsLayout layout{Grouped, true};
  const auto& attrs = ctx.attrs<ConvolutionBackpropDataAttrs>();
  const element::Type type = conv_type(ctx);
  const auto spatial_rank = conv_spatial_rank(ctx, layout, attrs.strides);
  if (!spatial_rank) return ctx.set_output(0, type, PartialShape::dynamic());

  const WindowSteps steps = read_window(attrs.window(), *spatial_rank);
  PartialShape output{ctx.shape(0).rank().is_static() ? ctx.shape(0)[0] : Dimension(), conv_out_channels(ctx, layout)};
  if (ctx.input_count() == 3) {
    for (size_t i = 0; i < *spatial_rank; ++i) {
      const Dimension kernel = spatial_extent(ctx.shape(1), layout.outer_rank(), i);
      ctx.require(kernel.is_dynamic() || kernel.get_length() > 0, "the kernel extent of spatial axis ", i,
                  " must be positive, got ", kernel);
    }
    for (const Dimension& extent : requested_extents(ctx, *spatial_rank)) output.push_back(extent);
  } else {
    for (size_t i = 0; i < *spatial_rank; ++i)
      output.push_back(backward_window_output(spatial_extent(ctx.shape(0), 2, i),
                                              spatial_extent(ctx.shape(1), layout.outer_rank(), i), steps.axes[i],
                                              steps.auto_pad, i));
  }
  ctx.set_output(0, type, std::move(output));
}

template <bool Grouped>
void evaluate_backprop(const ir::EvalContext& ctx) {
  const ir::Dims& dst = ctx.outputs[0].dims;
  // The output was allocated for the requested extents, so they are read from it.
  std::vector<int64_t> extents;
  if (ctx.inputs.size() == 3) extents.assign(dst.begin() + 2, dst.end());
  const ConvGeometry geometry =
      conv_backprop_geometry(ctx.attrs<ConvolutionBackpropDataAttrs>(), ctx.inputs[0].dims, ctx.inputs[1].dims, Grouped,
                             ctx.inputs.size() == 3 ? &extents : nullptr);
  reference::convolution_backprop_data(geometry, ctx.inputs[0], ctx.inputs[1], ctx.outputs[0]);
}

template <bool Grouped>
ir::OpSchema backprop_schema() {
  ir::OpSchema schema;
  schema.arity = {2, 3, 1};
  schema.make_attributes = &ir::make_attributes<ConvolutionBackpropDataAttrs>;
  schema.infer = &infer_backprop<Grouped>;
  schema.reference = &evaluate_backprop<Grouped>;
  return schema;
}

}  // namespace

ConvGeometry conv_backprop_geometry(const ConvolutionBackpropDataAttrs& attrs, const ir::Dims& data,
                                    const ir::Dims& weights, bool grouped, const std::vector<int64_t>* output_shape) {
  const size_t outer = grouped ? 3 : 2;
  if (data.size() < 3 || data.size() > 5 || weights.size() + 2 != data.size() + outer)
    throw_error(ErrorCode::shape_mismatch, "data ", data, " and weights ", weights, " are not those of a convolution");
  const size_t spatial_rank = data.size() - 2;
  ConvGeometry geometry{data[0], grouped ? weights[0] : 1, weights[outer - 2], weights[outer - 1],
                        std::vector<WindowAxis>(spatial_rank)};
  if (Dimension(data[1]) != Dimension(geometry.groups) * Dimension(geometry.in_channels))
    throw_error(ErrorCode::shape_mismatch, "data ", data, " and weights ", weights, " do not have the same channels");
  if (output_shape && output_shape->size() != spatial_rank)
    throw_error(ErrorCode::shape_mismatch, "output_shape must have ", spatial_rank, " elements, got ", *output_shape);
  const WindowSteps steps = read_window(attrs.window(), spatial_rank);
  for (size_t i = 0; i < spatial_rank; ++i) {
    const int64_t input = data[2 + i], kernel = weights[outer + i];
    const WindowStep& step = steps.axes[i];
    if (!output_shape)
      geometry.axes[i] = resolve_backward_window(input, kernel, step, steps.auto_pad, i);
    else if (steps.auto_pad == AutoPad::same_upper || steps.auto_pad == AutoPad::same_lower)
      geometry.axes[i] = resolve_backward_window_to((*output_shape)[i], input, kernel, step, steps.auto_pad);
    else
      geometry.axes[i] = resolve_backward_window_cut((*output_shape)[i], input, kernel, step, i);
  }
  return geometry;
}

ir::OpSchema convolution_backprop_data_1() { return backprop_schema<false>(); }
ir::OpSchema group_convolution_backprop_data_1() { return backprop_schema<true>(); }

}  // namespace terroir::ops
