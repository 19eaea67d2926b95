// Resizing, as code makes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "terroir/op/attribute_access.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace op {
namespace v0 {

class Interpolate : public Node {
  TERROIR_LAYER(Interpolate, "Interpolate", "opset1")
  struct Attributes {
    AxisSet axes;
    std::string mode;  ///< "nearest", "linear", "cubic", "area"
    bool align_corners = true;
    bool antialias = false;
    std::vector<size_t> pads_begin;
    std::vector<size_t> pads_end;

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("axes", axes);
      visit_one("mode", mode);
      visit_one("align_corners", align_corners);
      visit_one("antialias", antialias);
      visit_one("pads_begin", pads_begin);
      visit_one("pads_end", pads_end);
    }
  };
  Interpolate(const Output<Node>& image, const Output<Node>& output_shape, const Attributes& attributes)
      : Interpolate(OutputVector{image, output_shape}, detail::by_name(attributes)) {}
  const Attributes get_attrs() const { return detail::attributes_of<Attributes>(*this); }
  void set_attrs(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

}  // namespace v0

namespace util {

using op::operator<<;  // of enumerations

/// What Interpolate of opset4 and opset11 share.
class InterpolateBase : public Node {
  TERROIR_LAYER_BASE(Node, InterpolateBase)
  enum class InterpolateMode { NEAREST, LINEAR, LINEAR_ONNX, CUBIC, BILINEAR_PILLOW, BICUBIC_PILLOW };
  enum class ShapeCalcMode { SIZES, SCALES };
  enum class CoordinateTransformMode {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ASYMMETRIC,
    TF_HALF_PIXEL_FOR_NN,
    ALIGN_CORNERS
  };
  enum class NearestMode { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, FLOOR, CEIL, SIMPLE };

  friend detail::Names<6> spellings(InterpolateMode) {
    return {"nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"};
  }
  friend detail::Names<2> spellings(ShapeCalcMode) { return {"sizes", "scales"}; }
  friend detail::Names<5> spellings(CoordinateTransformMode) {
    return {"half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"};
  }
  friend detail::Names<5> spellings(NearestMode) {
    return {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"};
  }

  struct InterpolateAttrs {
    InterpolateAttrs() = default;
    InterpolateAttrs(InterpolateMode interpolation, ShapeCalcMode shape_calculation,
                     const std::vector<size_t>& padding_begin, const std::vector<size_t>& padding_end,
                     CoordinateTransformMode coordinates = CoordinateTransformMode::HALF_PIXEL,
                     NearestMode nearest = NearestMode::ROUND_PREFER_FLOOR, bool smooth = false, double cube = -0.75)
        : mode(interpolation),
          shape_calculation_mode(shape_calculation),
          pads_begin(padding_begin),
          pads_end(padding_end),
          coordinate_transformation_mode(coordinates),
          nearest_mode(nearest),
          antialias(smooth),
          cube_coeff(cube) {}

    InterpolateMode mode = InterpolateMode::NEAREST;
    ShapeCalcMode shape_calculation_mode = ShapeCalcMode::SIZES;
    std::vector<size_t> pads_begin;
    std::vector<size_t> pads_end;
    CoordinateTransformMode coordinate_transformation_mode = CoordinateTransformMode::HALF_PIXEL;
    NearestMode nearest_mode = NearestMode::ROUND_PREFER_FLOOR;
    bool antialias = false;
    double cube_coeff = -0.75;

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("mode", mode);
      visit_one("shape_calculation_mode", shape_calculation_mode);
      visit_one("coordinate_transformation_mode", coordinate_transformation_mode);
      visit_one("nearest_mode", nearest_mode);
      visit_one("antialias", antialias);
      visit_one("pads_begin", pads_begin);
      visit_one("pads_end", pads_end);
      visit_one("cube_coeff", cube_coeff);
    }
  };

  InterpolateAttrs get_attrs() const { return detail::attributes_of<InterpolateAttrs>(*this); }
  void set_attrs(const InterpolateAttrs& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

}  // namespace util

namespace v4 {

class Interpolate : public util::InterpolateBase {
  TERROIR_LAYER_OF(util::InterpolateBase, Interpolate, "Interpolate", "opset4")
  Interpolate(const Output<Node>& image, const Output<Node>& output_shape, const Output<Node>& scales,
              const Output<Node>& axes, const InterpolateAttrs& attributes)
      : Interpolate(OutputVector{image, output_shape, scales, axes}, detail::by_name(attributes)) {}
  Interpolate(const Output<Node>& image, const Output<Node>& output_shape, const Output<Node>& scales,
              const InterpolateAttrs& attributes)
      : Interpolate(OutputVector{image, output_shape, scales}, detail::by_name(attributes)) {}
};

}  // namespace v4

namespace v11 {

class Interpolate : public util::InterpolateBase {
  TERROIR_LAYER_OF(util::InterpolateBase, Interpolate, "Interpolate", "opset11")
  Interpolate(const Output<Node>& image, const Output<Node>& scales_or_sizes, const Output<Node>& axes,
              const InterpolateAttrs& attributes)
      : Interpolate(OutputVector{image, scales_or_sizes, axes}, detail::by_name(attributes)) {}
  Interpolate(const Output<Node>& image, const Output<Node>& scales_or_sizes, const InterpolateAttrs& attributes)
      : Interpolate(OutputVector{image, scales_or_sizes}, detail::by_name(attributes)) {}
};

}  // namespace v11
}  // namespace op
}  // namespace terroir
