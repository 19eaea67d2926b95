#pragma once
// What: plans of graphs made by GraphMaker, and where their values lie.
#include <memory>
#include <string>

#include "plugins/cpu/plan.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {

/// As the CPU device would make it, by default without vectors: blocks of 8 channels. `accuracy`: EXECUTION_MODE_HINT
/// is ACCURACY.
std::unique_ptr<cpu::Plan> plan_of(const GraphMaker& m, cpu::Isa isa = cpu::Isa::scalar, bool accuracy = false,
                                   int threads = 1);

/// Throws where there is none.
const cpu::Step& step_named(const cpu::Plan& plan, const std::string& name);
bool has_step(const cpu::Plan& plan, const std::string& name);

bool same_place(const cpu::Slot& a, const cpu::Slot& b);

}  // namespace terroir::test
