#pragma once
// What: what others have to know of SegmentMax-16.
// Source: operation page SegmentMax-16.
#include "ir/graph/graph.hpp"

namespace terroir::ops {

/// Whether the node is a SegmentMax that fills segments without rows with the lowest number of its type. Computed in a
/// wider type it would fill with another, so devices that widen halves leave it the type that the model says.
inline bool fills_with_lowest(const ir::Node& node) {
  return node.is("SegmentMax") && ir::number_attribute(*node.attributes, "fill_mode") != 0;
}

}  // namespace terroir::ops
