// What: NV12toRGB-8, NV12toBGR-8, I420toRGB-8, I420toBGR-8: conversion of camera images to colours.
// Shapes: one tensor [N, 3/2 H, W, 1], or planes Y [N, H, W, 1] and, half as high and wide, UV [.., 2] or U and V
//         [.., 1] -> [N, H, W, 3]. Edge cases: H and W are even.
// Source: operation pages NV12toRGB-8, NV12toBGR-8, I420toRGB-8, I420toBGR-8.
#include "ops/reference/image/yuv.hpp"
#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

using reference::ColorOrder;
using reference::YuvLayout;

constexpr const char* kNames[] = {"image", "second plane", "third plane"};

void infer_yuv(ir::InferContext& ctx, YuvLayout layout) {
  const int planes = ctx.input_count(), all = layout == YuvLayout::nv12 ? 2 : 3;
  ctx.require(planes == 1 || planes == all, "expected 1 or ", all, " inputs, got ", planes);
  element::Type type;
  for (int i = 0; i < planes; ++i) {
    ctx.require(element::Type::merge(type, type, ctx.type(i)), kNames[i], " (input ", i, ") must have the type ", type,
                " of the image, got ", ctx.type(i));
    require_rank(ctx, i, kNames[i], 4, 4);
  }

  const auto extent = [&](int input, std::ptrdiff_t axis) {
    return ctx.shape(input).rank().is_static() ? ctx.shape(input)[axis] : Dimension();
  };
  const auto require_channels = [&](int input, int64_t channels) {
    ctx.require(extent(input, 3).compatible(channels), kNames[input], " (input ", input, ") must have ", channels,
                " channels, got shape ", ctx.shape(input));
  };
  require_channels(0, 1);
  PartialShape output{extent(0, 0), extent(0, 1), extent(0, 2), 3};
  if (planes == 1) {
    const Dimension rows = extent(0, 1);
    ctx.require(rows.is_dynamic() || rows.get_length() % 3 == 0,
                "the height of the image must be a multiple of 3, got ", rows);
    output[1] = rows / 3 * 2;
  }
  for (int i = 1; i < planes; ++i) {
    require_channels(i, layout == YuvLayout::nv12 ? 2 : 1);
    ctx.require(Dimension::merge(output[0], output[0], extent(i, 0)), kNames[i], " (input ", i, ") of shape ",
                ctx.shape(i), " must have the batch ", output[0], " of the image");
    for (const std::ptrdiff_t axis : {1, 2}) {
      if (extent(i, axis).is_dynamic() && !extent(i, axis).has_upper_bound()) continue;
      ctx.require(Dimension::merge(output[axis], output[axis], extent(i, axis) * 2), kNames[i], " (input ", i,
                  ") of shape ", ctx.shape(i), " must be half as high and wide as the image ", ctx.shape(0));
    }
  }
  for (const std::ptrdiff_t axis : {1, 2})
    ctx.require(output[axis].is_dynamic() || output[axis].get_length() % 2 == 0,
                "height and width must be even, got the output ", output);
  ctx.set_output(0, type, std::move(output));
}

template <YuvLayout Layout, ColorOrder Order>
ir::OpSchema yuv_schema() {
  ir::OpSchema schema;
  schema.arity = {1, Layout == YuvLayout::nv12 ? 2 : 3, 1};
  schema.infer = [](ir::InferContext& ctx) { infer_yuv(ctx, Layout); };
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::yuv_to_color(ctx.inputs, Layout, Order, ctx.outputs[0]);
  };
  return schema;
}

}  // namespace

ir::OpSchema nv12_to_rgb_8() { return yuv_schema<YuvLayout::nv12, ColorOrder::rgb>(); }
ir::OpSchema nv12_to_bgr_8() { return yuv_schema<YuvLayout::nv12, ColorOrder::bgr>(); }
ir::OpSchema i420_to_rgb_8() { return yuv_schema<YuvLayout::i420, ColorOrder::rgb>(); }
ir::OpSchema i420_to_bgr_8() { return yuv_schema<YuvLayout::i420, ColorOrder::bgr>(); }

}  // namespace terroir::ops
