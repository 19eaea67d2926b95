#pragma once
// What: ConvolutionBackpropData-1 and GroupConvolutionBackpropData-1: transposed convolution over 1, 2 or 3 axes.
// Shapes: data [N, C, spatial], weights [C, O, kernel] or, grouped, [G, C/G, O, kernel], optional output_shape
//         [spatial rank] -> [N, O (or G*O), spatial'].
// Edge cases: with output_shape the pads of same_upper and same_lower are computed, which says where an odd element
//             goes; explicit pads are taken as written and valid means none, as every device of OpenVINO has it (by the
//             page they would be computed too). Without output_shape, auto_pad other than explicit means no pads. Pads
//             computed to be negative count as 0; what the kernel does not reach is zero.
// Source: operation pages ConvolutionBackpropData-1, GroupConvolutionBackpropData-1.
#include "ops/shape/conv_geometry.hpp"

namespace terroir::ops {

struct ConvolutionBackpropDataAttrs {
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  AutoPad auto_pad = AutoPad::explicit_pads;
  std::vector<int64_t> output_padding;

  template <class V>
  void visit(V& v) {
    v("strides", strides, ir::Presence::required);
    v("dilations", dilations, ir::Presence::required);
    v("pads_begin", pads_begin, ir::Presence::required);
    v("pads_end", pads_end, ir::Presence::required);
    v("auto_pad", auto_pad);
    v("output_padding", output_padding);
  }

  WindowLists window() const { return {&strides, &dilations, &pads_begin, &pads_end, &output_padding, auto_pad, {}}; }
};

/// The geometry for known extents; Exception where inference would refuse them. `output_shape`: the spatial extents
/// given by the third input, null when the op has none.
ConvGeometry conv_backprop_geometry(const ConvolutionBackpropDataAttrs& attrs, const ir::Dims& data,
                                    const ir::Dims& weights, bool grouped, const std::vector<int64_t>* output_shape);

}  // namespace terroir::ops
