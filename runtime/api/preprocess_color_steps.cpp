// Steps that know what channels mean.
#include "ir/base/error.hpp"
#include "runtime/api/layout_axes.hpp"
#include "runtime/api/preprocess_color.hpp"
#include "runtime/api/preprocess_layers.hpp"

namespace terroir::preprocess::detail {

using terroir::detail::axis_of;

namespace {

bool is_rgb(ColorFormat format) { return format == ColorFormat::RGB || format == ColorFormat::BGR; }
bool has_fourth(ColorFormat format) { return format == ColorFormat::RGBX || format == ColorFormat::BGRX; }

void reverse_channels(Flow& flow) {
  const Output<Node> value = only_value(flow, "reverse the channels of");
  const PartialShape shape = value.get_partial_shape();
  const int64_t axis = axis_of(flow.layout, "C", shape);
  Layers layers(flow);
  if (shape[axis].is_dynamic()) {
    flow.values = {layers.add("Reverse", "opset1", {value, layers.indices(std::vector{axis})}, "reverse_channels",
                              {{"mode", "index"}})};
    return;
  }
  std::vector<int64_t> backwards;
  for (int64_t c = shape[axis].get_length(); c-- > 0;) backwards.push_back(c);
  flow.values = {layers.add("Gather", "opset8", {value, layers.indices(backwards), layers.indices(std::vector{axis})},
                            "reverse_channels")};
}

/// [N, 3/2 H, W, 1] -> its first [N, H, W, 1]
Output<Node> brightness(Layers& layers, const Output<Node>& image) {
  const PartialShape shape = image.get_partial_shape();
  const auto rows = layers.indices(std::vector{1});
  if (shape.rank().is_static() && shape[1].is_static()) {
    const auto from = layers.indices(std::vector{0}), step = layers.indices(std::vector{1});
    const auto to = layers.indices(std::vector{shape[1].get_length() / 3 * 2});
    return layers.add("Slice", "opset8", {image, from, to, step, rows}, "convert_color");
  }
  const auto thirds =
      layers.add("Split", "opset1", {image, layers.scalar(element::i64, 1)}, "thirds", {{"num_splits", 3}});
  return layers.add("Concat", "opset1", {thirds, thirds.get_node()->output(1)}, "convert_color", {{"axis", 1}});
}

void convert_yuv(Flow& flow, ColorFormat to) {
  Layers layers(flow);
  const bool nv12 = flow.color == ColorFormat::NV12_SINGLE_PLANE || flow.color == ColorFormat::NV12_TWO_PLANES;
  if (to == ColorFormat::GRAY) {
    flow.values = {flow.values.size() == 1 ? brightness(layers, flow.values[0]) : flow.values[0]};
  } else {
    const char* type = to == ColorFormat::RGB ? (nv12 ? "NV12toRGB" : "I420toRGB") : nv12 ? "NV12toBGR" : "I420toBGR";
    flow.values = {layers.add(type, "opset8", flow.values, "convert_color")};
  }
}

/// The weighted sum of the channels; integers are computed in f32 and rounded half to even.
void to_gray(Flow& flow) {
  Output<Node> value = only_value(flow, "convert the colours of");
  const PartialShape shape = value.get_partial_shape();
  const int64_t axis = axis_of(flow.layout, "C", shape);
  if (!shape[axis].compatible(3)) {
    throw_error(ErrorCode::invalid_argument, "expected three channels (axis ", axis, "), got the shape ", shape);
  }
  const element::Type type = value.get_element_type();
  Layers layers(flow);
  if (!type.is_real()) value = layers.add("Convert", "opset1", {value}, "to_f32", {{"destination_type", element::f32}});
  std::vector<float> weights{0.299F, 0.587F, 0.114F};
  if (flow.color == ColorFormat::BGR) std::swap(weights.front(), weights.back());
  Shape broadcast(shape.size(), 1);
  broadcast[static_cast<size_t>(axis)] = 3;
  value = layers.add("Multiply", "opset1", {value, layers.numbers(value.get_element_type(), broadcast, weights)},
                     "weigh_colors");
  value = layers.add("ReduceSum", "opset1", {value, layers.indices(std::vector{axis})}, "convert_color",
                     {{"keep_dims", true}});
  if (!type.is_real()) {
    value = layers.add("Round", "opset5", {value}, "round", {{"mode", "half_to_even"}});
    value = layers.add("Convert", "opset1", {value}, "from_f32", {{"destination_type", type}});
  }
  flow.values = {value};
}

void drop_fourth_channel(Flow& flow) {
  const Output<Node> value = only_value(flow, "convert the colours of");
  const int64_t axis = axis_of(flow.layout, "C", value.get_partial_shape());
  Layers layers(flow);
  const auto from = layers.indices(std::vector{0}), to = layers.indices(std::vector{3});
  const auto step = layers.indices(std::vector{1}), axes = layers.indices(std::vector{axis});
  flow.values = {layers.add("Slice", "opset8", {value, from, to, step, axes}, "drop_channel")};
}

[[noreturn]] void refuse(const Flow& flow, ColorFormat to, const char* possible) {
  throw_error(ErrorCode::invalid_argument, "a ", name_of(flow.color), " image cannot be converted to ", name_of(to),
              "; ", possible);
}

void convert_color(Flow& flow, ColorFormat to) {
  if (flow.color == to) return;
  if (flow.color == ColorFormat::UNDEFINED) {
    throw_error(ErrorCode::invalid_argument,
                "the colour format to convert from is not known; say tensor().set_color_format()");
  }
  if (!is_rgb(to) && to != ColorFormat::GRAY) refuse(flow, to, "RGB, BGR and GRAY are possible");
  if (!has_pixels(flow.color)) {
    convert_yuv(flow, to);
  } else if (flow.color == ColorFormat::GRAY) {
    refuse(flow, to, "it has no colours");
  } else {
    if (has_fourth(flow.color)) {
      drop_fourth_channel(flow);
      flow.color = flow.color == ColorFormat::RGBX ? ColorFormat::RGB : ColorFormat::BGR;
    }
    if (to == ColorFormat::GRAY) {
      to_gray(flow);
    } else if (to != flow.color) {
      reverse_channels(flow);
    }
  }
  flow.color = to;
}

}  // namespace

Step reverse_channels_step() { return {"reverse channels", &reverse_channels}; }

Step convert_color_step(ColorFormat format) {
  return {concat("convert color (", name_of(format), ")"), [format](Flow& flow) { convert_color(flow, format); }};
}

Step convert_output_color_step(ColorFormat format) {
  return {concat("convert color (", name_of(format), ")"), [format](Flow& flow) {
            if (flow.color == format) return;
            if (flow.color == ColorFormat::UNDEFINED) {
              throw_error(ErrorCode::invalid_argument,
                          "the colour format to convert from is not known; say model().set_color_format()");
            }
            if (!is_rgb(flow.color) || !is_rgb(format)) refuse(flow, format, "outputs go from RGB to BGR and back");
            reverse_channels(flow);
            flow.color = format;
          }};
}

}  // namespace terroir::preprocess::detail
