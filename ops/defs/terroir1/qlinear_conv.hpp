#pragma once
// What: QLinearConv of the set terroir1: convolution of 8-bit integers over 1, 2 or 3 spatial axes.
// Shapes: x [N, C, spatial], w [M, C/group, kernel] -> y [N, M, spatial']. Scales and zero points of x and y have one
//         element, those of w one or M; B, optional, has M.
// Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B. x, w and y are u8 or i8, each
// for
//         itself; the type of y is that of y_zero_point. Scales are f32, B is i32.
// Formula: ops/reference/terroir1/qlinear_conv.hpp.
// Edge cases: pads beside an auto_pad are refused unless all of them are zero; auto_pad may be spelled in capitals,
//             small letters or both; kernel_shape, where given, must be that of w. Sums neither wrap nor saturate; y
//             is rounded half to even, not truncated, and saturates. Where m underflows to zero, as x_scale * w_scale
//             may, y is y_zero_point.
// Source: ONNX operator page QLinearConv-10; what each of its fields is here: qlinear_conv.md.
#include "ops/defs/terroir1/convolution.hpp"
#include "ops/reference/terroir1/qlinear_conv.hpp"

namespace terroir::ops {

struct QLinearConvAttrs {
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  std::vector<int64_t> kernel_shape;
  int64_t group = 1;
  FullAutoPad auto_pad = FullAutoPad::explicit_pads;

  template <class V>
  void visit(V& v) {
    v("strides", strides);
    v("dilations", dilations);
    v("pads_begin", pads_begin);
    v("pads_end", pads_end);
    v("kernel_shape", kernel_shape);
    v("group", group);
    v("auto_pad", auto_pad);
  }

  AutoPad padding() const {
    return auto_pad == FullAutoPad::notset ? AutoPad::explicit_pads : static_cast<AutoPad>(auto_pad);
  }
  WindowLists window() const { return {&strides, &dilations, &pads_begin, &pads_end, nullptr, padding(), {}}; }
};

/// Inputs by position.
enum QLinearConvInput { kQX, kQXScale, kQXZero, kQW, kQWScale, kQWZero, kQYScale, kQYZero, kQBias };

/// The geometry for known extents; Exception where inference would refuse them.
ConvGeometry qlinear_conv_geometry(const QLinearConvAttrs& attrs, const ir::Dims& x, const ir::Dims& w);

}  // namespace terroir::ops
