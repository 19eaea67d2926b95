#pragma once
// What: one node over known inputs, by its reference kernel.
#include <vector>

#include "ir/graph/graph.hpp"

namespace terroir::ops {

/// Outputs of `node` for these inputs, in buffers of their own. The recorded output types and shapes must be static.
/// Exception when the op has no reference kernel or refuses the values.
std::vector<ir::Constant> evaluate(const ir::Node& node, const std::vector<ir::TensorView>& inputs);

}  // namespace terroir::ops
