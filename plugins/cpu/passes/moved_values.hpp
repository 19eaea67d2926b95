#pragma once
// What: operations that move values, or pick some of them, so that the type of these is nothing to them.
#include "ir/graph/graph.hpp"

namespace terroir::cpu {

/// How many of a node's inputs hold the values that it moves or picks; 0: it does something else. Of MaxPool: if each
/// window has a value.
size_t moved_inputs(const ir::Graph& graph, const ir::Node& node);

/// The same, of those that kernels can do in blocks of channels, which are axis 1.
size_t moved_inputs_in_blocks(const ir::Graph& graph, const ir::Node& node);

}  // namespace terroir::cpu
