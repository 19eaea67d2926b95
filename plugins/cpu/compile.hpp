#pragma once
// What: the CPU pipeline, from a graph to a plan.
#include <memory>
#include <vector>

#include "ir/graph/graph.hpp"
#include "ops/rewrites/crop_kernels.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/plan.hpp"
#include "plugins/cpu/stage_cache.hpp"
#include "plugins/cpu/weights_cache.hpp"
#include "runtime/plugin/plugin.hpp"

namespace terroir::cpu {

class CpuOps;
/// Those that go with the operations of the library.
const CpuOps& cpu_ops();

/// The part that does not depend on input shapes: portable rewrites over a copy of `graph`, whose shapes may be
/// unknown, and over the bodies of its nodes. `keeps_compressed`: weights in numbers of 8 and 4 bits do not become
/// floats where products read them as they are.
std::unique_ptr<ir::Graph> rewrite_portable(const ir::Graph& graph, bool keeps_compressed = true);

struct CompileOptions {
  Isa isa = Isa::scalar;
  int threads = 1;          // of one stream
  int requests = 1;         // that will be busy at once
  bool accuracy = false;    // EXECUTION_MODE_HINT
  bool bytes = false;       // quantised layers compute in bytes: the processor must have products of them
  bool bf16 = false;        // INFERENCE_PRECISION_HINT: layers multiply numbers of bf16; it must have products of them
  size_t memory_limit = 0;  // bytes that all of it may need; 0: any number
  bool graph_text = false;  // fill Plan::graph_text
};

/// A rewritten graph whose Parameters take these extents, inferred anew and folded; sizes that depend on data stay
/// unknown. `kernels`: those of other extents, which may come again.
std::unique_ptr<ir::Graph> bound_graph(std::unique_ptr<ir::Graph> rewritten, const std::vector<ir::Dims>& inputs,
                                       ops::CroppedKernels* kernels = nullptr);

/// Of a plan that has so many bytes of packed weights.
plugin::Footprint footprint_of(const Plan& plan, size_t packed);
/// Exception (out_of_memory) that says what needs how much when it is more than the limit.
void require_room(const plugin::Footprint& needs, const CompileOptions& options);

/// What each step may fetch ahead: the constants of the steps behind it, up to the first one that computes more than it
/// reads. Once the weights are packed.
void look_ahead(Plan& plan, int threads);

/// The rest, for a bound graph all of whose sizes are known: fusion, layouts, memory, packing on the threads of
/// `arena`. Constants that only this graph owns are freed as soon as they are packed. `keep`: what the plan was built
/// from, for who wants to store it. Where the memory limit leaves no room for this plan alone, Winograd's algorithm,
/// whose weights are larger, is ruled out; stages of `others` that leave it no room go. Exception: out_of_memory if
/// that is not enough, whatever has run before; not_implemented that names the layer which cannot run on this device.
std::unique_ptr<Plan> compile_plan(std::unique_ptr<ir::Graph> bound, WeightsCache& weights,
                                   const CompileOptions& options, const parallel::Arena& arena, bool keep = false,
                                   StageCache* others = nullptr);

}  // namespace terroir::cpu
