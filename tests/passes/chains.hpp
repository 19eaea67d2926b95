#pragma once
// What: the passes that make ConvolutionChains, and how many they make of a graph.
#include <vector>

#include "ops/registry.hpp"
#include "plugins/cpu/passes/fuse_convolution_chains.hpp"
#include "plugins/cpu/passes/fuse_post_ops.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::test {

inline std::vector<ir::Pass> chain_passes(cpu::Isa isa, bool accuracy = false) {
  static const cpu::CpuOps ops(ops::builtin_registry());
  static cpu::WeightsCache weights;
  return {fuse_post_ops(ops), fuse_convolution_chains(ops, isa, weights, accuracy)};
}

/// `stages`: of those that count; 0: any number.
inline size_t count_chains(const ir::Graph& graph, size_t stages, cpu::Isa isa = cpu::Isa::scalar,
                           bool accuracy = false) {
  auto copy = graph.clone();
  ir::PassManager passes;
  for (ir::Pass& pass : chain_passes(isa, accuracy)) passes.add(std::move(pass));
  passes.run(*copy);
  size_t count = 0;
  for (ir::NodeId id : copy->nodes()) {
    const ir::Node& node = copy->node(id);
    if (node.schema->type != cpu::kConvolutionChainType) continue;
    if (stages == 0 || node.attrs<cpu::ConvolutionChainAttrs>().stages.size() == stages) ++count;
  }
  return count;
}

}  // namespace terroir::test
