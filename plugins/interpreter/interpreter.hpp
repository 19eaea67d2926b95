#pragma once
// What: the oracle. Runs a graph node by node over the reference kernels of its operations.
// Shapes: any, known or not before: every node is inferred anew from the shapes and the values its inputs really have.
// Layouts: none; tensors are dense row-major.
// Threads: one. A Program is immutable, so several threads may run the same one.
// Cost: allocates each intermediate when it is made and releases it after its last reader.
#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/interpreter/host_tensor.hpp"

namespace terroir::interpreter {

/// How floating-point values travel between nodes.
enum class Precision {
  declared,  // in the types the model says
  f32        // f16 and bf16 values are widened to f32 where they enter or arise, and narrowed where they leave
};

/// Empty when the interpreter runs the node, else the reason why not.
std::string why_unsupported(const ir::Node& node);

class Program {
 public:
  /// Orders the nodes that results depend on. `graph` must outlive the program and stay unchanged. Exception
  /// (unsupported) which lists the layers without reference kernel; (invalid_argument) for a cyclic graph.
  explicit Program(const ir::Graph& graph, Precision precision = Precision::declared);

  /// Called after each node with the seconds it took and its output tensors; false: stop here, run() returns nothing.
  using Observer = std::function<bool(const ir::Node&, double seconds, std::span<const HostTensor> outputs)>;

  /// One input per parameter, in the order of graph.parameters(); one output per result. Inputs are only read, and
  /// only during the call. Exception (shape_mismatch, type_mismatch, invalid_argument) for inputs that do not fit, or
  /// with the layer's name when an operation refuses what it is given. Returns nothing, soon, once `cancelled` is true.
  std::vector<HostTensor> run(std::span<const ir::TensorView> inputs, const Observer& observer = {},
                              const std::atomic<bool>* cancelled = nullptr) const;

  const ir::Graph& graph() const { return graph_; }

 private:
  struct Step {
    ir::NodeId node;
    std::vector<ir::NodeId> released;  // their last reader is this node
  };

  std::vector<HostTensor> evaluate(const ir::Node& node, std::span<const ir::TensorView> inputs,
                                   const std::atomic<bool>* cancelled) const;
  std::vector<HostTensor> evaluate_wide(const ir::Node& node, std::span<const ir::TensorView> inputs) const;
  std::vector<HostTensor> in_declared_types(const ir::Node& node, std::span<const ir::TensorView> inputs) const;
  std::vector<HostTensor> evaluate_bodies(const ir::Node& node, std::span<const ir::TensorView> inputs,
                                          const std::atomic<bool>* cancelled) const;

  const ir::Graph& graph_;
  const Precision precision_;
  bool of_body_ = false;
  std::vector<Step> steps_;
  std::unordered_map<ir::NodeId, HostTensor> constants_;         // those that were widened
  std::unordered_map<ir::NodeId, std::vector<Program>> bodies_;  // of If, Loop, TensorIterator
};

/// Program(graph).run(inputs).
std::vector<HostTensor> run(const ir::Graph& graph, std::span<const ir::TensorView> inputs);

}  // namespace terroir::interpreter
