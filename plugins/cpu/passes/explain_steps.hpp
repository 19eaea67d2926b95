#pragma once
// What: why a step exists that moves bytes only, or is slow: Step::details, for profiles.
//   Reorder    bytes, estimated cost, who gives which layout and who wants another
//   Concat     how many of its parts had to be copied
//   Result     why the value is not computed in the user's memory
//   ref:...    why every better implementation refused
#include <vector>

#include "plugins/cpu/passes/layouts.hpp"
#include "plugins/cpu/plan.hpp"

namespace terroir::cpu {

/// `nodes`: of each step.
void explain_steps(const ir::Graph& graph, const Decisions& decisions, const std::vector<ir::NodeId>& nodes,
                   std::vector<Step>& steps);

}  // namespace terroir::cpu
