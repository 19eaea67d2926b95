#pragma once
// What: the CPU pipeline, from a graph to a plan.
#include <memory>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/plan.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {

/// The part that does not depend on input shapes: portable rewrites over a copy of `graph`, whose shapes may be
/// unknown, and over the bodies of its nodes.
std::unique_ptr<ir::Graph> rewrite_portable(const ir::Graph& graph);

struct CompileOptions {
  Isa isa = Isa::scalar;
  int threads = 1;          // of one stream
  bool accuracy = false;    // EXECUTION_MODE_HINT
  bool graph_text = false;  // fill Plan::graph_text
};

/// A rewritten graph whose Parameters take these extents, inferred anew and folded; sizes that depend on data stay
/// unknown.
std::unique_ptr<ir::Graph> bound_graph(std::unique_ptr<ir::Graph> rewritten, const std::vector<ir::Dims>& inputs);

/// The rest, for a bound graph all of whose sizes are known: fusion, layouts, memory, packing on the threads of
/// `arena`. Constants that only this graph owns are freed as soon as they are packed. Exception (not_implemented) that
/// names the layer which cannot run on this device.
std::unique_ptr<Plan> compile_plan(std::unique_ptr<ir::Graph> bound, WeightsCache& weights,
                                   const CompileOptions& options, const parallel::Arena& arena);

}  // namespace terroir::cpu
