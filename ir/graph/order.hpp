#pragma once
// What: topological order of a graph. Iterative, because files may be deeper than a stack.
#include <vector>

#include "ir/graph/graph.hpp"

namespace terroir::ir {

/// Every node after the nodes it reads; among ready nodes the smaller id first, so the order is a function of the
/// graph. Nodes do not wait for constants: one that a pass has added, and that so has a large id, stands before the
/// first node that reads it, and leaves the order of the others as it was. Exception (invalid_argument) that names the
/// layers of a cycle when there is one.
std::vector<NodeId> topological_order(const Graph& graph);

}  // namespace terroir::ir
