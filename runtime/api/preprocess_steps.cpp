#include "runtime/api/preprocess_steps.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ir/base/error.hpp"
#include "runtime/api/graph_state.hpp"
#include "runtime/api/layout_axes.hpp"
#include "runtime/api/model_ends.hpp"
#include "runtime/api/preprocess_layers.hpp"

namespace terroir::preprocess::detail {

using terroir::detail::axis_of;
using terroir::detail::NodeAccess;

const Output<Node>& only_value(const Flow& flow, const char* verb) {
  if (flow.values.size() != 1) {
    throw_error(ErrorCode::invalid_argument, "cannot ", verb, " an image of ", flow.values.size(),
                " planes; put convert_color(ColorFormat::RGB) or the like before this step");
  }
  return flow.values.front();
}

Output<Node> Layers::add(const char* type, const char* opset, const std::vector<Output<Node>>& inputs,
                         const char* suffix, const AnyMap& attributes) {
  const ir::Graph& graph = *NodeAccess::state(*inputs.at(0).get_node())->graph;
  const auto is_taken = [&](const std::string& name) {
    for (const ir::NodeId id : graph.nodes()) {
      if (graph.node(id).name == name) return true;
    }
    return false;
  };
  std::string name = prefix_ + suffix;
  for (int i = 2; is_taken(name); ++i) name = concat(prefix_, suffix, "_", i);
  Output<Node> value = builder_.op(type, opset, inputs, attributes, name);
  value.set_names({});  // tensors of the program have names, those between the steps need none
  return value;
}

namespace {

std::string list(const std::vector<float>& values) {
  std::string text = "(";
  for (const float value : values) text += (text.size() == 1 ? "" : ",") + concat(value);
  return text + ")";
}

void require_real(const element::Type& type) {
  if (type.is_real()) return;
  throw_error(ErrorCode::invalid_argument, "elements of type ", type,
              " cannot be computed with; put convert_element_type(element::f32) before this step");
}

/// A constant that broadcasts over `value`: of one element, or of one per channel.
Output<Node> per_channel(Layers& layers, const Flow& flow, const std::vector<float>& values) {
  const Output<Node>& value = flow.values.front();
  const element::Type type = value.get_element_type();
  if (values.size() == 1) return layers.numbers(type, Shape{}, values);
  const PartialShape shape = value.get_partial_shape();
  const int64_t axis = axis_of(flow.layout, "C", shape);
  if (!shape[axis].compatible(static_cast<int64_t>(values.size()))) {
    throw_error(ErrorCode::invalid_argument, "expected one value, or one for each of ", shape[axis], " channels (axis ",
                axis, " of ", shape, ", layout ", flow.layout, "), got ", values.size());
  }
  Shape broadcast(shape.size(), 1);
  broadcast[static_cast<size_t>(axis)] = values.size();
  return layers.numbers(type, broadcast, values);
}

Step arithmetic_step(const char* word, const char* operation, const std::vector<float>& values) {
  const bool divides = operation == std::string_view("Divide");
  const auto fits = [&](float value) { return std::isfinite(value) && (!divides || value != 0); };
  if (values.empty() || !std::all_of(values.begin(), values.end(), fits))
    throw_error(ErrorCode::invalid_argument, word,
                divides ? ": expected finite values other than 0, got " : ": expected finite values, got ",
                list(values));
  return {concat(word, " ", list(values)), [word, operation, values](Flow& flow) {
            const Output<Node> value = only_value(flow, "compute with");
            require_real(value.get_element_type());
            Layers layers(flow);
            flow.values = {layers.add(operation, "opset1", {value, per_channel(layers, flow, values)}, word)};
          }};
}

const char* mode_of(ResizeAlgorithm algorithm) {
  switch (algorithm) {
    case ResizeAlgorithm::RESIZE_CUBIC:
      return "cubic";
    case ResizeAlgorithm::RESIZE_NEAREST:
      return "nearest";
    case ResizeAlgorithm::RESIZE_BILINEAR_PILLOW:
      return "bilinear_pillow";
    case ResizeAlgorithm::RESIZE_BICUBIC_PILLOW:
      return "bicubic_pillow";
    case ResizeAlgorithm::RESIZE_LINEAR:
      break;
  }
  return "linear";
}

/// Height or width of the model's input.
int64_t model_extent(const Flow& flow, const char* axis_name) {
  const int64_t axis = axis_of(flow.target_layout, axis_name, flow.model_shape);
  const Dimension& extent = flow.model_shape[axis];
  if (extent.is_dynamic()) {
    throw_error(ErrorCode::invalid_argument, "axis '", axis_name, "' of the model's input of shape ", flow.model_shape,
                " has no fixed extent to resize to; say resize(algorithm, height, width)");
  }
  return extent.get_length();
}

const char* mode_of(PaddingMode mode) {
  switch (mode) {
    case PaddingMode::EDGE:
      return "edge";
    case PaddingMode::REFLECT:
      return "reflect";
    case PaddingMode::SYMMETRIC:
      return "symmetric";
    case PaddingMode::CONSTANT:
      break;
  }
  return "constant";
}

}  // namespace

Step mean_step(const std::vector<float>& values) { return arithmetic_step("mean", "Subtract", values); }
Step scale_step(const std::vector<float>& values) { return arithmetic_step("scale", "Divide", values); }

Step convert_type_step(const element::Type& type) {
  return {concat("convert type (", type.is_dynamic() ? "not given" : type.to_string(), ")"), [type](Flow& flow) {
            const element::Type to = type.is_dynamic() ? flow.target_type : type;
            if (to.is_dynamic()) {
              throw_error(ErrorCode::invalid_argument,
                          "no element type to convert to; say which, or tensor().set_element_type()");
            }
            Layers layers(flow);
            for (Output<Node>& value : flow.values) {
              if (value.get_element_type().is_dynamic()) {
                throw_error(ErrorCode::invalid_argument,
                            "the element type to convert from is not known; say tensor().set_element_type()");
              }
              if (value.get_element_type() == to) continue;
              value = layers.add("Convert", "opset1", {value}, "convert", {{"destination_type", to}});
            }
          }};
}

Step convert_layout_step(const Layout& layout) {
  return {concat("convert layout ", layout.empty() ? "(not given)" : layout.to_string()), [layout](Flow& flow) {
            const Output<Node> value = only_value(flow, "convert the layout of");
            const Layout to = layout.empty() ? flow.target_layout : layout;
            if (to.empty()) return;
            size_t added = 0;
            const auto [shape, from] = terroir::detail::with_axes({value.get_partial_shape(), flow.layout}, to, added);
            const auto order = terroir::detail::order_between(from, to, shape.rank());
            Layers layers(flow);
            if (added != 0) {
              std::vector<int64_t> axes(added);
              for (size_t i = 0; i < added; ++i) axes[i] = static_cast<int64_t>(i);
              flow.values = {layers.add("Unsqueeze", "opset1", {value, layers.indices(axes)}, "add_axes")};
            }
            if (!order.empty()) {
              flow.values = {
                  layers.add("Transpose", "opset1", {flow.values.front(), layers.indices(order)}, "convert_layout")};
            }
            flow.layout = to;
          }};
}

Step transpose_step(const std::vector<uint64_t>& order) {
  std::string text;
  for (const uint64_t axis : order) text += (text.empty() ? "(" : ",") + std::to_string(axis);
  return {concat("convert layout ", text, ")"), [order](Flow& flow) {
            const Output<Node> value = only_value(flow, "convert the layout of");
            flow.layout = terroir::detail::transposed(flow.layout, order);
            Layers layers(flow);
            flow.values = {layers.add("Transpose", "opset1", {value, layers.indices(order)}, "convert_layout")};
          }};
}

Step clamp_step(double min, double max) {
  return {concat("clamp (", min, ",", max, ")"), [min, max](Flow& flow) {
            const Output<Node> value = only_value(flow, "clamp");
            if (!(min <= max)) {
              throw_error(ErrorCode::invalid_argument, "the lower limit ", min, " is above the upper one ", max);
            }
            Layers layers(flow);
            flow.values = {layers.add("Clamp", "opset1", {value}, "clamp", {{"min", min}, {"max", max}})};
          }};
}

Step custom_step(const std::function<Output<Node>(const Output<Node>&)>& callback) {
  return {"custom", [callback](Flow& flow) {
            const Output<Node> value = only_value(flow, "take a step of your own with");
            if (!callback) throw_error(ErrorCode::invalid_argument, "the function to call is empty");
            const Output<Node> result = callback(value);
            if (result.get_node() == nullptr ||
                NodeAccess::state(*result.get_node()) != NodeAccess::state(*value.get_node())) {
              throw_error(ErrorCode::invalid_argument, "expected an output of a layer of the same model, got ", result,
                          "; make layers with ModelBuilder(node) from the node that the function is given");
            }
            if (terroir::detail::is_result(NodeAccess::node(*result.get_node()))) {
              throw_error(ErrorCode::invalid_argument,
                          "an output of the model cannot be the value of a step: ", result);
            }
            flow.values = {result};
          }};
}

Step resize_step(ResizeAlgorithm algorithm, int64_t height, int64_t width) {
  const std::string text =
      height < 0 ? "resize to model width/height" : concat("resize to (", height, ", ", width, ")");
  return {text, [algorithm, height, width](Flow& flow) {
            const Output<Node> value = only_value(flow, "resize");
            const PartialShape shape = value.get_partial_shape();
            const int64_t axis_h = axis_of(flow.layout, "H", shape), axis_w = axis_of(flow.layout, "W", shape);
            if (shape[axis_h] == 0 || shape[axis_w] == 0) {
              throw_error(ErrorCode::invalid_argument, "an image of shape ", shape, " has no pixels to resize");
            }
            const std::vector<int64_t> sizes =
                height < 0 ? std::vector{model_extent(flow, "H"), model_extent(flow, "W")} : std::vector{height, width};
            Layers layers(flow);
            flow.values = {layers.add("Interpolate", "opset11",
                                      {value, layers.indices(sizes), layers.indices(std::vector{axis_h, axis_w})},
                                      "resize", {{"mode", mode_of(algorithm)}, {"shape_calculation_mode", "sizes"}})};
          }};
}

Step crop_step(const std::vector<int>& begin, const std::vector<int>& end) {
  return {concat("crop (", begin, ",", end, ")"), [begin, end](Flow& flow) {
            const Output<Node> value = only_value(flow, "crop");
            const Rank rank = value.get_partial_shape().rank();
            if (rank.is_static() && begin.size() > static_cast<size_t>(rank.get_length())) {
              throw_error(ErrorCode::invalid_argument, "expected bounds for at most ", rank,
                          " axes of a tensor of shape ", value.get_partial_shape(), ", got ", begin.size());
            }
            Layers layers(flow);
            flow.values = {layers.add(
                "Slice", "opset8",
                {value, layers.indices(begin), layers.indices(end), layers.indices(std::vector<int>(begin.size(), 1))},
                "crop")};
          }};
}

Step pad_step(const std::vector<int>& begin, const std::vector<int>& end, const std::vector<float>& values,
              PaddingMode mode) {
  const std::string filled = mode == PaddingMode::CONSTANT ? "with " + list(values) : mode_of(mode);
  return {concat("pad (begin ", begin, ", end ", end, ", ", filled, ")"), [begin, end, values, mode](Flow& flow) {
            const Output<Node> value = only_value(flow, "pad");
            require_real(value.get_element_type());
            const PartialShape shape = value.get_partial_shape();
            for (const size_t count : {begin.size(), end.size()}) {
              if (count == (shape.rank().is_static() ? shape.size() : begin.size())) continue;
              throw_error(ErrorCode::invalid_argument, "expected as many numbers as the shape ", shape,
                          " has axes at the beginning and at the end, got ", begin.size(), " and ", end.size());
            }
            if (values.size() != 1) {
              throw_error(ErrorCode::invalid_argument, "expected one value to pad with, got ", values.size());
            }
            Layers layers(flow);
            flow.values = {layers.add("Pad", "opset12",
                                      {value, layers.indices(begin), layers.indices(end),
                                       layers.numbers(value.get_element_type(), Shape{}, values)},
                                      "pad", {{"pad_mode", mode_of(mode)}})};
          }};
}

std::vector<Step> implicit_steps(const Flow& flow) {
  std::vector<Step> steps;
  const element::Type type = flow.values.front().get_element_type();
  if (type != flow.target_type && flow.target_type.is_static() && type.is_static()) {
    steps.push_back(convert_type_step(flow.target_type));
  }
  if (!flow.target_layout.empty() && flow.target_layout != flow.layout) {
    steps.push_back(convert_layout_step(flow.target_layout));
  }
  return steps;
}

}  // namespace terroir::preprocess::detail
