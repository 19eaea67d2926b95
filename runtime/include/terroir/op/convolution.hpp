// Convolutions and matrix products, as code makes them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "terroir/op/attribute_access.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/constant.hpp"
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
namespace util {

/// All convolutions.
class ConvolutionBase : public Node {
  TERROIR_LAYER_BASE(Node, ConvolutionBase)
  const Strides get_strides() const { return detail::attribute<Strides>(*this, "strides"); }
  void set_strides(const Strides& strides) { detail::set_attribute(*this, "strides", strides); }
  const Strides get_dilations() const { return detail::attribute<Strides>(*this, "dilations"); }
  void set_dilations(const Strides& dilations) { detail::set_attribute(*this, "dilations", dilations); }
  const CoordinateDiff get_pads_begin() const { return detail::attribute<CoordinateDiff>(*this, "pads_begin"); }
  void set_pads_begin(const CoordinateDiff& pads_begin) { detail::set_attribute(*this, "pads_begin", pads_begin); }
  const CoordinateDiff get_pads_end() const { return detail::attribute<CoordinateDiff>(*this, "pads_end"); }
  void set_pads_end(const CoordinateDiff& pads_end) { detail::set_attribute(*this, "pads_end", pads_end); }
  PadType get_auto_pad() const { return detail::attribute<PadType>(*this, "auto_pad"); }
  void set_auto_pad(PadType auto_pad) { detail::set_attribute(*this, "auto_pad", auto_pad); }
};

class ConvolutionFwdPropBase : public ConvolutionBase {
  TERROIR_LAYER_BASE(ConvolutionBase, ConvolutionFwdPropBase)
};

/// Those that make images larger.
class ConvolutionBackPropBase : public ConvolutionBase {
  TERROIR_LAYER_BASE(ConvolutionBase, ConvolutionBackPropBase)
  const CoordinateDiff get_output_padding() const { return detail::attribute<CoordinateDiff>(*this, "output_padding"); }
  void set_output_padding(const CoordinateDiff& output_padding) {
    detail::set_attribute(*this, "output_padding", output_padding);
  }
  using Node::get_output_shape;
  /// The spatial extents that input 2 says; unknown if it is no Constant.
  const PartialShape get_output_shape() const {
    const int64_t axes =
        get_input_partial_shape(0).rank().is_static() ? get_input_partial_shape(0).rank().get_length() : 0;
    if (get_input_size() < 3) return PartialShape::dynamic();
    const std::vector<int64_t> extents = detail::constant_input<int64_t>(*this, 2);
    if (!extents.empty()) return extents;
    return axes > 2 ? PartialShape::dynamic(axes - 2) : PartialShape::dynamic();
  }
  /// Input 2 becomes a Constant. Throws Exception (invalid_argument) for a layer without it.
  void set_output_shape(const Shape& output_shape) {
    set_argument(
        2, std::make_shared<v0::Constant>(element::i64, Shape{output_shape.size()}, std::vector<size_t>(output_shape)));
  }
};

/// Those whose windows have offsets.
class DeformableConvolutionBase : public ConvolutionBase {
  TERROIR_LAYER_BASE(ConvolutionBase, DeformableConvolutionBase)
  int64_t get_group() const { return detail::attribute<int64_t>(*this, "group"); }
  void set_group(int64_t group) { detail::set_attribute(*this, "group", group); }
  int64_t get_deformable_group() const { return detail::attribute<int64_t>(*this, "deformable_group"); }
  void set_deformable_group(int64_t deformable_group) {
    detail::set_attribute(*this, "deformable_group", deformable_group);
  }
};

}  // namespace util

namespace v0 {

class MatMul : public Node {
  TERROIR_LAYER(MatMul, "MatMul", "opset1")
  MatMul(const Output<Node>& a, const Output<Node>& b, bool transpose_a = false, bool transpose_b = false)
      : MatMul(OutputVector{a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}) {}
  bool get_transpose_a() const { return detail::attribute<bool>(*this, "transpose_a"); }
  void set_transpose_a(bool transpose_a) { detail::set_attribute(*this, "transpose_a", transpose_a); }
  bool get_transpose_b() const { return detail::attribute<bool>(*this, "transpose_b"); }
  void set_transpose_b(bool transpose_b) { detail::set_attribute(*this, "transpose_b", transpose_b); }
};

}  // namespace v0

namespace v1 {

class Convolution : public util::ConvolutionFwdPropBase {
  TERROIR_LAYER_OF(util::ConvolutionFwdPropBase, Convolution, "Convolution", "opset1")
  Convolution(const Output<Node>& data, const Output<Node>& filters, const Strides& strides,
              const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end, const Strides& dilations,
              PadType auto_pad = PadType::EXPLICIT)
      : Convolution(OutputVector{data, filters}, detail::window(strides, pads_begin, pads_end, dilations, auto_pad)) {}
};

class GroupConvolution : public util::ConvolutionFwdPropBase {
  TERROIR_LAYER_OF(util::ConvolutionFwdPropBase, GroupConvolution, "GroupConvolution", "opset1")
  GroupConvolution(const Output<Node>& data, const Output<Node>& filters, const Strides& strides,
                   const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end, const Strides& dilations,
                   PadType auto_pad = PadType::EXPLICIT)
      : GroupConvolution(OutputVector{data, filters},
                         detail::window(strides, pads_begin, pads_end, dilations, auto_pad)) {}
};

class ConvolutionBackpropData : public util::ConvolutionBackPropBase {
  TERROIR_LAYER_OF(util::ConvolutionBackPropBase, ConvolutionBackpropData, "ConvolutionBackpropData", "opset1")
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

class GroupConvolutionBackpropData : public util::ConvolutionBackPropBase {
  TERROIR_LAYER_OF(util::ConvolutionBackPropBase, GroupConvolutionBackpropData, "GroupConvolutionBackpropData",
                   "opset1")
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
class BinaryConvolution : public util::ConvolutionFwdPropBase {
  TERROIR_LAYER_OF(util::ConvolutionFwdPropBase, BinaryConvolution, "BinaryConvolution", "opset1")
  enum class BinaryConvolutionMode { XNOR_POPCOUNT };
  friend detail::Names<1> spellings(BinaryConvolutionMode) { return {"xnor-popcount"}; }
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
  BinaryConvolutionMode get_mode() const { return detail::attribute<BinaryConvolutionMode>(*this, "mode"); }
  float get_pad_value() const { return detail::attribute<float>(*this, "pad_value"); }
  void set_pad_value(float pad_value) { detail::set_attribute(*this, "pad_value", pad_value); }

 private:
  static AnyMap of_bits(AnyMap attributes, const std::string& mode, float pad_value) {
    attributes.emplace("mode", mode);
    attributes.emplace("pad_value", pad_value);
    return attributes;
  }
};

class DeformableConvolution : public util::DeformableConvolutionBase {
  TERROIR_LAYER_OF(util::DeformableConvolutionBase, DeformableConvolution, "DeformableConvolution", "opset1")
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
  const std::string get_equation() const { return detail::attribute<std::string>(*this, "equation"); }
  void set_equation(const std::string& equation) { detail::set_attribute(*this, "equation", equation); }
};

}  // namespace v7

namespace v8 {

class DeformableConvolution : public util::DeformableConvolutionBase {
  TERROIR_LAYER_OF(util::DeformableConvolutionBase, DeformableConvolution, "DeformableConvolution", "opset8")
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
  bool get_bilinear_interpolation_pad() const { return detail::attribute<bool>(*this, "bilinear_interpolation_pad"); }
  void set_bilinear_interpolation_pad(bool bilinear_interpolation_pad) {
    detail::set_attribute(*this, "bilinear_interpolation_pad", bilinear_interpolation_pad);
  }

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
  bool get_adjoint() const { return detail::attribute<bool>(*this, "adjoint"); }
  void set_adjoint(bool adjoint) { detail::set_attribute(*this, "adjoint", adjoint); }
};

}  // namespace v14
}  // namespace op
}  // namespace terroir
