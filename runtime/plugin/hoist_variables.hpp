#pragma once
// What: moves variables out of bodies. A ReadValue inside of If, Loop or TensorIterator becomes an input of that node
// and an Assign an output; around it there are a ReadValue and an Assign of the same variable:
//   If {then: ReadValue(v) -> Add(x) -> Assign(v)}   =>   ReadValue(v) -> If {then: v -> Add(x) -> v'; else: v} ->
//   Assign(v)
// In a loop the value goes from one iteration to the next, so a ReadValue sees what the iteration before assigned.
// Nodes that use the same variable see each other's values in topological order; a ReadValue outside of bodies sees the
// value that the inference began with.
// Refuses: a variable that is assigned both in a body and outside; an initial value that only the body knows (it is
// computed from an iteration's slice, counter or carried value).
#include <memory>
#include <string>

#include "ir/graph/graph.hpp"

namespace terroir::plugin {

/// Whether a body of any node, or of a node in a body, uses variables.
bool has_variables_in_bodies(const ir::Graph& graph);

/// A copy without such; inferred. Exception with the layer's name: unsupported, not_implemented.
std::unique_ptr<ir::Graph> hoist_variables(const ir::Graph& graph);

/// Of a ReadValue or Assign.
const std::string& variable_name(const ir::Node& node);

}  // namespace terroir::plugin
