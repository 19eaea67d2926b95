#pragma once
// What: what a device makes of a model, and models of which less is known before they run.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"
#include "runtime/plugin/config.hpp"
#include "tests/differential/pins.hpp"
#include "tests/support/random.hpp"

namespace terroir::test {

/// Results per inference, or why the device refuses the model or its inputs.
struct Run {
  std::vector<Tensors> results;
  std::optional<std::string> refusal;
};

/// One stream of so many threads.
plugin::Config config_of(int threads);

/// Two inferences by one request.
Run run(const std::shared_ptr<const ir::Graph>& graph, const char* device, const plugin::Config& config,
        const Tensors& inputs);

/// Unknown extents in place of known ones: all, some, bounded ones, or not even the rank. Exception when the graph
/// cannot be inferred then.
std::shared_ptr<ir::Graph> forget(const ir::Graph& graph, Random& random);

/// The first bit of the results that is another one, or that only one of the two refuses; empty: nothing.
std::string difference_between(const Run& expected, const Run& actual);

}  // namespace terroir::test
