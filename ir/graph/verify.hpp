#pragma once
// What: the checks that hold for every finished graph; run after each pass in all builds but the released one.
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"

namespace terroir::ir {

/// Sentences that say what is wrong: broken use lists, dangling or cyclic inputs, recorded types and shapes that
/// inference contradicts. Empty when the graph is sound.
std::vector<std::string> verify(const Graph& graph);

}  // namespace terroir::ir
