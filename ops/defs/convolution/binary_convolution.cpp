#include "ops/defs/convolution/binary_convolution.hpp"

#include "ops/defs/convolution/conv_inputs.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "ops/reference/convolution/binary_convolution.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

constexpr WeightsLayout kLayout{false, false};

void infer_binary_convolution(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<BinaryConvolutionAttrs>();
  ctx.require(ctx.type(1).is_dynamic() || ctx.type(1) == element::u1, "weights must be of type u1, got ", ctx.type(1));
  require_rank(ctx, 0, "data", 4, 4);
  require_rank(ctx, 1, "weights", 4, 4);
  const WindowSteps steps = read_window(attrs.window(), 2);
  PartialShape output{ctx.shape(0).rank().is_static() ? ctx.shape(0)[0] : Dimension(), conv_out_channels(ctx, kLayout)};
  for (size_t i = 0; i < 2; ++i)
    output.push_back(window_output(spatial_extent(ctx.shape(0), 2, i), spatial_extent(ctx.shape(1), 2, i),
                                   steps.axes[i], steps.auto_pad, steps.rounding, i));
  ctx.set_output(0, ctx.type(0), std::move(output));
}

void evaluate_binary_convolution(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<BinaryConvolutionAttrs>();
  const ConvolutionAttrs plain{attrs.strides, attrs.dilations, attrs.pads_begin, attrs.pads_end, attrs.auto_pad};
  reference::binary_convolution(conv_geometry(plain, ctx.inputs[0].dims, ctx.inputs[1].dims, false), attrs.pad_value,
                                ctx.inputs[0], ctx.inputs[1], ctx.outputs[0]);
}

}  // namespace

ir::OpSchema binary_convolution_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<BinaryConvolutionAttrs>;
  schema.infer = &infer_binary_convolution;
  schema.reference = &evaluate_binary_convolution;
  return schema;
}

}  // namespace terroir::ops
