#pragma once
// What: the inference of a node that was just added to a graph, for those who build graphs op by op.
#include "ir/graph/graph.hpp"

namespace terroir::test {

/// Types and shapes of the node's outputs. The first output; Exception when the operation refuses.
ir::Value infer_added(ir::Graph& graph, ir::NodeId id);

}  // namespace terroir::test
