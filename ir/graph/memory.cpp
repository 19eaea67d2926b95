#include "ir/graph/memory.hpp"

#include "ir/base/error.hpp"
#include "ir/base/tensor_view.hpp"

namespace terroir::ir {
namespace {

void require_fits(const OutputPort& port, size_t index, uint64_t bytes) {
  if (port.type.is_dynamic() || port.shape.is_dynamic()) return;
  const Dims dims = to_dims(port.shape.to_shape());
  if (byte_size(port.type, element_count(dims)) > bytes)
    throw_error(ErrorCode::out_of_memory, "output ", index, ", ", port.type, dims, ", takes more than the ",
                bytes >> 20,
                " MiB of memory that this process may use: use smaller inputs (Model::reshape), or correct the values "
                "that its size comes from");
}

}  // namespace

void require_tensors_fit(const Graph& graph, uint64_t bytes) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    with_context([&] { return node.describe(); },
                 [&] {
                   for (size_t i = 0; i < node.outputs.size(); ++i) require_fits(node.outputs[i], i, bytes);
                 });
    for (const Body& body : node.bodies) require_tensors_fit(*body.graph, bytes);
  }
}

}  // namespace terroir::ir
