#pragma once
// What: the edits that a pass wants, collected while it reads the graph and applied together by the manager.
// A pass never changes a graph: what it matched stays true until the whole patch is applied.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/graph.hpp"

namespace terroir::ir {

class Patch {
 public:
  /// A new node. `inputs` may be values of the graph or of nodes added to this patch. `from` are the nodes of the graph
  /// that it stands for: it takes the first one's name and origin and remembers the names of the others, so profiles
  /// and errors speak of layers of the user's file. With `name` not empty, that name instead of the first one's.
  Value add(const OpSchema& schema, std::unique_ptr<Attributes> attributes, std::vector<Value> inputs,
            std::vector<NodeId> from, std::string name = {}, int output = 0);
  /// A new Const node of `schema`.
  Value add_constant(const OpSchema& schema, std::string name, Constant constant);
  /// Another output of a node made by add().
  static Value output(Value added, int index) { return {added.node, index}; }

  /// All uses of `from` read `to`; type and shape must be the same (checked when applied).
  void replace(Value from, Value to) { replacements_.emplace_back(from, to); }
  /// One input reads another value.
  void rewire(Use use, Value to) { rewires_.emplace_back(use, to); }

  bool empty() const { return replacements_.empty() && rewires_.empty(); }
  size_t size() const { return replacements_.size() + rewires_.size(); }

 private:
  friend size_t apply(Patch&& patch, Graph& graph);
  struct NewNode {
    const OpSchema* schema;
    std::unique_ptr<Attributes> attributes;
    std::vector<Value> inputs;
    std::vector<NodeId> from;
    std::string name;
    std::optional<Constant> constant;
  };
  std::vector<NewNode> nodes_;
  std::vector<std::pair<Value, Value>> replacements_;
  std::vector<std::pair<Use, Value>> rewires_;
};

/// Applies a patch: adds its nodes (inferring their types), replaces and rewires, then erases what nothing reads any
/// more. Returns the number of nodes erased. A replacement of another type or shape is a fault of the pass (assertion).
size_t apply(Patch&& patch, Graph& graph);

}  // namespace terroir::ir
