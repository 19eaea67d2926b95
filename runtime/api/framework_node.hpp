// Layers that nobody knows (terroir/op/framework_node.hpp), to the rest of the API.
#pragma once

#include "ir/graph/graph.hpp"

namespace terroir::detail {

/// Whether such a layer has this schema, of which there is one for each type and set that a program has named.
bool is_framework_node(const ir::OpSchema& schema);

/// Throws Exception (not_implemented) that names the first such layer, those of bodies included: nothing computes it.
void require_known_layers(const ir::Graph& graph);

}  // namespace terroir::detail
