#include "ops/rewrites/evaluate.hpp"

#include "ir/base/element_memory.hpp"
#include "ir/base/error.hpp"
#include "ir/base/returned_memory.hpp"
#include "ops/run_reference.hpp"

namespace terroir::ops {

std::vector<ir::Constant> evaluate(const ir::Node& node, const std::vector<ir::TensorView>& inputs) {
  if (!node.schema->reference)
    throw_error(ErrorCode::not_implemented, node.schema->display_name(), " has no reference kernel");
  std::vector<ir::MutableTensorView> outputs;
  std::vector<std::shared_ptr<void>> buffers;
  for (const ir::OutputPort& port : node.outputs) {
    ir::Dims dims = ir::to_dims(port.shape.to_shape());
    const int64_t count = ir::element_count(dims);
    buffers.push_back(port.type == element::string ? allocate_elements(port.type, count)
                                                   : allocate_returned(ir::byte_size(port.type, count)));
    outputs.push_back({port.type, std::move(dims), buffers.back().get()});
  }
  run_reference(*node.schema, {*node.attributes, inputs, outputs});
  std::vector<ir::Constant> values;
  for (size_t i = 0; i < outputs.size(); ++i) values.push_back({outputs[i], buffers[i]});
  return values;
}

}  // namespace terroir::ops
