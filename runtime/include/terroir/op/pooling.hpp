// Pooling, as code makes it.
#pragma once

#include "terroir/element_type.hpp"
#include "terroir/op/attribute_access.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {

namespace detail {

inline AnyMap pooling(const Shape& kernel, const Strides& strides, const Shape& pads_begin, const Shape& pads_end,
                      op::RoundingType rounding_type, op::PadType auto_pad) {
  return {{"kernel", kernel},
          {"strides", strides},
          {"pads_begin", pads_begin},
          {"pads_end", pads_end},
          {"rounding_type", spelling(rounding_type)},
          {"auto_pad", spelling(auto_pad)}};
}

inline AnyMap with(AnyMap attributes, const AnyMap& more) {
  attributes.insert(more.begin(), more.end());
  return attributes;
}

}  // namespace detail

namespace op {
namespace util {

/// All windows.
class PoolingBase : public Node {
  TERROIR_LAYER_BASE(Node, PoolingBase)
  const Shape get_kernel() const { return detail::attribute<Shape>(*this, "kernel"); }
  void set_kernel(const Shape& kernel) { detail::set_attribute(*this, "kernel", kernel); }
  const Strides get_strides() const { return detail::attribute<Strides>(*this, "strides"); }
  void set_strides(const Strides& strides) { detail::set_attribute(*this, "strides", strides); }
  const Shape get_pads_begin() const { return detail::attribute<Shape>(*this, "pads_begin"); }
  void set_pads_begin(const Shape& pads_begin) { detail::set_attribute(*this, "pads_begin", pads_begin); }
  const Shape get_pads_end() const { return detail::attribute<Shape>(*this, "pads_end"); }
  void set_pads_end(const Shape& pads_end) { detail::set_attribute(*this, "pads_end", pads_end); }
  RoundingType get_rounding_type() const { return detail::attribute<RoundingType>(*this, "rounding_type"); }
  void set_rounding_type(RoundingType rounding_type) { detail::set_attribute(*this, "rounding_type", rounding_type); }
  PadType get_auto_pad() const { return detail::attribute<PadType>(*this, "auto_pad"); }
  void set_auto_pad(PadType auto_pad) { detail::set_attribute(*this, "auto_pad", auto_pad); }
};

/// Averages.
class AvgPoolBase : public PoolingBase {
  TERROIR_LAYER_BASE(PoolingBase, AvgPoolBase)
  bool get_exclude_pad() const { return detail::attribute<bool>(*this, "exclude-pad"); }
  void set_exclude_pad(bool exclude_pad) { detail::set_attribute(*this, "exclude-pad", exclude_pad); }
};

class MaxPoolBase : public PoolingBase {
  TERROIR_LAYER_BASE(PoolingBase, MaxPoolBase)
};

/// Maxima that tell where they were.
class IndexedMaxPoolBase : public MaxPoolBase {
  TERROIR_LAYER_BASE(MaxPoolBase, IndexedMaxPoolBase)
  const Strides get_dilations() const { return detail::attribute<Strides>(*this, "dilations"); }
  void set_dilations(const Strides& dilations) { detail::set_attribute(*this, "dilations", dilations); }
  const element::Type get_index_element_type() const {
    return detail::attribute<element::Type>(*this, "index_element_type");
  }
  void set_index_element_type(const element::Type& index_element_type) {
    detail::set_attribute(*this, "index_element_type", index_element_type);
  }
  int64_t get_axis() const { return detail::attribute<int64_t>(*this, "axis"); }
  void set_axis(int64_t axis) { detail::set_attribute(*this, "axis", axis); }
};

}  // namespace util

namespace v1 {

class MaxPool : public util::MaxPoolBase {
  TERROIR_LAYER_OF(util::MaxPoolBase, MaxPool, "MaxPool", "opset1")
  MaxPool(const Output<Node>& data, const Strides& strides, const Shape& pads_begin, const Shape& pads_end,
          const Shape& kernel, RoundingType rounding_type = RoundingType::FLOOR, PadType auto_pad = PadType::EXPLICIT)
      : MaxPool(OutputVector{data}, detail::pooling(kernel, strides, pads_begin, pads_end, rounding_type, auto_pad)) {}
};

class AvgPool : public util::AvgPoolBase {
  TERROIR_LAYER_OF(util::AvgPoolBase, AvgPool, "AvgPool", "opset1")
  AvgPool(const Output<Node>& data, const Strides& strides, const Shape& pads_begin, const Shape& pads_end,
          const Shape& kernel, bool exclude_pad, RoundingType rounding_type = RoundingType::FLOOR,
          PadType auto_pad = PadType::EXPLICIT)
      : AvgPool(OutputVector{data},
                detail::with(detail::pooling(kernel, strides, pads_begin, pads_end, rounding_type, auto_pad),
                             {{"exclude-pad", exclude_pad}})) {}
};

}  // namespace v1

namespace v8 {

/// Output 1: where each maximum was.
class MaxPool : public util::IndexedMaxPoolBase {
  TERROIR_LAYER_OF(util::IndexedMaxPoolBase, MaxPool, "MaxPool", "opset8")
  MaxPool(const Output<Node>& data, const Strides& strides, const Strides& dilations, const Shape& pads_begin,
          const Shape& pads_end, const Shape& kernel, RoundingType rounding_type = RoundingType::FLOOR,
          PadType auto_pad = PadType::EXPLICIT, const element::Type& index_element_type = element::i64,
          int64_t axis = 0)
      : MaxPool(OutputVector{data},
                detail::with(detail::pooling(kernel, strides, pads_begin, pads_end, rounding_type, auto_pad),
                             {{"dilations", dilations}, {"index_element_type", index_element_type}, {"axis", axis}})) {}
};

class AdaptiveAvgPool : public Node {
  TERROIR_LAYER(AdaptiveAvgPool, "AdaptiveAvgPool", "opset8")
  AdaptiveAvgPool(const Output<Node>& data, const Output<Node>& output_shape)
      : AdaptiveAvgPool(OutputVector{data, output_shape}) {}
};

class AdaptiveMaxPool : public Node {
  TERROIR_LAYER(AdaptiveMaxPool, "AdaptiveMaxPool", "opset8")
  AdaptiveMaxPool(const Output<Node>& data, const Output<Node>& output_shape,
                  const element::Type& index_element_type = element::i64)
      : AdaptiveMaxPool(OutputVector{data, output_shape}, {{"index_element_type", index_element_type}}) {}
  const element::Type get_index_element_type() const {
    return detail::attribute<element::Type>(*this, "index_element_type");
  }
  void set_index_element_type(const element::Type& index_element_type) {
    detail::set_attribute(*this, "index_element_type", index_element_type);
  }
};

}  // namespace v8

namespace v14 {

class MaxPool : public util::IndexedMaxPoolBase {
  TERROIR_LAYER_OF(util::IndexedMaxPoolBase, MaxPool, "MaxPool", "opset14")
  MaxPool(const Output<Node>& data, const Strides& strides, const Strides& dilations, const Shape& pads_begin,
          const Shape& pads_end, const Shape& kernel, RoundingType rounding_type = RoundingType::FLOOR,
          PadType auto_pad = PadType::EXPLICIT, const element::Type& index_element_type = element::i64,
          int64_t axis = 0)
      : MaxPool(OutputVector{data},
                detail::with(detail::pooling(kernel, strides, pads_begin, pads_end, rounding_type, auto_pad),
                             {{"dilations", dilations}, {"index_element_type", index_element_type}, {"axis", axis}})) {}
};

class AvgPool : public util::AvgPoolBase {
  TERROIR_LAYER_OF(util::AvgPoolBase, AvgPool, "AvgPool", "opset14")
  AvgPool(const Output<Node>& data, const Strides& strides, const Shape& pads_begin, const Shape& pads_end,
          const Shape& kernel, bool exclude_pad, RoundingType rounding_type = RoundingType::FLOOR,
          PadType auto_pad = PadType::EXPLICIT)
      : AvgPool(OutputVector{data},
                detail::with(detail::pooling(kernel, strides, pads_begin, pads_end, rounding_type, auto_pad),
                             {{"exclude-pad", exclude_pad}})) {}
};

}  // namespace v14

namespace v16 {

class AvgPool : public util::AvgPoolBase {
  TERROIR_LAYER_OF(util::AvgPoolBase, AvgPool, "AvgPool", "opset16")
  AvgPool(const Output<Node>& data, const Strides& strides, const Strides& dilations, const Shape& pads_begin,
          const Shape& pads_end, const Shape& kernel, bool exclude_pad,
          RoundingType rounding_type = RoundingType::FLOOR, PadType auto_pad = PadType::EXPLICIT)
      : AvgPool(OutputVector{data},
                detail::with(detail::pooling(kernel, strides, pads_begin, pads_end, rounding_type, auto_pad),
                             {{"dilations", dilations}, {"exclude-pad", exclude_pad}})) {}
  const Strides get_dilations() const { return detail::attribute<Strides>(*this, "dilations"); }
  void set_dilations(const Strides& dilations) { detail::set_attribute(*this, "dilations", dilations); }
};

}  // namespace v16
}  // namespace op
}  // namespace terroir
