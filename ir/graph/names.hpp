#pragma once
// What: the names of tensors. A Result may have names of its own, which name the tensor that it takes as well: they are
// those of the Result's output port, and go where the Result goes. A Result without any has the names of the tensor.
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"

namespace terroir::ir {

/// All names of a value, sorted, without doubles; of a Result's output those it has, of its own or not.
std::vector<std::string> tensor_names(const Graph& graph, Value value);
bool has_tensor_name(const Graph& graph, Value value, const std::string& name);

}  // namespace terroir::ir
