#include "benchmark_app/arithmetic.hpp"

#include <string>

namespace benchmark_app {
namespace {

using terroir::Node;
using terroir::Shape;

double product(const Shape& shape, size_t first = 0) {
  double result = 1;
  for (size_t i = first; i < shape.size(); ++i) result *= static_cast<double>(shape[i]);
  return result;
}

bool has_shapes(const Node& node) {
  for (size_t i = 0; i < node.get_input_size(); ++i) {
    if (node.get_input_partial_shape(i).is_dynamic()) return false;
  }
  return node.get_output_size() > 0 && node.get_output_partial_shape(0).is_static();
}

bool is_true(const Node& node, const std::string& attribute) {
  const auto attributes = node.get_attributes();
  const auto found = attributes.find(attribute);
  return found != attributes.end() && (found->second == "true" || found->second == "True" || found->second == "1");
}

/// Length of the sums of a matrix product.
double depth_of_matmul(const Node& node) {
  const Shape a = node.get_input_shape(0);
  if (a.empty()) return 0;
  const bool transposed = a.size() > 1 && is_true(node, "transpose_a");
  return static_cast<double>(a[a.size() - (transposed ? 2 : 1)]);
}

/// The weights of all gates, those of the input and, behind them, those of the state, once per sample and step.
double recurrent(const Node& node, size_t weights, double steps) {
  return (product(node.get_input_shape(weights)) + product(node.get_input_shape(weights + 1))) * steps;
}

double multiplications(const Node& node) {
  const std::string type = node.get_type_name();
  if (type == "Convolution" || type == "BinaryConvolution" || type == "DeformableConvolution") {
    const size_t weights = type == "DeformableConvolution" ? 2 : 1;  // [O, I, kernel...]
    return product(node.get_output_shape(0)) * product(node.get_input_shape(weights), 1);
  }
  if (type == "GroupConvolution") {  // [G, O, I, kernel...]
    return product(node.get_output_shape(0)) * product(node.get_input_shape(1), 2);
  }
  if (type == "ConvolutionBackpropData") {  // [I, O, kernel...]
    return product(node.get_input_shape(0)) * product(node.get_input_shape(1), 1);
  }
  if (type == "GroupConvolutionBackpropData") {  // [G, I, O, kernel...]
    return product(node.get_input_shape(0)) * product(node.get_input_shape(1), 2);
  }
  if (type == "MatMul") return product(node.get_output_shape(0)) * depth_of_matmul(node);
  if (type == "LSTMSequence" || type == "GRUSequence" || type == "RNNSequence") {
    const Shape x = node.get_input_shape(0);  // [N, T, I]; the weights [D, gates, I] have all directions
    return recurrent(node, type == "LSTMSequence" ? 4 : 3, static_cast<double>(x[0] * x[1]));
  }
  if (type == "LSTMCell" || type == "GRUCell" || type == "RNNCell") {
    return recurrent(node, type == "LSTMCell" ? 3 : 2, static_cast<double>(node.get_input_shape(0)[0]));
  }
  return 0;
}

}  // namespace

double count_flops(const terroir::Model& model) {
  double sum = 0;
  for (const auto& node : model.get_ops()) {
    if (has_shapes(*node)) sum += 2 * multiplications(*node);
  }
  return sum;
}

}  // namespace benchmark_app
