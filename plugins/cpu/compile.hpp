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

/// The rest, for one set of input extents (by Parameter): shapes, fusion, layouts, packing, memory.
/// Exception (not_implemented) that names the layer when a size depends on data or an op cannot run on this device.
std::unique_ptr<Plan> compile_plan(const ir::Graph& rewritten, const std::vector<ir::Dims>& inputs,
                                   WeightsCache& weights, const CompileOptions& options);

}  // namespace terroir::cpu
