#pragma once
// What: runs of the interpreter in which some results are not its own.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plugins/interpreter/interpreter.hpp"

namespace terroir::test {

using interpreter::HostTensor;
using Tensors = std::vector<HostTensor>;

std::vector<ir::TensorView> views_of(const Tensors& tensors);

/// What the nodes of a run have made, for those who want to know what later ones read.
class Record {
 public:
  Record(const ir::Graph& graph, const Tensors& inputs);
  void keep(const ir::Node& node, std::span<const HostTensor> outputs);
  Tensors operands(const ir::Node& node) const;

 private:
  const ir::Graph& graph_;
  std::map<ir::NodeId, Tensors> made_;
};

/// By node: what takes the place of its first result.
using Pins = std::map<ir::NodeId, HostTensor>;

void pin(const Pins& pins, const ir::Node& node, std::span<const HostTensor> outputs);

/// The results with pins in their places, each of which must be an image of integers that rounding explains
/// (resampled.hpp); else there are none, and `fault` says why.
Tensors pinned(const interpreter::Program& program, const Tensors& inputs, const Pins& pins, std::string& fault);

}  // namespace terroir::test
