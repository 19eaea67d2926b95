#include "tests/passes/planned.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::test {

std::unique_ptr<cpu::Plan> plan_of(const GraphMaker& m, cpu::Isa isa, bool accuracy, int threads) {
  std::vector<ir::Dims> inputs;
  for (const ir::Value& input : m.inputs()) inputs.push_back(m.dims(input));
  cpu::WeightsCache weights;
  cpu::CompileOptions options;
  options.isa = isa;
  options.accuracy = accuracy;
  options.threads = threads;
  return cpu::compile_plan(cpu::bound_graph(cpu::rewrite_portable(m.graph()), inputs), weights, options,
                           parallel::Arena(1));
}

const cpu::Step& step_named(const cpu::Plan& plan, const std::string& name) {
  for (const cpu::Step& step : plan.steps)
    if (step.name == name) return step;
  throw_error(ErrorCode::not_found, "no step ", name);
}

bool has_step(const cpu::Plan& plan, const std::string& name) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const cpu::Step& step) { return step.name == name; });
}

bool same_place(const cpu::Slot& a, const cpu::Slot& b) {
  return a.kind == b.kind && a.index == b.index && a.offset == b.offset && a.pointer == b.pointer;
}

}  // namespace terroir::test
