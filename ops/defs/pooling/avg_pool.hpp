#pragma once
// What: AvgPool-1, AvgPool-14 (rounding_type ceil_torch), AvgPool-16 (dilations).
// Shapes: data [N, C, spatial] -> [N, C, spatial'].
// Edge cases: exclude-pad false divides by the whole window if there are any pads, else by what lies inside the input.
// Source: operation pages AvgPool-1, AvgPool-14, AvgPool-16.
#include "ops/shape/pool_geometry.hpp"

namespace terroir::ops {

/// Of all versions; `dilations` is visited from AvgPool-16 on.
struct AvgPoolAttrs {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  bool exclude_pad = false;
  Rounding rounding_type = Rounding::floor;
  AutoPad auto_pad = AutoPad::explicit_pads;

  WindowLists window() const {
    return {&strides, &dilations, &pads_begin, &pads_end, nullptr, auto_pad, rounding_type};
  }

  template <class V>
  void visit(V& v) {
    v("kernel", kernel, ir::Presence::required);
    v("strides", strides, ir::Presence::required);
    v("pads_begin", pads_begin, ir::Presence::required);
    v("pads_end", pads_end, ir::Presence::required);
    v("exclude-pad", exclude_pad, ir::Presence::required);
    v("rounding_type", rounding_type);
    v("auto_pad", auto_pad);
  }
};

struct AvgPool16Attrs : AvgPoolAttrs {
  template <class V>
  void visit(V& v) {
    AvgPoolAttrs::visit(v);
    v("dilations", dilations);
  }
};

PoolGeometry pool_geometry(const AvgPoolAttrs& attrs, const ir::Dims& data);

}  // namespace terroir::ops
