#pragma once
// What: a whole random model around one operation, with its inputs; the same for the same seed.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/interpreter/host_tensor.hpp"

namespace terroir::test {

using interpreter::HostTensor;

struct RandomModel {
  std::shared_ptr<ir::Graph> graph;  // extents are known
  std::vector<HostTensor> inputs;    // in the order of the graph's parameters
  std::set<std::string> operations;  // "Type-N", of those that must be computed when the model runs
  bool has_wanted = false;           // whether the operation it is about took what it was given
  int refused = 0;                   // operations that did not take what they were given
  element::Type type;                // of the first operand of the operation it is about, or else of its result
};

/// About the operation "Type-N", with a few others before and behind.
RandomModel random_model(uint64_t seed, const std::string& operation);

/// About no operation: `fewest` to `most` of those that networks have, and some others.
RandomModel random_mixture(uint64_t seed, size_t fewest, size_t most);

/// The operation alone, with data of the type if one is given.
RandomModel model_of_one(uint64_t seed, const std::string& operation, element::Type type);

}  // namespace terroir::test
