#include "tests/support/infer_added.hpp"

#include "ir/graph/infer.hpp"

namespace terroir::test {

ir::Value infer_added(ir::Graph& graph, ir::NodeId id) {
  ir::KnownValues known(graph);
  ir::infer_outputs(graph, id, known);
  return {id, 0};
}

}  // namespace terroir::test
