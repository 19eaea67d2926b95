// Convolutions and matrix products, as code makes them.
#pragma once

#include "terroir/op/attributes.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {

namespace detail {

inline AnyMap window(const Strides& strides, const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end,
                     const Strides& dilations, op::PadType auto_pad) {
  return {{"strides", strides},
          {"pads_begin", integers(pads_begin)},
          {"pads_end", integers(pads_end)},
          {"dilations", dilations},
          {"auto_pad", spelling(auto_pad)}};
}

inline AnyMap window(const Strides& strides, const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end,
                     const Strides& dilations, op::PadType auto_pad, const CoordinateDiff& output_padding) {
  AnyMap attributes = window(strides, pads_begin, pads_end, dilations, auto_pad);
  if (!output_padding.empty()) attributes.emplace("output_padding", integers(output_padding));
  return attributes;
}

}  // namespace detail

namespace op {
namespace v0 {

class MatMul : public Node {
  TERROIR_LAYER(MatMul, "MatMul", "opset1")
  MatMul(const Output<Node>& a, const Output<Node>& b, bool transpose_a = false, bool transpose_b = false)
      : MatMul(OutputVector{a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}) {}
};

}  // namespace v0

namespace v1 {

class Convolution : public Node {
  TERROIR_LAYER(Convolution, "Convolution", "opset1")
  Convolution(const Output<Node>& data, const Output<Node>& filters, const Strides& strides,
              const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end, const Strides& dilations,
              PadType auto_pad = PadType::EXPLICIT)
      : Convolution(OutputVector{data, filters}, detail::window(strides, pads_begin, pads_end, dilations, auto_pad)) {}
};

class GroupConvolution : public Node {
  TERROIR_LAYER(GroupConvolution, "GroupConvolution", "opset1")
  GroupConvolution(const Output<Node>& data, const Output<Node>& filters, const Strides& strides,
                   const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end, const Strides& dilations,
                   PadType auto_pad = PadType::EXPLICIT)
      : GroupConvolution(OutputVector{data, filters},
                         detail::window(strides, pads_begin, pads_end, dilations, auto_pad)) {}
};

class ConvolutionBackpropData : public Node {
  TERROIR_LAYER(ConvolutionBackpropData, "ConvolutionBackpropData", "opset1")
  ConvolutionBackpropData(const Output<Node>& data, const Output<Node>& filters, const Output<Node>& output_shape,
                          const Strides& strides, const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end,
                          const Strides& dilations, PadType auto_pad = PadType::EXPLICIT,
                          const CoordinateDiff& output_padding = {})
      : ConvolutionBackpropData(OutputVector{data, filters, output_shape},
                                detail::window(strides, pads_begin, pads_end, dilations, auto_pad, output_padding)) {}
  ConvolutionBackpropData(const Output<Node>& data, const Output<Node>& filters, const Strides& strides,
                          const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end, const Strides& dilations,
                          PadType auto_pad = PadType::EXPLICIT, const CoordinateDiff& output_padding = {})
      : ConvolutionBackpropData(OutputVector{data, filters},
                                detail::window(strides, pads_begin, pads_end, dilations, auto_pad, output_padding)) {}
};

class GroupConvolutionBackpropData : public Node {
  TERROIR_LAYER(GroupConvolutionBackpropData, "GroupConvolutionBackpropData", "opset1")
  GroupConvolutionBackpropData(const Output<Node>& data, const Output<Node>& filters, const Output<Node>& output_shape,
                               const Strides& strides, const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end,
                               const Strides& dilations, PadType auto_pad = PadType::EXPLICIT,
                               const CoordinateDiff& output_padding = {})
      : GroupConvolutionBackpropData(
            OutputVector{data, filters, output_shape},
            detail::window(strides, pads_begin, pads_end, dilations, auto_pad, output_padding)) {}
  GroupConvolutionBackpropData(const Output<Node>& data, const Output<Node>& filters, const Strides& strides,
                               const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end,
                               const Strides& dilations, PadType auto_pad = PadType::EXPLICIT,
                               const CoordinateDiff& output_padding = {})
      : GroupConvolutionBackpropData(OutputVector{data, filters}, detail::window(strides, pads_begin, pads_end,
                                                                                 dilations, auto_pad, output_padding)) {
  }
};

}  // namespace v1
}  // namespace op
}  // namespace terroir
