// Convolutions and matrix products, as code makes them.
#pragma once

#include <string>

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

inline AnyMap in_groups(AnyMap attributes, int64_t group, int64_t deformable_group) {
  attributes.emplace("group", group);
  attributes.emplace("deformable_group", deformable_group);
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

/// Of data and filters that stand for -1 and 1.
class BinaryConvolution : public Node {
  TERROIR_LAYER(BinaryConvolution, "BinaryConvolution", "opset1")
  enum class BinaryConvolutionMode { XNOR_POPCOUNT };
  BinaryConvolution(const Output<Node>& data, const Output<Node>& filters, const Strides& strides,
                    const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end, const Strides& dilations,
                    BinaryConvolutionMode, float pad_value, PadType auto_pad = PadType::EXPLICIT)
      : BinaryConvolution(data, filters, strides, pads_begin, pads_end, dilations, "xnor-popcount", pad_value,
                          auto_pad) {}
  BinaryConvolution(const Output<Node>& data, const Output<Node>& filters, const Strides& strides,
                    const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end, const Strides& dilations,
                    const std::string& mode, float pad_value, PadType auto_pad = PadType::EXPLICIT)
      : BinaryConvolution(
            OutputVector{data, filters},
            of_bits(detail::window(strides, pads_begin, pads_end, dilations, auto_pad), mode, pad_value)) {}

 private:
  static AnyMap of_bits(AnyMap attributes, const std::string& mode, float pad_value) {
    attributes.emplace("mode", mode);
    attributes.emplace("pad_value", pad_value);
    return attributes;
  }
};

class DeformableConvolution : public Node {
  TERROIR_LAYER(DeformableConvolution, "DeformableConvolution", "opset1")
  DeformableConvolution(const Output<Node>& data, const Output<Node>& offsets, const Output<Node>& filters,
                        const Strides& strides, const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end,
                        const Strides& dilations, PadType auto_pad = PadType::EXPLICIT, int64_t group = 1,
                        int64_t deformable_group = 1)
      : DeformableConvolution(OutputVector{data, offsets, filters},
                              detail::in_groups(detail::window(strides, pads_begin, pads_end, dilations, auto_pad),
                                                group, deformable_group)) {}
};

}  // namespace v1

namespace v7 {

class Einsum : public Node {
  TERROIR_LAYER(Einsum, "Einsum", "opset7")
  Einsum(const OutputVector& inputs, const std::string& equation) : Einsum(inputs, AnyMap{{"equation", equation}}) {}
};

}  // namespace v7

namespace v8 {

class DeformableConvolution : public Node {
  TERROIR_LAYER(DeformableConvolution, "DeformableConvolution", "opset8")
  DeformableConvolution(const Output<Node>& data, const Output<Node>& offsets, const Output<Node>& filters,
                        const Strides& strides, const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end,
                        const Strides& dilations, PadType auto_pad = PadType::EXPLICIT, int64_t group = 1,
                        int64_t deformable_group = 1, bool bilinear_interpolation_pad = false)
      : DeformableConvolution(
            OutputVector{data, offsets, filters},
            with_padding(detail::in_groups(detail::window(strides, pads_begin, pads_end, dilations, auto_pad), group,
                                           deformable_group),
                         bilinear_interpolation_pad)) {}
  DeformableConvolution(const Output<Node>& data, const Output<Node>& offsets, const Output<Node>& filters,
                        const Output<Node>& mask, const Strides& strides, const CoordinateDiff& pads_begin,
                        const CoordinateDiff& pads_end, const Strides& dilations, PadType auto_pad = PadType::EXPLICIT,
                        int64_t group = 1, int64_t deformable_group = 1, bool bilinear_interpolation_pad = false)
      : DeformableConvolution(
            OutputVector{data, offsets, filters, mask},
            with_padding(detail::in_groups(detail::window(strides, pads_begin, pads_end, dilations, auto_pad), group,
                                           deformable_group),
                         bilinear_interpolation_pad)) {}

 private:
  static AnyMap with_padding(AnyMap attributes, bool bilinear_interpolation_pad) {
    attributes.emplace("bilinear_interpolation_pad", bilinear_interpolation_pad);
    return attributes;
  }
};

}  // namespace v8

namespace v14 {

class Inverse : public Node {
  TERROIR_LAYER(Inverse, "Inverse", "opset14")
  explicit Inverse(const Output<Node>& data, bool adjoint = false)
      : Inverse(OutputVector{data}, {{"adjoint", adjoint}}) {}
};

}  // namespace v14
}  // namespace op
}  // namespace terroir
