#pragma once
// What: whether the tensors of a graph can be held in memory, before anything of their size is allocated.
#include <cstdint>

#include "ir/graph/graph.hpp"

namespace terroir::ir {

/// Throws Exception (out_of_memory), whose context is Node::describe(), when an output of known type and shape takes
/// more than `bytes`; bodies included.
void require_tensors_fit(const Graph& graph, uint64_t bytes);

}  // namespace terroir::ir
