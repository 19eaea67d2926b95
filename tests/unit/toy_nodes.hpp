// Nodes of graphs that are made of toy operations.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ir/graph/graph.hpp"
#include "tests/unit/toy_ops.hpp"

namespace terroir::test {

inline const ir::OpSchema& schema(const char* type) { return toy_registry().get(type, "opset16"); }

template <class T>
ir::Constant constant(element::Type type, ir::Dims dims, std::vector<T> values) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  return {{type, std::move(dims), owner->data()}, owner};
}

inline ir::NodeId parameter_node(ir::Graph& graph, const char* name, const char* shape,
                                 element::Type type = element::f32) {
  ir::ParameterAttrs attrs;
  attrs.shape = PartialShape(shape);
  attrs.element_type = type;
  return graph.add(schema("Parameter"), name, ir::make_attributes_of(attrs));
}

}  // namespace terroir::test
