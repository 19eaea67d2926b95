#pragma once
// What: Interpolate-1, Interpolate-4, Interpolate-11: resizes a tensor along some axes.
// Shapes: Interpolate-4: data, sizes [n], scales [n], optional axes [n]; Interpolate-11: image, scales_or_sizes [n],
//         optional axes [n]; Interpolate-1: data, target_spatial_shape [n], axes as an attribute. Resized axes have the
//         extent asked for or floor(scale * padded extent); the others their padded extent. Without axes: all axes.
// Edge cases: lists of pads are filled up with zeros. A scale counts as reached when it misses a whole number by a
//             millionth of the extent. Integers: linear rounds, linear_onnx and cubic truncate, as do the operation
//             set's own tests. Interpolate-1 is translated: nearest rounds as `simple`, linear is linear_onnx up to
//             rank 4; coordinates are those of align_corners if asked, else asymmetric, but half_pixel for linear
//             without pads, unless it resizes axes 2 and 3 of 4. `area`, which no page defines, averages over cells.
// Source: operation pages Interpolate-1, Interpolate-4, Interpolate-11.
#include <optional>

#include "ir/base/tensor_view.hpp"
#include "ops/reference/image/interpolate.hpp"

namespace terroir::ops {

enum class ShapeCalculation { sizes, scales };

/// Of Interpolate-4 and Interpolate-11, which differ in the modes they know.
struct InterpolateAttrs {
  ResampleMode mode = ResampleMode::nearest;
  ShapeCalculation shape_calculation_mode = ShapeCalculation::sizes;
  CoordinateMode coordinate_transformation_mode = CoordinateMode::half_pixel;
  NearestMode nearest_mode = NearestMode::round_prefer_floor;
  bool antialias = false;
  std::vector<int64_t> pads_begin = {0};
  std::vector<int64_t> pads_end = {0};
  double cube_coeff = -0.75;

  template <class V>
  void visit(V& v) {
    v("mode", mode, ir::Presence::required);
    v("shape_calculation_mode", shape_calculation_mode, ir::Presence::required);
    v("coordinate_transformation_mode", coordinate_transformation_mode);
    v("nearest_mode", nearest_mode);
    v("antialias", antialias);
    v("pads_begin", pads_begin);
    v("pads_end", pads_end);
    v("cube_coeff", cube_coeff);
  }
};

struct Interpolate1Attrs {
  std::vector<int64_t> axes;
  ResampleMode mode = ResampleMode::nearest;
  bool align_corners = true;
  bool antialias = false;
  std::vector<int64_t> pads_begin = {0};
  std::vector<int64_t> pads_end = {0};

  template <class V>
  void visit(V& v) {
    v("axes", axes, ir::Presence::required);
    v("mode", mode, ir::Presence::required);
    v("align_corners", align_corners);
    v("antialias", antialias);
    v("pads_begin", pads_begin);
    v("pads_end", pads_end);
  }
};

/// One axis that changes, with everything known.
struct InterpolatedAxis {
  size_t axis;
  int64_t input;  // without pads
  int64_t pad_begin;
  int64_t pad_end;
  int64_t output;
  float scale;

  int64_t padded() const { return input + pad_begin + pad_end; }
};

/// What reference kernels and plugins compute with: each axis that is resized or padded, and the rule for all.
struct InterpolateGeometry {
  ResampleRule rule;
  std::vector<InterpolatedAxis> axes;

  /// Input positions and weights for axis `i` of `axes`.
  ResampleTable table(size_t i) const;
};

/// `axes` empty: all; `scales` are used when attrs ask for scales and have one entry per axis.
InterpolateGeometry interpolate_geometry(const InterpolateAttrs& attrs, const ir::Dims& data, const ir::Dims& output,
                                         const std::optional<std::vector<int64_t>>& axes,
                                         const std::vector<double>& scales);
InterpolateGeometry interpolate_geometry(const Interpolate1Attrs& attrs, const ir::Dims& data, const ir::Dims& output);

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::ShapeCalculation> {
  static constexpr std::string_view names[] = {"sizes", "scales"};
};
