#pragma once
// What: samples an image at given points, whose coordinates go from -1 to 1.
// Threads: ranges of points.
// Formula: pixel = ((v + 1) * extent - 1) / 2, or with align_corners (v + 1) * (extent - 1) / 2. nearest rounds halves
//          to even; bicubic uses Keys' kernel with a = -0.75.
// Layouts: src [N, C, H, W], grid [N, H', W', 2] (x before y) -> dst [N, C, H', W'].
// Element types: nearest: any; others numeric, or boolean as 0 and 1. Edge cases: pixels outside are 0, those of the
// border, or mirrored, at the border's edge or, with align_corners, its pixels' centres; a NaN coordinate is far
// outside; an empty image gives 0; integers truncate. Source: operation page GridSample-9.
#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

enum class GridSampleMode { bilinear, bicubic, nearest };
enum class GridPadding { zeros, border, reflection };

struct GridSampleParameters {
  bool align_corners = false;
  GridSampleMode mode = GridSampleMode::bilinear;
  GridPadding padding = GridPadding::zeros;
};

void grid_sample(const ir::TensorView& src, const ir::TensorView& grid, const GridSampleParameters& parameters,
                 const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
