#pragma once
// What: the layers whose data kernels multiply with constant weights in another type than f32: by which sizes passes
// choose them.
#include <optional>

#include "ir/graph/graph.hpp"

namespace terroir::cpu {

/// A Convolution, a GroupConvolution, or a MatMul whose second operand is a matrix.
struct MultipliedLayer {
  const ir::Constant* weights;
  bool matrix, depthwise, transposed_weights;  // of matrices: one row of weights to an output
  int64_t groups, inputs, outputs;             // of a group
  int64_t depth;                               // products of an output
};

/// Null for other layers, and for those that no kernel of that kind computes: with weights that are no f32 constants,
/// extents that are not known, no elements, transposed data, or dilated windows that are wider than the image (few of
/// their taps count, but all rows would be copied).
std::optional<MultipliedLayer> multiplied_layer(const ir::Graph& graph, const ir::Node& node);

}  // namespace terroir::cpu
