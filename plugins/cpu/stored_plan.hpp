#pragma once
// What: a finished plan as part of an archive: the graph it was built from, what was decided for each node, constants
// that run time or executors read, and packed weights. Loading builds the steps anew over the weights of the archive;
// passes, the search for layouts and packing are not done again.
// Edge cases: constants that are only packed are not stored; for executors they stand at addresses of their own, where
// nothing but zeros can be read.
#include <memory>
#include <set>

#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/passes/layouts.hpp"
#include "runtime/plugin/archive.hpp"

namespace terroir::cpu {

struct PlanSource {
  std::unique_ptr<ir::Graph> graph;
  Decisions decisions;
  /// Const nodes whose values are gone, because they were only packed: their addresses are nothing but names.
  std::set<ir::NodeId> gone;
};

/// Lets the constants go that are `only_packed`.
std::shared_ptr<const PlanSource> keep_source(std::unique_ptr<ir::Graph> graph, Decisions decisions,
                                              const std::vector<ir::NodeId>& only_packed);

/// Exception (not_implemented) when an operation's attributes cannot be stored.
void store_plan(const PlanSource& source, const WeightsCache& weights, plugin::ArchiveWriter& archive);

/// A plan whose weights are those of the archive. `weights` is empty, and gives no others from now on. Exception
/// (parse_error) for a graph, decisions or weights that do not fit each other.
std::unique_ptr<Plan> load_plan(plugin::Archive& archive, const ir::OpRegistry& operations, WeightsCache& weights,
                                const CompileOptions& options);

}  // namespace terroir::cpu
