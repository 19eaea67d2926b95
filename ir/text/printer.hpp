#pragma once
// What: the canonical text of a graph, for people and for golden tests of passes: one line per node in topological
// order, the same text for the same graph on every machine.
//   graph "m" (%x) -> (%y/sink)
//     %x = Parameter-1() {shape=[1, 3], element_type=f32} : f32[1,3] "input"
//     %w = Const-1() : f32[3] = [1, 2, 3]
//     %s = VariadicSplit-1(%x, %w) {...} : f32[1,1] "a", f32[1,2] "b"
//     %y/sink = Result-1(%s.1) : f32[1,2]
// A value is named after its node, with ".N" behind it where the node has several outputs. A name that several nodes
// share, or none, gets "#N" with N counting from 2 in topological order; a name with other characters than letters,
// digits and _ / . : - is quoted. Bodies follow their node, indented.
#include <functional>
#include <string>

#include "ir/graph/graph.hpp"

namespace terroir::ir {

struct PrintOptions {
  int64_t max_values = 8;     // constants of up to so many elements show them; others show a hash of their bytes
  bool default_attrs = true;  // also attributes that have their default
  bool tensor_names = true;
  bool rt_info = false;
  /// Text put behind a value's type ("nChw8c") or behind a node's line; an empty text leaves no trace.
  std::function<std::string(const Graph&, Value)> annotate_value;
  std::function<std::string(const Graph&, NodeId)> annotate_node;
};

/// A graph that is not sound (a cycle, an unconnected input) prints too, in order of addition.
std::string to_text(const Graph& graph, const PrintOptions& options = {});

/// One attribute list as the printer shows it: "{strides=[1, 1], auto_pad=explicit}", or "" without attributes.
std::string to_text(const Attributes& attributes, const Attributes* defaults);

}  // namespace terroir::ir
