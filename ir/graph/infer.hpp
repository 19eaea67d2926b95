#pragma once
// What: type and shape inference over a graph, node by node in topological order.
#include "ir/graph/graph.hpp"
#include "ir/graph/known_values.hpp"

namespace terroir::ir {

/// Infers one node from the recorded types and shapes of its inputs. Arity and unconnected inputs are checked first.
/// Exception whose context is Node::describe() when the op refuses; the node is unchanged then.
std::vector<PortType> infer_node(const Graph& graph, NodeId id, KnownValues& known);

/// The same, recorded in the node's outputs, which may become more, never fewer. Returns how many the operation has.
size_t infer_outputs(Graph& graph, NodeId id, KnownValues& known);

/// Infers every node and records the results. Strong guarantee is not given: infer a clone where it is needed.
void infer_graph(Graph& graph);

/// The same for a graph that was inferred when less was known of its inputs: a node with a body that what comes in does
/// not fit keeps its types, as such a body may never run. Exception for any other node that refuses.
void infer_again(Graph& graph);

}  // namespace terroir::ir
