#pragma once
// What: nodes of a graph in disjoint sets: those that a pass must treat alike.
// Cost: logarithmic per call, in all.
#include <numeric>
#include <vector>

#include "ir/graph/ids.hpp"

namespace terroir::ir {

class NodeSets {
 public:
  /// Each node alone. `nodes`: Graph::id_bound().
  explicit NodeSets(size_t nodes) : next_(nodes) { std::iota(next_.begin(), next_.end(), size_t{0}); }

  /// A number below `nodes` that the nodes of its set have in common, until they are joined with others.
  size_t of(NodeId id) {
    size_t at = index_of(id);
    for (; next_[at] != at; at = next_[at]) next_[at] = next_[next_[at]];
    return at;
  }
  void join(NodeId a, NodeId b) { next_[of(a)] = of(b); }

 private:
  std::vector<size_t> next_;
};

}  // namespace terroir::ir
