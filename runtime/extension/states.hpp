#pragma once
// What: layers of extensions that keep something from one inference to the next, as layers that keep nothing: their
// states come in by variables of the model and leave by them, so that requests hold them, and what knows variables
// (query_state(), reset_state(), failed inferences, bodies) knows states.
//   x -> Layer -> y      =>      {x, ReadValue("layer/state0")} -> Layer with states -> {y, Assign("layer/state0")}
#include <memory>

#include "ir/graph/graph.hpp"

namespace terroir::custom {

/// A copy of the graph whose layers have their states as inputs and outputs, bodies included, inferred; null when no
/// layer keeps anything.
std::unique_ptr<ir::Graph> with_states_as_ports(const ir::Graph& graph);

}  // namespace terroir::custom
