#pragma once
// What: topological order of a graph. Iterative, because files may be deeper than a stack.
#include <vector>

#include "ir/graph/graph.hpp"

namespace terroir::ir {

/// Every node after the nodes it reads; among ready nodes the smaller id first, so the order is a function of the
/// graph. Exception (invalid_argument) that names the layers of a cycle when there is one.
std::vector<NodeId> topological_order(const Graph& graph);

}  // namespace terroir::ir
