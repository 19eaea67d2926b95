#pragma once
// What: DeformableConvolution-1 and DeformableConvolution-8 (mask, bilinear_interpolation_pad).
// Shapes: data [N, G*I, Y, X], offsets [N, D * KY * KX * 2, Y', X'], weights [G*O, I, KY, KX], optional mask
//         [N, D * KY * KX, Y', X'] -> [N, G*O, Y', X'], where G is group and D deformable_group.
// Edge cases: without bilinear_interpolation_pad, a sample less than one pixel beyond the last one shifts to it; before
//             the first pixel nothing shifts, and the sample is zero. Position and offset are added in f32, as OpenVINO
//             does (f64 and integers: in f64), so -1e-30 leads out of the input at 0, but not at 1. At a whole position
//             the neighbour does not count, even if it is infinite or NaN; OpenVINO multiplies it (without
//             bilinear_interpolation_pad the pixel itself) by zero, which makes NaN of an infinity.
// Source: operation pages DeformableConvolution-1, DeformableConvolution-8.
#include "ops/shape/conv_geometry.hpp"

namespace terroir::ops {

struct DeformableConvolutionAttrs {
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  AutoPad auto_pad = AutoPad::explicit_pads;
  int64_t group = 1;
  int64_t deformable_group = 1;
  bool bilinear_interpolation_pad = false;  // visited from opset8 on

  template <class V>
  void visit(V& v) {
    v("strides", strides, ir::Presence::required);
    v("dilations", dilations, ir::Presence::required);
    v("pads_begin", pads_begin, ir::Presence::required);
    v("pads_end", pads_end, ir::Presence::required);
    v("auto_pad", auto_pad);
    v("group", group);
    v("deformable_group", deformable_group);
  }

  WindowLists window() const { return {&strides, &dilations, &pads_begin, &pads_end, nullptr, auto_pad, {}}; }
};

struct DeformableConvolution8Attrs : DeformableConvolutionAttrs {
  template <class V>
  void visit(V& v) {
    DeformableConvolutionAttrs::visit(v);
    v("bilinear_interpolation_pad", bilinear_interpolation_pad);
  }
};

/// The geometry for known extents; Exception where inference would refuse them. Weights are [G*O, I, KY, KX].
ConvGeometry deformable_geometry(const DeformableConvolutionAttrs& attrs, const ir::Dims& data,
                                 const ir::Dims& weights);

}  // namespace terroir::ops
