#pragma once
// What: equality of graphs, and where two differ. Two graphs are equal when one can be laid over the other: results,
// parameters and sinks in the same order, and behind them nodes of the same operation, name, attributes, constants (bit
// for bit), types, shapes, tensor names, runtime information and bodies. Node ids, order of addition, places in files
// and nodes that no result and no sink needs do not count. Cost: linear.
#include <string>

#include "ir/graph/graph.hpp"

namespace terroir::ir {

/// `difference` (may be null) receives a sentence about the first difference found.
bool equal(const Graph& a, const Graph& b, std::string* difference = nullptr);

}  // namespace terroir::ir
