#pragma once
// What: what the passes over convolutions share.
#include <algorithm>
#include <vector>

#include "ir/graph/graph.hpp"
#include "ir/schema/registry.hpp"
#include "ops/defs/convolution/convolution.hpp"

namespace terroir::ops {

/// Convolution or GroupConvolution of an opset.
inline bool is_convolution(const ir::Node& node) {
  return (node.is("Convolution") || node.is("GroupConvolution")) && ir::opset_number(node.schema->opset) > 0;
}

/// Whether windows of one element, if that is what the kernel has, see each element once and no pads.
inline bool one_tap_sees_each_element(const ConvolutionAttrs& attrs) {
  const auto all_are = [](const std::vector<int64_t>& values, int64_t value) {
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
  };
  // Windows of one element that are one apart have no pads of their own.
  const bool unpadded =
      attrs.auto_pad != AutoPad::explicit_pads || (all_are(attrs.pads_begin, 0) && all_are(attrs.pads_end, 0));
  return unpadded && all_are(attrs.strides, 1);
}

}  // namespace terroir::ops
