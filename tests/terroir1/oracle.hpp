#pragma once
// What: a convolution by the words of the published operator documents, in double, with nothing of the project's own
// shape arithmetic or kernels. Data is channels first.
// Source: ONNX Conv-11, ConvTranspose-1 in their channels-last domain; DML_CONVOLUTION_OPERATOR_DESC;
// GroupConvolution-1.
#include <optional>

#include "tests/terroir1/array.hpp"

namespace terroir::test {

struct Convolution {
  bool backward = false;
  bool flipped = false;  // mode convolution
  int64_t group = 1;
  std::vector<int64_t> strides, dilations, pads_begin, pads_end, output_padding;  // one entry per axis
  std::string auto_pad = "NOTSET";                                                // as ONNX spells it
  std::vector<int64_t> output_shape;                                              // empty: none
  std::string activation = "Identity";
  std::vector<double> params;  // all that the activation has
};

/// Filter [O, C / group, kernel] or, backward, [C, O / group, kernel]; bias [O] or nothing.
Array convolve(const Convolution& problem, const Array& data, const Array& filter, const std::optional<Array>& bias);

}  // namespace terroir::test
