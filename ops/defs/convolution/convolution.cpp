#include "ops/defs/convolution/convolution.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/defs/convolution/conv_inputs.hpp"
#include "ops/reference/convolution/convolution.hpp"

namespace terroir::ops {
namespace {

template <bool Grouped>
void infer_convolution(ir::InferContext& ctx) {
  constexpr WeightsLayout layout{Grouped, false};
  const auto& attrs = ctx.attrs<ConvolutionAttrs>();
  const element::Type type = conv_type(ctx);
  const auto spatial_rank = conv_spatial_rank(ctx, layout, attrs.strides);
  if (!spatial_rank) return ctx.set_output(0, type, PartialShape::dynamic());

  const WindowSteps steps = read_window(attrs.window(), *spatial_rank);
  PartialShape output{ctx.shape(0).rank().is_static() ? ctx.shape(0)[0] : Dimension(), conv_out_channels(ctx, layout)};
  for (size_t i = 0; i < *spatial_rank; ++i)
    output.push_back(window_output(spatial_extent(ctx.shape(0), 2, i),
                                   spatial_extent(ctx.shape(1), layout.outer_rank(), i), steps.axes[i], steps.auto_pad,
                                   steps.rounding, i));
  ctx.set_output(0, type, std::move(output));
}

template <bool Grouped>
void evaluate_convolution(const ir::EvalContext& ctx) {
  const ConvGeometry geometry =
      conv_geometry(ctx.attrs<ConvolutionAttrs>(), ctx.inputs[0].dims, ctx.inputs[1].dims, Grouped);
  reference::convolution(geometry, ctx.inputs[0], ctx.inputs[1], ctx.outputs[0]);
}

template <bool Grouped>
ir::OpSchema convolution_schema() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<ConvolutionAttrs>;
  schema.infer = &infer_convolution<Grouped>;
  schema.reference = &evaluate_convolution<Grouped>;
  return schema;
}

}  // namespace

ConvGeometry conv_geometry(const ConvolutionAttrs& attrs, const ir::Dims& data, const ir::Dims& weights, bool grouped) {
  const size_t outer = grouped ? 3 : 2;
  if (data.size() < 3 || data.size() > 5 || weights.size() + 2 != data.size() + outer)
    throw_error(ErrorCode::shape_mismatch, "data ", data, " and weights ", weights, " are not those of a convolution");
  const size_t spatial_rank = data.size() - 2;
  ConvGeometry geometry{data[0], grouped ? weights[0] : 1, weights[outer - 1], weights[outer - 2],
                        std::vector<WindowAxis>(spatial_rank)};
  if (Dimension(data[1]) != Dimension(geometry.groups) * Dimension(geometry.in_channels))
    throw_error(ErrorCode::shape_mismatch, "data ", data, " and weights ", weights, " do not have the same channels");
  const WindowSteps steps = read_window(attrs.window(), spatial_rank);
  for (size_t i = 0; i < spatial_rank; ++i)
    geometry.axes[i] =
        resolve_window(data[2 + i], weights[outer + i], steps.axes[i], steps.auto_pad, steps.rounding, i);
  return geometry;
}

ir::OpSchema convolution_1() { return convolution_schema<false>(); }
ir::OpSchema group_convolution_1() { return convolution_schema<true>(); }

}  // namespace terroir::ops
