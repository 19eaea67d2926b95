#pragma once
// What: the layers whose data kernels multiply with constant weights in another type than f32: by which sizes passes
// choose them.
#include <optional>

#include "ir/graph/graph.hpp"

namespace terroir::cpu {

/// A convolution, transposed or not, or a MatMul whose second operand is a matrix.
struct MultipliedLayer {
  const ir::Constant* weights = nullptr;
  bool matrix = false, depthwise = false, transposed = false;
  bool weights_in_rows = false;                 // of outputs
  int64_t groups = 1, inputs = 0, outputs = 0;  // of a group
  int64_t depth = 0;                            // products of an output
  int64_t window = 1;                           // source positions under a row of outputs, at most
  bool spreads = false;                         // taps are dilated across rows
};

/// Null for other layers, and for those that no kernel of that kind computes: with weights that are no f32 constants,
/// extents that are not known, no elements, transposed matrices of data, dilated windows that are wider than the image
/// (few of their taps count, but all rows would be copied), windows of gigabytes, or transposed and dilated.
std::optional<MultipliedLayer> multiplied_layer(const ir::Graph& graph, const ir::Node& node);

}  // namespace terroir::cpu
