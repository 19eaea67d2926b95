// Parameters, Results and Assigns of a model that are none of its inputs, outputs and sinks: not yet, or not any more.
//
// What: a graph lists every Parameter, Result and Assign it has, in the order of their addition. Those that code has
//       made on top of a model's layers, or has taken from its lists, are in its graph under types of their own until
//       they are added: nobody takes them for ends, and what is compiled or written has none of them.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/api/graph_state.hpp"

namespace terroir::detail {

/// The schema of such an end that is not in the lists, or of one that is; of any other layer: its own.
const ir::OpSchema& unlisted(const ir::OpSchema& schema);
const ir::OpSchema& listed(const ir::OpSchema& schema);
std::string_view listed_type(std::string_view type);

/// Whether it is one, in the lists or not.
bool is_parameter(const ir::Node& node);
bool is_result(const ir::Node& node);

/// Throws Exception (invalid_argument) for a graph without results and sinks, or one that needs a Parameter which is
/// not in its list; `needed`: by id.
void require_ends(const ir::Graph& graph, const std::vector<bool>& needed);

}  // namespace terroir::detail
