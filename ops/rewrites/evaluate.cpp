#include "ops/rewrites/evaluate.hpp"

#include <algorithm>

#include "ir/base/element_memory.hpp"
#include "ir/base/error.hpp"
#include "ir/base/returned_memory.hpp"
#include "ir/schema/attribute_text.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/run_reference.hpp"

namespace terroir::ops {
namespace {

constexpr int64_t kTask = int64_t{1} << 16;  // elements
constexpr int64_t kWholeBytes = 8;           // so many elements are whole bytes, in every type

/// Leaves the indices begin ... end - 1 of the axis that has `behind` axes behind it; of an operand that has but one
/// index there, that one. Returns how many bytes are before them.
size_t cut(element::Type type, ir::Dims& dims, size_t behind, int64_t begin, int64_t end) {
  if (dims.size() <= behind) return 0;
  const size_t axis = dims.size() - 1 - behind;
  if (dims[axis] == 1) return 0;
  dims[axis] = end - begin;
  return ir::byte_size(type, begin * ir::element_count(dims, axis + 1, dims.size()));
}

/// An elementwise node in ranges of the first axis that has several indices. Nothing is before it.
void run_in_parts(const ir::Node& node, const std::vector<ir::TensorView>& inputs,
                  const ir::MutableTensorView& output) {
  size_t axis = 0;
  while (output.dims[axis] == 1) ++axis;
  const size_t behind = output.dims.size() - 1 - axis;
  const int64_t stride = ir::element_count(output.dims, axis + 1, output.dims.size());
  const int64_t per_task = (kTask / std::min(stride, kTask) + kWholeBytes - 1) / kWholeBytes * kWholeBytes;
  reference::parallel_ranges(output.dims[axis], per_task, [&](int64_t begin, int64_t end) {
    std::vector<ir::TensorView> from = inputs;
    for (ir::TensorView& input : from)
      input.data = static_cast<const uint8_t*>(input.data) + cut(input.type, input.dims, behind, begin, end);
    ir::MutableTensorView to = output;
    to.data = static_cast<uint8_t*>(to.data) + cut(to.type, to.dims, behind, begin, end);
    run_reference(*node.schema, {*node.attributes, from, {&to, 1}});
  });
}

/// Operands of PReLU and of those that name an axis do not meet at the last one.
bool has_parts(const ir::Node& node) {
  return node.schema->flags.elementwise && !node.schema->from_extension && node.outputs.size() == 1 &&
         !node.is("PReLU") && !ir::broadcasts_from_an_axis(*node.attributes);
}

}  // namespace

std::vector<ir::Constant> evaluate(const ir::Node& node, const std::vector<ir::TensorView>& inputs,
                                   std::shared_ptr<void> memory) {
  if (!node.schema->reference)
    throw_error(ErrorCode::not_implemented, node.schema->display_name(), " has no reference kernel");
  std::vector<ir::MutableTensorView> outputs;
  std::vector<std::shared_ptr<void>> buffers;
  for (const ir::OutputPort& port : node.outputs) {
    ir::Dims dims = ir::to_dims(port.shape.to_shape());
    const int64_t count = ir::element_count(dims);
    if (memory)
      buffers.push_back(std::move(memory));
    else
      buffers.push_back(port.type == element::string ? allocate_elements(port.type, count)
                                                     : allocate_returned(ir::byte_size(port.type, count)));
    outputs.push_back({port.type, std::move(dims), buffers.back().get()});
  }
  if (has_parts(node) && outputs[0].count() > kTask)
    run_in_parts(node, inputs, outputs[0]);
  else
    run_reference(*node.schema, {*node.attributes, inputs, outputs});
  std::vector<ir::Constant> values;
  for (size_t i = 0; i < outputs.size(); ++i) values.push_back({outputs[i], buffers[i]});
  return values;
}

}  // namespace terroir::ops
