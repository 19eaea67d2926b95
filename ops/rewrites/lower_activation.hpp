#pragma once
// What: the activation of an op of the set terroir1 as operations of the opsets.
#include "ops/reference/terroir1/activation.hpp"
#include "ops/rewrites/new_nodes.hpp"

namespace terroir::ops {

/// The activation of an f32 value, by operations that the devices fuse.
ir::Value lower_activation(NewNodes& nodes, const reference::Activation& activation, ir::Value value);

}  // namespace terroir::ops
