#pragma once
// What: MaxPool-1, MaxPool-8 (dilations, a second output with indices), MaxPool-14 (rounding_type ceil_torch).
// Shapes: data [N, C, spatial] -> [N, C, spatial'], indices of the same shape. Edge cases: padding counts as the
// lowest finite number: that of f32 for f16 and bf16, which is infinite where a model hands it out. Source: operation
// pages MaxPool-1, MaxPool-8, MaxPool-14.
#include "ops/shape/pool_geometry.hpp"

namespace terroir::ops {

struct MaxPool1Attrs {
  std::vector<int64_t> strides;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  std::vector<int64_t> kernel;
  Rounding rounding_type = Rounding::floor;
  AutoPad auto_pad = AutoPad::explicit_pads;

  template <class V>
  void visit(V& v) {
    v("strides", strides, ir::Presence::required);
    v("pads_begin", pads_begin, ir::Presence::required);
    v("pads_end", pads_end, ir::Presence::required);
    v("kernel", kernel, ir::Presence::required);
    v("rounding_type", rounding_type);
    v("auto_pad", auto_pad);
  }

  WindowLists window() const { return {&strides, nullptr, &pads_begin, &pads_end, nullptr, auto_pad, rounding_type}; }
};

/// Of MaxPool-8 and MaxPool-14, which differ in whether rounding_type may be ceil_torch.
struct MaxPool8Attrs {
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  std::vector<int64_t> kernel;
  Rounding rounding_type = Rounding::floor;
  AutoPad auto_pad = AutoPad::explicit_pads;
  element::Type index_element_type = element::i64;
  int64_t axis = 0;

  template <class V>
  void visit(V& v) {
    v("strides", strides, ir::Presence::required);
    v("dilations", dilations);
    v("pads_begin", pads_begin, ir::Presence::required);
    v("pads_end", pads_end, ir::Presence::required);
    v("kernel", kernel, ir::Presence::required);
    v("rounding_type", rounding_type);
    v("auto_pad", auto_pad);
    v("index_element_type", index_element_type);
    v("axis", axis);
  }

  WindowLists window() const {
    return {&strides, &dilations, &pads_begin, &pads_end, nullptr, auto_pad, rounding_type};
  }
};

PoolGeometry pool_geometry(const MaxPool1Attrs& attrs, const ir::Dims& data);
PoolGeometry pool_geometry(const MaxPool8Attrs& attrs, const ir::Dims& data);

}  // namespace terroir::ops
