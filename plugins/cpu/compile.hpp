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
/// unknown.
std::unique_ptr<ir::Graph> rewrite_portable(const ir::Graph& graph);

struct CompileOptions {
  Isa isa = Isa::scalar;
  int threads = 1;          // of one stream
  bool graph_text = false;  // fill Plan::graph_text
};

/// A copy of a rewritten graph whose Parameters have these extents, inferred anew and folded; sizes that depend on data
/// stay unknown.
std::unique_ptr<ir::Graph> bound_graph(const ir::Graph& rewritten, const std::vector<ir::Dims>& inputs);

/// The rest, for a bound graph all of whose sizes are known: fusion, layouts, packing, memory.
/// Exception (not_implemented) that names the layer which cannot run on this device.
std::unique_ptr<Plan> compile_plan(const ir::Graph& bound, WeightsCache& weights, const CompileOptions& options);

}  // namespace terroir::cpu
