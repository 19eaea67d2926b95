#include "ops/defs/terroir1/convolution.hpp"

#include <algorithm>
#include <optional>

#include "ir/schema/infer_context.hpp"

namespace terroir::ops {
namespace {

// Which axis of data and result is what; `rank` is data's.
size_t channel_axis(const FullConvolutionAttrs& attrs, size_t rank) { return attrs.channels_last() ? rank - 1 : 1; }
size_t spatial_axis(const FullConvolutionAttrs& attrs, size_t i) { return attrs.channels_last() ? 1 + i : 2 + i; }

Dimension axis_of(const PartialShape& shape, size_t axis) {
  return shape.rank().is_static() ? shape[static_cast<std::ptrdiff_t>(axis)] : Dimension();
}

element::Type merged_element_type(const ir::InferContext& ctx) {
  element::Type type = ctx.type(0);
  const char* names[] = {"data", "filter", "bias"};
  for (int i = 0; i < ctx.input_count(); ++i)
    if (!element::Type::merge(type, type, ctx.type(i)))
      throw_error(ErrorCode::type_mismatch, names[i], " must have the type ", type, " of the inputs before it, got ",
                  ctx.type(i));
  ctx.require(type.is_dynamic() || type == element::f32 || type == element::f16,
              "data, filter and bias must be of type f32 or f16, got ", type);
  return type;
}

/// The rank of data, from whatever tells it: shapes of inputs, else lengths of attribute lists.
std::optional<size_t> data_rank(const ir::InferContext& ctx, const FullConvolutionAttrs& attrs) {
  std::optional<size_t> rank;
  const char* names[] = {"data", "filter", "bias"};
  for (int i = 0; i < ctx.input_count(); ++i) {
    const PartialShape& shape = ctx.shape(i);
    if (shape.rank().is_dynamic() || (i == 2 && shape.size() == 1)) continue;
    if (i < 2)
      ctx.require(shape.size() >= 3 && shape.size() <= 5, names[i], " must have rank 3 to 5, got the shape ", shape);
    if (rank && *rank != shape.size())
      throw_error(ErrorCode::shape_mismatch, names[i], i == 2 ? " must have rank 1 or " : " must have rank ", *rank,
                  ", as the inputs before it have; got the shape ", shape);
    ctx.require(shape.size() >= 3 && shape.size() <= 5, names[i], " must have rank 1 or 3 to 5, got the shape ", shape);
    rank = shape.size();
  }
  if (rank) return rank;
  for (const auto* list : {&attrs.strides, &attrs.dilations, &attrs.pads_begin, &attrs.pads_end, &attrs.output_padding,
                           &attrs.output_shape, &attrs.kernel_shape}) {
    if (list->empty()) continue;
    ctx.require(list->size() <= 3, "attributes must have 1 to 3 entries, one per spatial axis, got ", *list);
    return list->size() + 2;
  }
  return {};
}

/// Channels of the result; Exception when those of data, filter, bias and group contradict.
Dimension out_channels(const ir::InferContext& ctx, const FullConvolutionAttrs& attrs, size_t rank) {
  const PartialShape &data = ctx.shape(0), &filter = ctx.shape(1);
  const Dimension in = axis_of(data, channel_axis(attrs, rank)), first = axis_of(filter, 0),
                  second = axis_of(filter, 1);
  const Dimension of_filter = attrs.backward() ? first : second * attrs.group;
  if (!in.compatible(of_filter))
    throw_error(ErrorCode::shape_mismatch, "data ", data, " has ", in, " channels, but the filter ", filter, " is for ",
                of_filter,
                attrs.group > 1 && !attrs.backward() ? concat(" (", attrs.group, " groups)") : std::string());
  if (first.is_static() && first.get_length() % attrs.group != 0)
    throw_error(ErrorCode::shape_mismatch, "extent 0 of the filter ", filter, " is not a multiple of group ",
                attrs.group);
  Dimension out = attrs.backward() ? second * attrs.group : first;
  if (in.is_static() && in.get_length() % attrs.group != 0)
    throw_error(ErrorCode::shape_mismatch, "the ", in, " channels of data ", data, " are not a multiple of group ",
                attrs.group);
  if (ctx.input_count() < 3 || ctx.shape(2).rank().is_dynamic()) return out;
  const PartialShape& bias = ctx.shape(2);
  const size_t axis = bias.size() == 1 ? 0 : channel_axis(attrs, rank);
  for (size_t i = 0; i < bias.size(); ++i)
    if (i == axis ? !Dimension::merge(out, out, axis_of(bias, i)) : !axis_of(bias, i).compatible(1))
      throw_error(ErrorCode::shape_mismatch, "bias must have the shape [", out, "], or rank ", rank, " with ", out,
                  " on axis ", channel_axis(attrs, rank), " and 1 elsewhere; got ", bias);
  return out;
}

void check_lists(const ir::InferContext& ctx, const FullConvolutionAttrs& attrs, size_t spatial_rank) {
  ctx.require(attrs.output_shape.empty() || attrs.backward(),
              "output_shape is for direction=backward; the extents of a forward convolution follow from the pads");
  per_axis("output_shape", attrs.output_shape, spatial_rank, 1, 1);
  const std::vector<int64_t> kernel = per_axis("kernel_shape", attrs.kernel_shape, spatial_rank, 1, 1);
  for (size_t i = 0; i < spatial_rank && !attrs.kernel_shape.empty(); ++i)
    if (!axis_of(ctx.shape(1), 2 + i).compatible(kernel[i]))
      throw_error(ErrorCode::shape_mismatch, "kernel_shape ", attrs.kernel_shape, " is not that of the filter ",
                  ctx.shape(1));
}

/// kernel - stride + output_padding elements are too many when the result is to be stride times as long as data.
WindowStep same_step_of_any_kernel(const WindowStep& step) {
  WindowStep whole;
  whole.stride = step.stride;
  whole.output_padding = step.stride - 1;
  return whole;
}

Dimension backward_extent(const FullConvolutionAttrs& attrs, const Dimension& input, const Dimension& kernel,
                          const WindowSteps& steps, size_t i) {
  if (kernel.is_static() && kernel.get_length() < 1)
    throw_error(ErrorCode::invalid_argument, "the kernel extent of spatial axis ", i, " must be positive, got ",
                kernel);
  if (!attrs.output_shape.empty()) return attrs.output_shape[i];
  const bool same = steps.auto_pad == AutoPad::same_upper || steps.auto_pad == AutoPad::same_lower;
  if (same) return backward_window_output(input, 1, same_step_of_any_kernel(steps.axes[i]), AutoPad::explicit_pads, i);
  return backward_window_output(input, kernel, steps.axes[i], steps.auto_pad, i);
}

void infer_full_convolution(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<FullConvolutionAttrs>();
  const element::Type type = merged_element_type(ctx);
  ctx.require(attrs.group > 0 && attrs.group <= INT32_MAX, "group must be positive, got ", attrs.group);
  bind_activation(attrs.activation, attrs.activation_params);
  const auto rank = data_rank(ctx, attrs);
  if (!rank) return ctx.set_output(0, type, PartialShape::dynamic());

  const size_t spatial_rank = *rank - 2;
  check_lists(ctx, attrs, spatial_rank);
  const WindowSteps steps = read_window(attrs.window(), spatial_rank);
  PartialShape output{std::vector<Dimension>(*rank)};
  output[0] = axis_of(ctx.shape(0), 0);
  output[static_cast<std::ptrdiff_t>(channel_axis(attrs, *rank))] = out_channels(ctx, attrs, *rank);
  for (size_t i = 0; i < spatial_rank; ++i) {
    const Dimension input = axis_of(ctx.shape(0), spatial_axis(attrs, i)), kernel = axis_of(ctx.shape(1), 2 + i);
    output[static_cast<std::ptrdiff_t>(spatial_axis(attrs, i))] =
        attrs.backward() ? backward_extent(attrs, input, kernel, steps, i)
                         : window_output(input, kernel, steps.axes[i], steps.auto_pad, steps.rounding, i) +
                               steps.axes[i].output_padding;
  }
  ctx.set_output(0, type, std::move(output));
}

void evaluate_full_convolution(const ir::EvalContext& ctx) {
  const auto problem = full_convolution(ctx.attrs<FullConvolutionAttrs>(), ctx.inputs[0].dims, ctx.inputs[1].dims);
  reference::full_convolution(problem, ctx.inputs[0], ctx.inputs[1], ctx.inputs.size() == 3 ? &ctx.inputs[2] : nullptr,
                              ctx.outputs[0]);
}

WindowAxis resolve_backward(const FullConvolutionAttrs& attrs, int64_t input, int64_t kernel, const WindowStep& step,
                            AutoPad auto_pad, size_t i) {
  if (!attrs.output_shape.empty())
    return resolve_backward_window_to(attrs.output_shape[i], input, kernel, step, auto_pad);
  if (auto_pad != AutoPad::same_upper && auto_pad != AutoPad::same_lower)
    return resolve_backward_window(input, kernel, step, auto_pad, i);
  return resolve_backward_window(input, kernel, backward_same_step(step, auto_pad, kernel, i), AutoPad::explicit_pads,
                                 i);
}

}  // namespace

WindowStep backward_same_step(WindowStep step, AutoPad auto_pad, int64_t kernel, size_t axis) {
  // One element of data gives a result of `stride` elements out of a full one of dilated kernel + output_padding.
  WindowStep unpadded = step;
  unpadded.pad_begin = unpadded.pad_end = 0;
  const int64_t full = resolve_backward_window(1, kernel, unpadded, AutoPad::explicit_pads, axis).output;
  const int64_t total = full - step.stride;
  if (total < 0) {
    step.pad_begin = step.pad_end = 0;
    step.output_padding -= total;
    return step;
  }
  // Here the odd element is at the end for same_upper; with output_shape the equations say the opposite.
  step.pad_begin = auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
  step.pad_end = total - step.pad_begin;
  return step;
}

reference::FullConvolution full_convolution(const FullConvolutionAttrs& attrs, const ir::Dims& data,
                                            const ir::Dims& filter) {
  const size_t rank = data.size();
  if (rank < 3 || rank > 5 || filter.size() != rank || attrs.group < 1 || filter[0] % attrs.group != 0)
    throw_error(ErrorCode::shape_mismatch, "data ", data, " and filter ", filter, " are not those of a convolution of ",
                attrs.group, " groups");
  const int64_t within = filter[0] / attrs.group;
  reference::FullConvolution problem;
  problem.backward = attrs.backward();
  problem.flipped = attrs.mode == ConvolutionMode::convolution;
  problem.channels_last = attrs.channels_last();
  problem.activation = bind_activation(attrs.activation, attrs.activation_params);
  problem.geometry = {data[0], attrs.group, attrs.backward() ? within : filter[1],
                      attrs.backward() ? filter[1] : within, std::vector<WindowAxis>(rank - 2)};
  if (Dimension(data[channel_axis(attrs, rank)]) != Dimension(attrs.group) * Dimension(problem.geometry.in_channels))
    throw_error(ErrorCode::shape_mismatch, "data ", data, " and filter ", filter, " do not have the same channels");
  const WindowSteps steps = read_window(attrs.window(), rank - 2);
  for (size_t i = 0; i < rank - 2; ++i) {
    const int64_t input = data[spatial_axis(attrs, i)], kernel = filter[2 + i];
    problem.geometry.axes[i] = attrs.backward()
                                   ? resolve_backward(attrs, input, kernel, steps.axes[i], steps.auto_pad, i)
                                   : resolve_window(input, kernel, steps.axes[i], steps.auto_pad, steps.rounding, i);
  }
  return problem;
}

ir::OpSchema terroir1_convolution() {
  ir::OpSchema schema;
  schema.arity = {2, 3, 1};
  schema.make_attributes = &ir::make_attributes<FullConvolutionAttrs>;
  schema.infer = &infer_full_convolution;
  schema.reference = &evaluate_full_convolution;
  return schema;
}

}  // namespace terroir::ops
