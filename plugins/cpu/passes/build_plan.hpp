#pragma once
// What: the last pass. Steps in topological order; every value gets a place in memory: a constant, the user's input or
// output, or planned bytes of one arena; values that are views share, and a step that may works in place.
#include <memory>

#include "plugins/cpu/passes/layouts.hpp"
#include "plugins/cpu/plan.hpp"

namespace terroir::cpu {

/// `graph` with its reorders in, every node decided. The plan keeps alive the constants it points to; executors keep
/// what they packed. Scratch is for `threads` concurrent slices.
std::unique_ptr<Plan> build_plan(const ir::Graph& graph, const Decisions& decisions, Isa isa, WeightsCache& weights,
                                 int threads);

}  // namespace terroir::cpu
