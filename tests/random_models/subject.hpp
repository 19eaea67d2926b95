#pragma once
// What: a whole random model, with its inputs; the same for the same seed.
// How: two models of three are networks, which grow from blocks that networks have (net.hpp); the third is a number of
// operations out of all there are, each with operands of its own or of those before it (tests/differential).
#include <cstdint>
#include <memory>
#include <vector>

#include "ir/graph/graph.hpp"
#include "tests/differential/pins.hpp"

namespace terroir::test {

struct Subject {
  std::shared_ptr<ir::Graph> graph;  // extents are known
  Tensors inputs;                    // in the order of the graph's parameters
  /// Axis 0 of every input and of every result is the batch, and no image sees another.
  bool batched = false;

  /// Layers that are neither inputs, outputs nor constants.
  size_t layers() const;
};

/// `large`: a network with so much in memory at a time that devices take trouble to make it less; seconds each.
Subject random_subject(uint64_t seed, bool large = false);

/// The graph with these extents of its Parameters; null where an operation refuses them or an extent is not known.
std::shared_ptr<ir::Graph> with_extents(const ir::Graph& graph, const std::vector<ir::Dims>& extents);

std::vector<ir::Dims> extents_of(const Tensors& tensors);

/// A tensor of other extents with the elements of `tensor`, again and again.
HostTensor refilled(const HostTensor& tensor, const ir::Dims& dims);

/// Image `index` of a batch.
HostTensor image_of(const HostTensor& batch, int64_t index);

}  // namespace terroir::test
