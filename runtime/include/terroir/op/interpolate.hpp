// Resizing, as code makes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  };
  Interpolate(const Output<Node>& image, const Output<Node>& output_shape, const Attributes& attributes)
      : Interpolate(OutputVector{image, output_shape}, {{"axes", detail::integers(attributes.axes)},
                                                        {"mode", attributes.mode},
                                                        {"align_corners", attributes.align_corners},
                                                        {"antialias", attributes.antialias},
                                                        {"pads_begin", detail::integers(attributes.pads_begin)},
                                                        {"pads_end", detail::integers(attributes.pads_end)}}) {}
};

}  // namespace v0

namespace util {

/// What Interpolate of opset4 and opset11 share.
struct InterpolateBase {
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

    AnyMap by_name() const {
      static constexpr const char* kModes[] = {"nearest", "linear",          "linear_onnx",
                                               "cubic",   "bilinear_pillow", "bicubic_pillow"};
      static constexpr const char* kCoordinates[] = {"half_pixel", "pytorch_half_pixel", "asymmetric",
                                                     "tf_half_pixel_for_nn", "align_corners"};
      static constexpr const char* kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"};
      return {{"mode", kModes[static_cast<size_t>(mode)]},
              {"shape_calculation_mode", shape_calculation_mode == ShapeCalcMode::SIZES ? "sizes" : "scales"},
              {"coordinate_transformation_mode", kCoordinates[static_cast<size_t>(coordinate_transformation_mode)]},
              {"nearest_mode", kNearest[static_cast<size_t>(nearest_mode)]},
              {"antialias", antialias},
              {"pads_begin", detail::integers(pads_begin)},
              {"pads_end", detail::integers(pads_end)},
              {"cube_coeff", cube_coeff}};
    }
  };
};

}  // namespace util

namespace v4 {

class Interpolate : public Node, public util::InterpolateBase {
  TERROIR_LAYER(Interpolate, "Interpolate", "opset4")
  Interpolate(const Output<Node>& image, const Output<Node>& output_shape, const Output<Node>& scales,
              const Output<Node>& axes, const InterpolateAttrs& attributes)
      : Interpolate(OutputVector{image, output_shape, scales, axes}, attributes.by_name()) {}
  Interpolate(const Output<Node>& image, const Output<Node>& output_shape, const Output<Node>& scales,
              const InterpolateAttrs& attributes)
      : Interpolate(OutputVector{image, output_shape, scales}, attributes.by_name()) {}
};

}  // namespace v4

namespace v11 {

class Interpolate : public Node, public util::InterpolateBase {
  TERROIR_LAYER(Interpolate, "Interpolate", "opset11")
  Interpolate(const Output<Node>& image, const Output<Node>& scales_or_sizes, const Output<Node>& axes,
              const InterpolateAttrs& attributes)
      : Interpolate(OutputVector{image, scales_or_sizes, axes}, attributes.by_name()) {}
  Interpolate(const Output<Node>& image, const Output<Node>& scales_or_sizes, const InterpolateAttrs& attributes)
      : Interpolate(OutputVector{image, scales_or_sizes}, attributes.by_name()) {}
};

}  // namespace v11
}  // namespace op
}  // namespace terroir
