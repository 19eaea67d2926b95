#pragma once
// What: terroir1 Convolution: forward or backward (transposed), cross-correlation or true convolution, channels first
//       or last, with bias and activation: the forms that other systems have and OpenVINO's opsets have not.
// Formula: y = activation(x conv w + bias), along each axis, forward:
//            y[o] = sum over k of x[o * stride - pad_begin + k * dilation] * w[k]
//          backward:
//            y[o] = sum over all i, k with i * stride + k * dilation - pad_begin == o of x[i] * w[k]
//          Mode convolution reads w[kernel - 1 - k] for w[k]. What lies outside of x counts as zero.
// Shapes: data [N, C, spatial] or, channels_last, [N, spatial, C]; filter, in both layouts, forward [O, C / group,
//         kernel], backward [C, O / group, kernel]; optional bias [O], or of data's rank with O on the channel axis and
//         1 elsewhere -> data's layout with O channels. One to three spatial axes.
// Edge cases: forward: output_padding appends elements without contributions (bias and activation apply to them).
//             Backward: it lengthens the result, so that elements which pads_end cut off come back. same_* without
//             output_shape: the result is stride times as long as data. Computed pads are at least zero.
// Source: ONNX Conv-11 and ConvTranspose-1 in their channels-last domain, DML_CONVOLUTION_OPERATOR_DESC; what each of
//         their fields is here: README.md in this folder.
#include "ops/defs/terroir1/activation.hpp"
#include "ops/reference/terroir1/convolution.hpp"
#include "ops/shape/conv_geometry.hpp"

namespace terroir::ops {

enum class ConvolutionDirection { forward, backward };
enum class ConvolutionMode { cross_correlation, convolution };
enum class DataLayout { channels_first, channels_last };
/// AutoPad with the additional spelling of its first value in ONNX.
enum class FullAutoPad { explicit_pads, same_upper, same_lower, valid, notset };

struct FullConvolutionAttrs {
  ConvolutionDirection direction = ConvolutionDirection::forward;
  ConvolutionMode mode = ConvolutionMode::cross_correlation;
  DataLayout layout = DataLayout::channels_first;
  int64_t group = 1;
  // By spatial axis; an empty list is the default for each.
  std::vector<int64_t> strides;     // 1
  std::vector<int64_t> dilations;   // 1
  std::vector<int64_t> pads_begin;  // 0
  std::vector<int64_t> pads_end;    // 0
  FullAutoPad auto_pad = FullAutoPad::explicit_pads;
  std::vector<int64_t> output_padding;  // 0
  std::vector<int64_t> output_shape;    // backward only; what follows from the pads
  std::vector<int64_t> kernel_shape;    // what the filter says; only checked
  FusedActivation activation = FusedActivation::identity;
  std::vector<double> activation_params;  // the activation's defaults

  template <class V>
  void visit(V& v) {
    v("direction", direction);
    v("mode", mode);
    v("layout", layout);
    v("group", group);
    v("strides", strides);
    v("dilations", dilations);
    v("pads_begin", pads_begin);
    v("pads_end", pads_end);
    v("auto_pad", auto_pad);
    v("output_padding", output_padding);
    v("output_shape", output_shape);
    v("kernel_shape", kernel_shape);
    v("activation", activation);
    v("activation_params", activation_params);
  }

  bool backward() const { return direction == ConvolutionDirection::backward; }
  bool channels_last() const { return layout == DataLayout::channels_last; }
  AutoPad padding() const {
    return auto_pad == FullAutoPad::notset ? AutoPad::explicit_pads : static_cast<AutoPad>(auto_pad);
  }
  WindowLists window() const { return {&strides, &dilations, &pads_begin, &pads_end, &output_padding, padding(), {}}; }
};

/// One axis of a backward convolution as pads that are given: auto_pad same_* for a known kernel extent, whatever the
/// extent of data. `step` is of an axis without output_shape.
WindowStep backward_same_step(WindowStep step, AutoPad auto_pad, int64_t kernel, size_t axis);

/// Everything known; Exception where inference would refuse.
reference::FullConvolution full_convolution(const FullConvolutionAttrs& attrs, const ir::Dims& data,
                                            const ir::Dims& filter);

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::ConvolutionDirection> {
  static constexpr std::string_view names[] = {"forward", "backward"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::ConvolutionMode> {
  static constexpr std::string_view names[] = {"cross_correlation", "convolution"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::DataLayout> {
  static constexpr std::string_view names[] = {"channels_first", "channels_last"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::FullAutoPad> {
  static constexpr std::string_view names[] = {"explicit", "same_upper", "same_lower", "valid", "notset"};
};
