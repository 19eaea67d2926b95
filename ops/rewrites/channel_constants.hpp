#pragma once
// What: constants with a value for each channel.
#include "ir/graph/graph.hpp"

namespace terroir::ops {

/// The f32 constant's value per channel when it broadcasts over everything but axis 1 of `rank` axes; null otherwise.
inline const float* constant_per_channel(const ir::Graph& graph, ir::Value value, int64_t channels, size_t rank) {
  const ir::Constant* constant = ir::constant_of(graph, value);
  if (!constant || constant->view.type != element::f32 || constant->view.count() != channels) return nullptr;
  const ir::Dims& dims = constant->view.dims;
  if (dims.size() > rank || dims.size() + 1 < rank) return nullptr;
  const size_t axis = 1 - (rank - dims.size());
  return dims[axis] == channels ? constant->view.as<float>() : nullptr;
}

}  // namespace terroir::ops
