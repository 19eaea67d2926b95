#include "ops/defs/terroir1/qlinear_conv.hpp"

#include <algorithm>

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

constexpr const char* kNames[] = {
    "x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "B"};

bool is_byte(element::Type type) { return type.is_dynamic() || type == element::u8 || type == element::i8; }

void check_types(const ir::InferContext& ctx) {
  for (const int input : {kQX, kQW, kQYZero})
    ctx.require(is_byte(ctx.type(input)), kNames[input], " must be of type u8 or i8, got ", ctx.type(input));
  for (const auto& [tensor, zero] : {std::pair{kQX, kQXZero}, std::pair{kQW, kQWZero}})
    ctx.require(ctx.type(tensor).compatible(ctx.type(zero)), kNames[zero], " must have the type ", ctx.type(tensor),
                " of ", kNames[tensor], ", got ", ctx.type(zero));
  for (const int input : {kQXScale, kQWScale, kQYScale})
    ctx.require(ctx.type(input).compatible(element::f32), kNames[input], " must be of type f32, got ", ctx.type(input));
  if (ctx.input_count() > kQBias)
    ctx.require(ctx.type(kQBias).compatible(element::i32), "B must be of type i32, got ", ctx.type(kQBias));
}

/// Scale and zero point of a tensor, of one shape: a scalar, one element or, `per_channel`, one per output channel,
/// which refines `channels`.
void check_quantisation(const ir::InferContext& ctx, int scale, int zero, bool per_channel, Dimension& channels) {
  PartialShape shape = ctx.shape(scale);
  if (!PartialShape::merge_into(shape, ctx.shape(zero)))
    throw_error(ErrorCode::shape_mismatch, kNames[scale], " and ", kNames[zero], " must have one shape, got ",
                ctx.shape(scale), " and ", ctx.shape(zero));
  if (shape.rank().is_dynamic()) return;
  if (shape.rank().get_length() == 0) return;
  const char* wanted = per_channel ? " must be a scalar or have one element or one per output channel, got shape "
                                   : " must be a scalar or have one element, got shape ";
  ctx.require(shape.rank().get_length() == 1, kNames[scale], wanted, shape);
  if (shape[0].compatible(1)) return;
  ctx.require(per_channel && Dimension::merge(channels, channels, shape[0]), kNames[scale], wanted, shape,
              per_channel ? " for " : "", per_channel ? channels.to_string() : "", per_channel ? " channels" : "");
}

/// From whatever tells it: the ranks of x and w, else the lists; empty when nothing does.
std::optional<size_t> spatial_rank_of(const ir::InferContext& ctx, const QLinearConvAttrs& attrs) {
  std::optional<size_t> rank;
  for (const int input : {kQX, kQW}) {
    if (ctx.shape(input).rank().is_dynamic()) continue;
    require_rank(ctx, input, kNames[input], 3, 5);
    const auto own = static_cast<size_t>(ctx.shape(input).rank().get_length()) - 2;
    if (rank && *rank != own)
      throw_error(ErrorCode::shape_mismatch, "x ", ctx.shape(kQX), " needs w of its own rank, got ", ctx.shape(kQW));
    rank = own;
  }
  if (rank) return rank;
  for (const auto* list : {&attrs.strides, &attrs.dilations, &attrs.pads_begin, &attrs.pads_end, &attrs.kernel_shape})
    if (!list->empty()) {
      ctx.require(list->size() <= 3, "there are 1 to 3 spatial axes, got a list of ", list->size(), " entries");
      return list->size();
    }
  return {};
}

void check_attributes(const QLinearConvAttrs& attrs) {
  if (attrs.group < 1 || attrs.group > INT32_MAX)
    throw_error(ErrorCode::invalid_argument, "group must be positive, got ", attrs.group);
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  for (const auto* pads : {&attrs.pads_begin, &attrs.pads_end})
    if (attrs.padding() != AutoPad::explicit_pads && !std::all_of(pads->begin(), pads->end(), is_zero))
      throw_error(ErrorCode::invalid_argument, "pads and auto_pad cannot both be given, got the pads ", *pads);
}

void infer_qlinear_conv(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<QLinearConvAttrs>();
  check_types(ctx);
  check_attributes(attrs);
  const element::Type type = ctx.type(kQYZero);
  const auto spatial_rank = spatial_rank_of(ctx, attrs);

  const PartialShape &x = ctx.shape(kQX), &w = ctx.shape(kQW);
  const Dimension in = x.rank().is_static() ? x[1] : Dimension();
  Dimension out = w.rank().is_static() ? w[0] : Dimension();
  Dimension unused;
  check_quantisation(ctx, kQXScale, kQXZero, false, unused);
  check_quantisation(ctx, kQYScale, kQYZero, false, unused);
  check_quantisation(ctx, kQWScale, kQWZero, true, out);
  if (ctx.input_count() > kQBias && ctx.shape(kQBias).rank().is_static()) {
    const PartialShape& bias = ctx.shape(kQBias);
    ctx.require(bias.rank().get_length() == 1 && Dimension::merge(out, out, bias[0]),
                "B must have one element per output channel (", out, "), got shape ", bias);
  }
  if (w.rank().is_static() && !in.compatible(w[1] * attrs.group))
    throw_error(ErrorCode::shape_mismatch, "x has ", in, " channels, but w ", w, " is for ", attrs.group, " groups of ",
                w[1]);
  for (const Dimension& channels : {in, out})
    ctx.require(channels.is_dynamic() || channels.get_length() % attrs.group == 0, "group ", attrs.group,
                " does not divide the ", in, " channels of x and the ", out, " of w");
  const auto x_scale = ctx.value(kQXScale), w_scale = ctx.value(kQWScale), y_scale = ctx.value(kQYScale);
  if (x_scale && w_scale && y_scale) reference::qlinear_multipliers(*x_scale, *w_scale, *y_scale, w_scale->count());

  if (!spatial_rank) return ctx.set_output(0, type, PartialShape::dynamic());
  const WindowSteps steps = read_window(attrs.window(), *spatial_rank);
  const auto wanted_kernel = per_axis("kernel_shape", attrs.kernel_shape, *spatial_rank, 0, 1);
  PartialShape output{x.rank().is_static() ? x[0] : Dimension(), out};
  for (size_t i = 0; i < *spatial_rank; ++i) {
    const auto axis = static_cast<std::ptrdiff_t>(2 + i);
    Dimension kernel = w.rank().is_static() ? w[axis] : Dimension();
    if (wanted_kernel[i] > 0)
      ctx.require(Dimension::merge(kernel, kernel, Dimension(wanted_kernel[i])), "kernel_shape ", attrs.kernel_shape,
                  " is not that of w ", w);
    output.push_back(window_output(x.rank().is_static() ? x[axis] : Dimension(), kernel, steps.axes[i], steps.auto_pad,
                                   steps.rounding, i));
  }
  ctx.set_output(0, type, std::move(output));
}

void evaluate_qlinear_conv(const ir::EvalContext& ctx) {
  const auto& in = ctx.inputs;
  const ConvGeometry geometry = qlinear_conv_geometry(ctx.attrs<QLinearConvAttrs>(), in[kQX].dims, in[kQW].dims);
  reference::qlinear_conv(geometry,
                          {in[kQX], in[kQXScale], in[kQXZero], in[kQW], in[kQWScale], in[kQWZero], in[kQYScale],
                           in[kQYZero], in.size() > kQBias ? &in[kQBias] : nullptr},
                          ctx.outputs[0]);
}

}  // namespace

ConvGeometry qlinear_conv_geometry(const QLinearConvAttrs& attrs, const ir::Dims& x, const ir::Dims& w) {
  check_attributes(attrs);
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size() || w[0] % attrs.group != 0 ||
      Dimension(x[1]) != Dimension(w[1]) * attrs.group)
    throw_error(ErrorCode::shape_mismatch, "x ", x, " and w ", w, " are not those of a convolution with ", attrs.group,
                " groups");
  const size_t spatial_rank = x.size() - 2;
  ConvGeometry geometry{x[0], attrs.group, w[1], w[0] / attrs.group, std::vector<WindowAxis>(spatial_rank)};
  const WindowSteps steps = read_window(attrs.window(), spatial_rank);
  for (size_t i = 0; i < spatial_rank; ++i)
    geometry.axes[i] = resolve_window(x[2 + i], w[2 + i], steps.axes[i], steps.auto_pad, steps.rounding, i);
  return geometry;
}

ir::OpSchema terroir1_qlinear_conv() {
  ir::OpSchema schema;
  schema.arity = {8, 9, 1};
  schema.make_attributes = &ir::make_attributes<QLinearConvAttrs>;
  schema.infer = &infer_qlinear_conv;
  schema.reference = &evaluate_qlinear_conv;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
