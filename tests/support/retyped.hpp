#pragma once
// What: the graph of a case with data of another element type.
#include <functional>
#include <memory>
#include <span>

#include "ir/graph/graph.hpp"
#include "plugins/interpreter/host_tensor.hpp"

namespace terroir::test {

/// Every element type there is.
std::span<const element::Type> all_element_types();

/// The tensor's elements in another type; texts are the numbers as written, and numbers in place of texts are 0.
interpreter::HostTensor converted(const ir::TensorView& from, element::Type type);

/// A graph of graph_of() (case_check.hpp) whose constants for the inputs that `is_data` names have another type; not
/// inferred yet.
std::unique_ptr<ir::Graph> retyped(const ir::Graph& graph, element::Type type,
                                   const std::function<bool(size_t input)>& is_data);

}  // namespace terroir::test
