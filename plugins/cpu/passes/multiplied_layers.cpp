#include "plugins/cpu/passes/multiplied_layers.hpp"

#include <limits>

#include "ir/schema/infrastructure.hpp"
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
  const std::vector<int64_t>& dilations = transposed ? node.attrs<ops::ConvolutionBackpropDataAttrs>().dilations
                                                     : node.attrs<ops::ConvolutionAttrs>().dilations;
  for (size_t axis = 0; axis < dilations.size(); ++axis) {
    const int64_t taps = dims[dims.size() - dilations.size() + axis];
    if (dilations[axis] != 1 && (transposed || (taps - 1) * dilations[axis] >= image[axis + 2])) return std::nullopt;
  }
  // Tables of places in an image have 32 bits.
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (ir::element_count(image) / image[0] / image[1] > kMost / round_up(image[1], kByteBlock)) return std::nullopt;
  return MultipliedLayer{.weights = weights,
                         .depthwise = grouped && outputs == 1 && inputs == 1,
                         .transposed = transposed,
                         .weights_in_rows = !transposed,
                         .groups = groups,
                         .inputs = inputs,
                         .outputs = outputs,
                         .depth = weights->view.count() / (groups * outputs)};
}

}  // namespace terroir::cpu
