// Pooling, as code makes it.
#pragma once

#include "terroir/element_type.hpp"
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
namespace v1 {

class MaxPool : public Node {
  TERROIR_LAYER(MaxPool, "MaxPool", "opset1")
  MaxPool(const Output<Node>& data, const Strides& strides, const Shape& pads_begin, const Shape& pads_end,
          const Shape& kernel, RoundingType rounding_type = RoundingType::FLOOR, PadType auto_pad = PadType::EXPLICIT)
      : MaxPool(OutputVector{data}, detail::pooling(kernel, strides, pads_begin, pads_end, rounding_type, auto_pad)) {}
};

class AvgPool : public Node {
  TERROIR_LAYER(AvgPool, "AvgPool", "opset1")
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
class MaxPool : public Node {
  TERROIR_LAYER(MaxPool, "MaxPool", "opset8")
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
};

}  // namespace v8

namespace v14 {

class MaxPool : public Node {
  TERROIR_LAYER(MaxPool, "MaxPool", "opset14")
  MaxPool(const Output<Node>& data, const Strides& strides, const Strides& dilations, const Shape& pads_begin,
          const Shape& pads_end, const Shape& kernel, RoundingType rounding_type = RoundingType::FLOOR,
          PadType auto_pad = PadType::EXPLICIT, const element::Type& index_element_type = element::i64,
          int64_t axis = 0)
      : MaxPool(OutputVector{data},
                detail::with(detail::pooling(kernel, strides, pads_begin, pads_end, rounding_type, auto_pad),
                             {{"dilations", dilations}, {"index_element_type", index_element_type}, {"axis", axis}})) {}
};

class AvgPool : public Node {
  TERROIR_LAYER(AvgPool, "AvgPool", "opset14")
  AvgPool(const Output<Node>& data, const Strides& strides, const Shape& pads_begin, const Shape& pads_end,
          const Shape& kernel, bool exclude_pad, RoundingType rounding_type = RoundingType::FLOOR,
          PadType auto_pad = PadType::EXPLICIT)
      : AvgPool(OutputVector{data},
                detail::with(detail::pooling(kernel, strides, pads_begin, pads_end, rounding_type, auto_pad),
                             {{"exclude-pad", exclude_pad}})) {}
};

}  // namespace v14

namespace v16 {

class AvgPool : public Node {
  TERROIR_LAYER(AvgPool, "AvgPool", "opset16")
  AvgPool(const Output<Node>& data, const Strides& strides, const Strides& dilations, const Shape& pads_begin,
          const Shape& pads_end, const Shape& kernel, bool exclude_pad,
          RoundingType rounding_type = RoundingType::FLOOR, PadType auto_pad = PadType::EXPLICIT)
      : AvgPool(OutputVector{data},
                detail::with(detail::pooling(kernel, strides, pads_begin, pads_end, rounding_type, auto_pad),
                             {{"dilations", dilations}, {"exclude-pad", exclude_pad}})) {}
};

}  // namespace v16
}  // namespace op
}  // namespace terroir
