#pragma once
// What: TopK where the specification leaves open which results are right: the order of the found elements with sort
// "none", and which of equal elements are found.
// Source: operation pages TopK-1, TopK-3 ("the order of elements with the same value is not determined", attribute
// sort), TopK-11 (attribute stable).
#include <span>
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/interpreter/host_tensor.hpp"

namespace terroir::test {

using interpreter::HostTensor;

/// A TopK whose results are open, of which both are results of the graph.
struct OpenOrder {
  const ir::Node* node;
  size_t values, indices;  // which results
};

/// Those that read the graph's first input; all results of the graph, or none.
std::vector<OpenOrder> open_orders(const ir::Graph& graph);

/// Empty when `actual` (values, indices) finds the same values as `expected`, in the order that `sort` asks for, and
/// each index is another element of its slice of `data`, equal to its value; else what is wrong.
std::string top_k_difference(const OpenOrder& open, const HostTensor& data, std::span<const HostTensor> expected,
                             std::span<const HostTensor> actual);

}  // namespace terroir::test
