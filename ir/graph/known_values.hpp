#pragma once
// What: values inside a graph that are known before it runs: constants, and what follows from constants and known
// shapes. Computed on demand by the reference kernels, remembered, bounded in size.
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.hpp"
#include "ir/schema/number_context.hpp"

namespace terroir::ir {

class KnownValues {
 public:
  class Context;  // an InferContext that answers from here; internal to infer_node

  /// Largest computed value, in bytes; a Const of any size is known.
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  explicit KnownValues(const Graph& graph) : graph_(graph) {}

  /// The value, or null when it is not known. The view stays valid for this object's life.
  const TensorView* find(Value value) { return find(value, 0); }
  /// The value of a 0-D or 1-D integer tensor as dimensions, some unknown.
  std::optional<std::vector<Dimension>> dimensions(Value value) { return dimensions(value, 0); }
  /// To be called when the shape of a node changed: what was thought of its outputs is forgotten.
  void forget(NodeId id);

 private:
  // A chain of foldable nodes deeper than this is treated as unknown, so that no file can exhaust the stack.
  static constexpr int kMaxDepth = 200;

  const TensorView* find(Value value, int depth);
  std::optional<std::vector<Dimension>> dimensions(Value value, int depth);
  bool evaluate(const Node& node, int depth);

  /// What an operation says of a value of which not every element is known.
  struct Partial {
    std::optional<std::vector<Dimension>> dimensions;  // of integers
    std::optional<Ranges> ranges;                      // of real numbers
    int depth = 0;                                     // of the question
    bool cut = false;                                  // something of it was too deep: less deep, more may be known
  };
  const Partial& partial(Value value, int depth);

  const Graph& graph_;
  std::unordered_map<Value, std::optional<Constant>> values_;
  std::unordered_map<Value, Partial> partials_;
  size_t cuts_ = 0;  // answers so far that were cut
};

}  // namespace terroir::ir
