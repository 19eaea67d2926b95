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

/// Infers the node's bodies for what they are fed with, where that is not what they were inferred for: in a model that
/// has been reshaped, or whose files say less of its inputs than of those of its bodies. A body that does not fit,
/// which may never run, is inferred for any shapes; Exception if it fits none.
void fit_bodies(ir::Graph& graph, ir::NodeId id);

/// What both could be: equal extents stay, others become unknown. Exception if the element types contradict.
ir::PortType generalized(ir::InferContext& ctx, const ir::PortType& a, const ir::PortType& b);

/// How many outputs of the op the body sets. Exception if it sets one of them twice, or one before the last not at all.
size_t output_count(const ir::InferContext& ctx, const ir::Body& body);

/// The op's outputs, from its body's: concatenated ones have `iterations` times the body's extent along their axis,
/// carried ones may be as they were before the first iteration where there may be none.
/// Exception as of output_count().
void set_outputs(ir::InferContext& ctx, const ir::Body& body, const std::vector<ir::PortType>& results,
                 const Dimension& iterations);

}  // namespace terroir::ops
