#pragma once
// What: how positions of a resized axis draw on positions of the original one: for each output position a short list of
// (input position, weight). Every interpolation mode is a product of such tables, one per axis.
// Formula: coordinates: scale = output / input unless it is given;
//            half_pixel           x = (o + 0.5) / scale - 0.5
//            pytorch_half_pixel   as half_pixel, but 0 for an output of 1
//            asymmetric           x = o / scale
//            tf_half_pixel_for_nn x = (o + 0.5) / scale
//            align_corners        x = o * (input - 1) / (output - 1), but 0 for an output of 1
//          and x = o in every mode when the scale is 1 or the extents are equal.
//          weights: nearest: 1 at the rounded x; linear_onnx: the two neighbours of x; cubic: four neighbours, by Keys'
//          kernel with parameter a; linear: a triangle around x, widened by antialias, normalised over what lies
//          inside;
//          *_pillow: triangle or Keys' kernel, always widened when shrinking, normalised; area: overlap with the cell.
// Edge cases: coordinates are computed in float, as the operation set's own reference does, since a last bit decides
//             where nearest falls; weights in double. A weight of 0 is no tap: a position that coincides with one of
//             the input does not meet the NaN or infinity beside it. An empty input gives empty lists.
// Source: operation pages Interpolate-1, Interpolate-4, Interpolate-11; R. Keys, "Cubic convolution interpolation for
//         digital image processing" (1981), section III; documentation of Pillow's Image.resize.
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/schema/attributes.hpp"

namespace terroir::ops {

enum class ResampleMode { nearest, linear, linear_onnx, cubic, bilinear_pillow, bicubic_pillow, area };
enum class CoordinateMode { half_pixel, pytorch_half_pixel, asymmetric, tf_half_pixel_for_nn, align_corners };
enum class NearestMode { round_prefer_floor, round_prefer_ceil, floor, ceil, simple };

struct ResampleRule {
  ResampleMode mode = ResampleMode::nearest;
  CoordinateMode coordinates = CoordinateMode::half_pixel;
  NearestMode nearest = NearestMode::round_prefer_floor;
  bool antialias = false;  // of linear: asked for, and at least one axis shrinks
  double cube_coeff = -0.75;
};

struct ResampleTap {
  int64_t index;
  double weight;
};

struct ResampleTable {
  std::vector<ResampleTap> taps;
  /// Output position o draws on taps [first[o], first[o + 1]).
  std::vector<int64_t> first;

  int64_t outputs() const { return static_cast<int64_t>(first.size()) - 1; }
};

/// `input` counts padding. `scale` is positive and finite.
ResampleTable resample_table(const ResampleRule& rule, int64_t input, int64_t output, float scale);

/// The table of an axis that is `input` long before padding: positions inside the padding, whose value is zero, drop
/// out.
ResampleTable without_padding(const ResampleTable& padded, int64_t pad_begin, int64_t input);

/// The coordinate in the original axis of position `o` of the resized one.
float original_coordinate(CoordinateMode mode, int64_t o, float scale, int64_t output, int64_t input);

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::ResampleMode> {
  static constexpr std::string_view names[] = {"nearest",         "linear",         "linear_onnx", "cubic",
                                               "bilinear_pillow", "bicubic_pillow", "area"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::CoordinateMode> {
  static constexpr std::string_view names[] = {"half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn",
                                               "align_corners"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::NearestMode> {
  static constexpr std::string_view names[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"};
};
