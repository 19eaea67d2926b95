#pragma once
// What: the nodes that an op of the set terroir1 becomes: their names, and its activation as operations of the opsets.
#include "ir/pass/patch.hpp"
#include "ir/schema/registry.hpp"
#include "ops/reference/terroir1/activation.hpp"

namespace terroir::ops {

/// Adds nodes in the name of one node of the graph.
class NewNodes {
 public:
  NewNodes(const ir::OpRegistry& registry, ir::Patch& patch, const ir::Node& stands_for)
      : registry_(registry), patch_(patch), node_(stands_for) {}

  /// The newest version of `type`. The node's own name with an empty suffix, else "name/suffix".
  ir::Value add(const char* type, std::unique_ptr<ir::Attributes> attributes, std::vector<ir::Value> inputs,
                const char* suffix);
  ir::Value constant(ir::Constant constant, const char* suffix);
  /// An f32 constant of one element.
  ir::Value scalar(double value, const char* suffix, ir::Dims dims = {});

 private:
  const ir::OpRegistry& registry_;
  ir::Patch& patch_;
  const ir::Node& node_;
};

/// The activation of an f32 value, by operations that the devices fuse.
ir::Value lower_activation(NewNodes& nodes, const reference::Activation& activation, ir::Value value);

}  // namespace terroir::ops
