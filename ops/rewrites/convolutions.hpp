#pragma once
// What: what the passes over convolutions share.
#include "ir/graph/graph.hpp"
#include "ir/schema/registry.hpp"

namespace terroir::ops {

/// Convolution or GroupConvolution of an opset.
inline bool is_convolution(const ir::Node& node) {
  return (node.is("Convolution") || node.is("GroupConvolution")) && ir::opset_number(node.schema->opset) > 0;
}

}  // namespace terroir::ops
