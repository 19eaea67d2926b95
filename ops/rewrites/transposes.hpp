#pragma once
// What: what the passes over Transposes share: orders of axes.
#include <optional>
#include <vector>

#include "ir/graph/graph.hpp"

namespace terroir::ops {

/// The order of a Transpose with a constant one, of a value of known rank: output axis i is input axis order[i]. Empty
/// for other nodes.
std::optional<std::vector<int64_t>> transpose_order(const ir::Graph& graph, const ir::Node& node);

bool is_identity(const std::vector<int64_t>& order);

}  // namespace terroir::ops
