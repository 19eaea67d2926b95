#pragma once
// What: types and shapes through the body of a control-flow op.
// Edge cases: a body that was inferred for other input shapes is inferred again on a copy; values carried from one
//             iteration to the next whose shape changes lose what changes (an extent, or the rank).
#include <optional>
#include <vector>

#include "ir/graph/graph.hpp"
#include "ir/schema/infer_context.hpp"

namespace terroir::ops {

/// Types of the body's Results, in the order of `body.ports.outputs`, for the op's current inputs.
std::vector<ir::PortType> infer_body(ir::InferContext& ctx, const ir::Body& body);

/// What both could be: equal extents stay, others become unknown. Exception if the element types contradict.
ir::PortType generalized(ir::InferContext& ctx, const ir::PortType& a, const ir::PortType& b);

/// The op's outputs, from its body's: concatenated ones have `iterations` parts along their axis.
void set_outputs(ir::InferContext& ctx, const ir::Body& body, const std::vector<ir::PortType>& results,
                 const Dimension& iterations);

}  // namespace terroir::ops
