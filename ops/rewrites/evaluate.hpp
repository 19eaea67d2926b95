#pragma once
// What: one node over known inputs, by its reference kernel.
// Threads: those that are lent share large elementwise nodes, see ops/reference/parallel.hpp.
#include <memory>
#include <vector>

#include "ir/graph/graph.hpp"

namespace terroir::ops {

/// Outputs of `node` for these inputs, in buffers of their own. The recorded output types and shapes must be static.
/// Exception when the op has no reference kernel or refuses the values. `memory`: where the one output goes, which an
/// elementwise node may have as an input that is as large.
std::vector<ir::Constant> evaluate(const ir::Node& node, const std::vector<ir::TensorView>& inputs,
                                   std::shared_ptr<void> memory = nullptr);

}  // namespace terroir::ops
