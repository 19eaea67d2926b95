#pragma once
// What: unambiguous printable names of the nodes of a graph.
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"

namespace terroir::ir {

/// The order of topological_order(), or of addition for a graph that has a cycle or an unconnected input.
std::vector<NodeId> printing_order(const Graph& graph);

class PrintNames {
 public:
  PrintNames(const Graph& graph, const std::vector<NodeId>& order);
  /// "%conv1", "%conv1#2", "%\"a b\""; "%none" for NodeId::none.
  std::string node(NodeId id) const;
  /// The node's name, with ".N" where it has several outputs.
  std::string value(Value value) const;

 private:
  const Graph& graph_;
  std::vector<std::string> names_;  // by node
};

/// `text` in double quotes, with \" \\ \n and \xHH escapes.
std::string quoted(const std::string& text);

}  // namespace terroir::ir
