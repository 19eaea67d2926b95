#pragma once
// What: adds the nodes that one node of the graph becomes, named after it.
#include "ir/pass/patch.hpp"
#include "ir/schema/registry.hpp"

namespace terroir::ops {

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
  /// A 1-D i64 constant.
  ir::Value integers(const std::vector<int64_t>& values, const char* suffix);

 private:
  const ir::OpRegistry& registry_;
  ir::Patch& patch_;
  const ir::Node& node_;
};

/// A 1-D i64 constant.
ir::Constant integers_constant(const std::vector<int64_t>& values);

}  // namespace terroir::ops
