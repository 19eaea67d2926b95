#pragma once
// What: Convolution-1 and GroupConvolution-1: cross-correlation over 1, 2 or 3 spatial axes.
// Shapes: data [N, C, spatial], weights [O, C, kernel] or, grouped, [G, O, C/G, kernel] -> [N, O (or G*O), spatial'].
// Edge cases: pads_begin and pads_end are ignored unless auto_pad is explicit; a kernel that does not fit is refused.
// Source: operation pages Convolution-1, GroupConvolution-1.
#include "ops/shape/conv_geometry.hpp"

namespace terroir::ops {

struct ConvolutionAttrs {
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  AutoPad auto_pad = AutoPad::explicit_pads;

  template <class V>
  void visit(V& v) {
    v("strides", strides, ir::Presence::required);
    v("dilations", dilations, ir::Presence::required);
    v("pads_begin", pads_begin, ir::Presence::required);
    v("pads_end", pads_end, ir::Presence::required);
    v("auto_pad", auto_pad);
  }

  WindowLists window() const { return {&strides, &dilations, &pads_begin, &pads_end, nullptr, auto_pad, {}}; }
};

/// The geometry for known extents; Exception where inference would refuse them.
ConvGeometry conv_geometry(const ConvolutionAttrs& attrs, const ir::Dims& data, const ir::Dims& weights, bool grouped);

}  // namespace terroir::ops
