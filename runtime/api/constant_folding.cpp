#include "ir/pass/pass_manager.hpp"
#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "runtime/api/graph_state.hpp"
#include "terroir/pass/pass.hpp"

namespace terroir {

bool pass::ConstantFolding::run_on_model(const std::shared_ptr<Model>& model) {
  detail::GraphState& state = *detail::ModelAccess::state(*model);
  std::shared_ptr<ir::Graph> graph = state.needed_graph()->clone();
  ir::PassManager passes;
  passes.add(ops::fold_constants(ops::builtin_registry()));
  const auto reports = passes.run(*graph);
  if (reports.empty() || reports.front().edits == 0) return false;
  state.graph = std::move(graph);
  state.rewired = state.has_spare_layers = false;
  state.changed.clear();
  return true;
}

}  // namespace terroir
