#pragma once
// What: GridSample-9: samples an image at points given in coordinates from -1 to 1.
// Shapes: data [N, C, H, W], grid [N, H', W', 2] -> [N, C, H', W'].
// Source: operation page GridSample-9.
#include "ir/schema/attributes.hpp"
#include "ops/reference/image/grid_sample.hpp"

namespace terroir::ops {

struct GridSampleAttrs {
  bool align_corners = false;
  reference::GridSampleMode mode = reference::GridSampleMode::bilinear;
  reference::GridPadding padding_mode = reference::GridPadding::zeros;

  template <class V>
  void visit(V& v) {
    v("align_corners", align_corners);
    v("mode", mode);
    v("padding_mode", padding_mode);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::GridSampleMode> {
  static constexpr std::string_view names[] = {"bilinear", "bicubic", "nearest"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::GridPadding> {
  static constexpr std::string_view names[] = {"zeros", "border", "reflection"};
};
