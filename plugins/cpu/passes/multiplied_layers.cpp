#include "plugins/cpu/passes/multiplied_layers.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "ir/schema/infrastructure.hpp"
#include "ir/schema/registry.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "ops/defs/convolution/convolution_backprop_data.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

std::optional<MultipliedLayer> matrix_layer(const ir::Node& node, const ir::Constant& weights, const ir::Dims& data) {
  const ir::Attributes& attributes = *node.attributes;
  const ir::Dims& dims = weights.view.dims;
  if (dims.size() != 2 || data.size() < 2 || ir::number_attribute(attributes, "transpose_a") != 0) return std::nullopt;
  const bool transposed = ir::number_attribute(attributes, "transpose_b") != 0;
  return MultipliedLayer{.weights = &weights,
                         .matrix = true,
                         .weights_in_rows = transposed,
                         .inputs = data.back(),
                         .outputs = transposed ? dims[0] : dims[1],
                         .depth = data.back()};
}

struct Window {
  std::vector<int64_t> dilations, reach;  // of a row of taps, by axis
  int64_t positions = 1;                  // under a row of outputs, whichever axis the rows run along
};

template <class Attrs>
Window window_of(const Attrs& attrs, const ir::Node& node, const ir::Dims& weights, bool transposed) {
  Window window{attrs.dilations, {}};
  const ir::Dims out = ir::to_dims(node.outputs[0].shape.to_shape());
  double all = 1, widest = 1;
  const size_t axes = attrs.dilations.size();
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t taps = weights[weights.size() - axes + axis], stride = attrs.strides[axis];
    const int64_t reach = transposed ? ceil_div(taps, stride) : (taps - 1) * attrs.dilations[axis] + 1;
    const int64_t steps = transposed ? ceil_div(out[axis + 2], stride) + 1 : (out[axis + 2] - 1) * stride;
    window.reach.push_back(reach);
    widest = std::max(widest, static_cast<double>(steps + reach) / static_cast<double>(reach));
    all *= static_cast<double>(reach);
  }
  constexpr double kTooMany = 1e15;
  window.positions = static_cast<int64_t>(std::min(all * widest, kTooMany));
  return window;
}

}  // namespace

std::optional<MultipliedLayer> multiplied_layer(const ir::Graph& graph, const ir::Node& node) {
  const bool is_matmul = node.is("MatMul"),
             grouped = node.is("GroupConvolution") || node.is("GroupConvolutionBackpropData");
  const bool transposed = node.is("ConvolutionBackpropData") || node.is("GroupConvolutionBackpropData");
  if (!(is_matmul || grouped || transposed || node.is("Convolution")) || ir::opset_number(node.schema->opset) == 0)
    return std::nullopt;
  const ir::OutputPort& data = graph.port(node.inputs[0]);
  const ir::Constant* weights = ir::constant_of(graph, node.inputs[1]);
  if (!weights || weights->view.type != element::f32 || weights->view.count() == 0 || data.type != element::f32 ||
      data.shape.is_dynamic() || node.outputs[0].shape.is_dynamic() || node.outputs[0].type != element::f32)
    return std::nullopt;
  const ir::Dims image = ir::to_dims(data.shape.to_shape());
  if (ir::element_count(image) == 0) return std::nullopt;
  if (is_matmul) return matrix_layer(node, *weights, image);
  const ir::Dims& dims = weights->view.dims;
  const int64_t groups = grouped ? dims[0] : 1, first = grouped ? dims[1] : dims[0],
                second = grouped ? dims[2] : dims[1];
  const int64_t outputs = transposed ? second : first, inputs = transposed ? first : second;
  const Window window = transposed ? window_of(node.attrs<ops::ConvolutionBackpropDataAttrs>(), node, dims, transposed)
                                   : window_of(node.attrs<ops::ConvolutionAttrs>(), node, dims, transposed);
  for (size_t axis = 0; axis < window.dilations.size(); ++axis)
    if (window.dilations[axis] != 1 && (transposed || window.reach[axis] > image[axis + 2])) return std::nullopt;
  // Tables of places in an image, or in the copy of a window, have 32 bits, and places may have two bytes.
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t most = kMost / round_up(image[1], kByteBlock);
  if (ir::element_count(image) / image[0] / image[1] > most || window.positions > most / 2) return std::nullopt;
  return MultipliedLayer{.weights = weights,
                         .depthwise = grouped && outputs == 1 && inputs == 1,
                         .transposed = transposed,
                         .weights_in_rows = !transposed,
                         .groups = groups,
                         .inputs = inputs,
                         .outputs = outputs,
                         .depth = weights->view.count() / (groups * outputs),
                         .window = window.positions,
                         .spreads = std::any_of(window.dilations.begin(), window.dilations.end() - 1,
                                                [](int64_t dilation) { return dilation != 1; })};
}

}  // namespace terroir::cpu
