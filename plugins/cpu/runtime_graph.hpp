#pragma once
// What: the graph that CompiledModel::get_runtime_model() shows: what a program runs, as ExecutionNodes between
// Parameters and Results, each with what is known about it as runtime information. Edge cases: a program that has no
// plan yet is shown as it waits for one: layers without kernels, with the shapes that
//             are known. Bodies of control flow are not shown, only the layer that owns them.
#include <memory>

#include "ir/graph/graph.hpp"
#include "plugins/cpu/program.hpp"
#include "plugins/cpu/step_times.hpp"
#include "runtime/plugin/plugin.hpp"

namespace terroir::cpu {

std::unique_ptr<ir::Graph> runtime_graph(const plugin::CompiledGraph& compiled, const Program& program,
                                         const StepTimes& times);

}  // namespace terroir::cpu
