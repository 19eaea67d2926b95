#pragma once
// What: one graph run in two ways, for tests of passes that must not change a bit.
#include <span>
#include <string>
#include <terroir/terroir.hpp>
#include <utility>
#include <vector>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {

/// Whether result 0 of `graph`, on several numbers of threads, has the bits of that of `other` on one, in each
/// instruction set with vectors that this machine has.
void expect_same_bits(const ir::Graph& graph, const ir::Graph& other, std::span<const std::vector<HostTensor>> inputs);

/// The kernel of a layer after one inference of a model with f32 inputs, compiled with profiling; and the result.
std::pair<std::string, Tensor> run_once(CompiledModel compiled, const std::string& layer);

}  // namespace terroir::test
