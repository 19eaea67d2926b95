#include "tests/support/infer_added.hpp"

#include "ir/graph/infer.hpp"

namespace terroir::test {

ir::Value infer_added(ir::Graph& graph, ir::NodeId id) {
  ir::KnownValues known(graph);
  const std::vector<ir::PortType> types = ir::infer_node(graph, id, known);
  ir::Node& node = graph.node(id);
  node.outputs.resize(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    node.outputs[i].type = types[i].type;
    node.outputs[i].shape = types[i].shape;
  }
  return {id, 0};
}

}  // namespace terroir::test
